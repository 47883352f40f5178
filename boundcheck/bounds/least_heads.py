"""The least number of heads at which a falling error bound reaches eps."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import count


def least_count(
    error: Callable[[int], float], eps: Fraction, guess: float, most: int
) -> int | None:
    """The least n in [1, most] with error(n) <= eps, for a falling error.

    Interpolates log error against log n, so that an error close to a power of
    n takes few evaluations. The answer n has error(n) <= eps, and error(n - 1)
    was found to be > eps.

    Parameters
    ----------
    error : callable
        Falling in n, about as n^{-1/2} while only one side of eps is known.
    eps : Fraction
        Compared exactly.
    guess : float
        Where to start.
    most : int

    Returns
    -------
    int or None
        None if error(most) > eps.

    Examples
    --------
    >>> least_count(lambda n: 2 / n**0.5, Fraction(1, 8), 500.0, 10**18)
    256
    """
    aim = math.log(eps.numerator) - math.log(eps.denominator)
    low, high = 0, most + 1  # error(low) > eps unless low = 0; error(high) <= eps unless > most
    log_low = log_high = aim
    n = max(1, min(most, round(guess)))
    for step in count():
        value = error(n)
        logarithm = math.log(value) if value > 0 else 2 * min(aim, -1.0)
        if value <= eps:
            high, log_high = n, logarithm
        else:
            low, log_low = n, logarithm
        if high - low == 1:
            break
        if low == 0 or high > most:
            overshoot = 2 * abs(logarithm - aim) + math.log1p(2.0**step / 64)
            factor = math.exp(min(overshoot, 100.0))
            n = int(n * factor) + 1 if low else int(n / factor)
        elif step % 5 == 4:  # interpolation may stall on one side
            n = math.isqrt(low * high)
        else:
            share = (log_low - aim) / (log_low - log_high) if log_low > log_high else 0.5
            n = math.ceil(low * math.exp(share * math.log(high / low)))
        n = max(low + 1, min(high - 1, n))
    return high if high <= most else None
