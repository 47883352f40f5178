"""U1 and U2: one head of rank d.

numpy is loaded by the functions that integrate.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from boundcheck.bounds.least_heads import least_count
from boundcheck.problem import Problem
from boundcheck.values import Direction, Enclosure, HeadCount, Kind, Numeric

if TYPE_CHECKING:
    from boundcheck.quadrature import Array

#: Below this eps the closed form is the least inverse temperature to many digits.
_CLOSED_FORM_BELOW = Fraction(1, 10**9)
#: The search for the inverse temperature resolves this fraction of the closed form.
_RESOLUTION = 2**30
#: The error of larger inverse temperatures is not integrated.
_LARGEST = 10**300


def full_rank_softmax_error(d: int, beta: float, *, best_value: bool = False) -> Numeric:
    """Error of one softmax head with scores beta <x_i, y> (U2).

    2 E[(1 + exp(beta sqrt2 |t|))^{-2}] with V = I; with the best V = a I,
    a = (1 + A)/(1 + B), A = E tanh(beta|t|/sqrt2), B = E tanh^2, it is
    1 - (1 + A)^2 / (2 (1 + B)).

    Parameters
    ----------
    d : int
        d >= 2.
    beta : float
        Inverse temperature, beta >= 0.
    best_value : bool
        Whether the value is a I in place of I.

    Returns
    -------
    Numeric

    Examples
    --------
    >>> round(full_rank_softmax_error(8, 10.0).value, 5)
    0.05508
    >>> round(full_rank_softmax_error(8, 10.0, best_value=True).value, 4)
    0.0531
    """
    plain = _mean_of_share(d, beta, 2)
    if not best_value:
        return Numeric(2 * plain.value, 2 * plain.error_estimate)
    # With q the softmax weight of the farther point, 1 - A = 2 E q and
    # 1 - B = 4 E q(1 - q): no cancellation for large beta.
    share = _mean_of_share(d, beta, 1)
    a, b = 2 * share.value, 4 * (share.value - plain.value)
    value = (8 * plain.value - a * a) / (2 * (2 - b))
    # The slopes in E q^2 and E q are at most 4 in size, since q <= 1/2.
    return Numeric(value, 4 * (plain.error_estimate + share.error_estimate))


def best_value(d: int, beta: float) -> Numeric:
    """The a for which the value a I makes U2's error least: (1 + A)/(1 + B).

    Parameters
    ----------
    d : int
        d >= 2.
    beta : float
        Inverse temperature, beta >= 0.

    Examples
    --------
    >>> round(best_value(8, 10.0).value, 4)
    1.0484
    >>> best_value(8, 0.0).value
    1.0
    """
    plain, share = _mean_of_share(d, beta, 2), _mean_of_share(d, beta, 1)
    # With A = 1 - 2 E q and B = 1 - 4 E q + 4 E q^2, as in the error.
    above = 1 - share.value
    below = above - share.value + 2 * plain.value
    # E q <= 1/2 and E q^2 >= (E q)^2: the slopes are at most 4.5 in size. The value is
    # about 1, so its own rounding counts where E q is tiny.
    rounding = 4 * math.ulp(1.0)
    return Numeric(above / below, 4.5 * (plain.error_estimate + share.error_estimate) + rounding)


@lru_cache(maxsize=256)
def _mean_of_share(d: int, beta: float, power: int) -> Numeric:
    """E q^power for q = 1/(1 + exp(beta sqrt2 |t|)), the weight of the farther point."""
    import numpy as np

    from boundcheck.quadrature import angular_width, sphere_expectation

    def share(t: Array) -> Array:
        far = np.exp(-beta * math.sqrt(2) * np.abs(t))
        q: Array = (far / (1 + far)) ** power
        return q

    scale = min(angular_width(d) / 8, 1 / beta if beta > 0 else 1.0)
    return sphere_expectation(share, d, scale=scale)


def sufficient_inverse_temperature(d: int, eps: Fraction) -> Fraction:
    """beta = 4 c_d (ln2 - 1/2) / (sqrt2 eps): U2's error is below eps there.

    The density of t is at most c_d for d >= 3, and the integral over the whole
    line is elementary. Rounded up in floating point; eps may have any size.

    Examples
    --------
    >>> beta = float(sufficient_inverse_temperature(64, Fraction(1, 10)))
    >>> full_rank_softmax_error(64, beta).value < 0.1
    True
    """
    from boundcheck.quadrature import density_scale

    at_one = 4 * density_scale(d) * (math.log(2) - 0.5) / math.sqrt(2)
    return Fraction(at_one * (1 + 2.0**-40)) / eps


@lru_cache(maxsize=64)
def _inverse_temperature(d: int, eps: Fraction) -> Fraction:
    sufficient = sufficient_inverse_temperature(d, eps)
    if eps < _CLOSED_FORM_BELOW:
        return sufficient
    unit = float(sufficient) / _RESOLUTION

    def error(n: int) -> float:
        found = full_rank_softmax_error(d, n * unit)
        return found.value + found.error_estimate

    n = least_count(error, eps, 0.9 * _RESOLUTION, _RESOLUTION)
    return Fraction((n or _RESOLUTION) * unit)


def inverse_temperature_for(d: int, eps: Fraction) -> float:
    """About the least beta at which U2's error, with its estimate, is at most eps.

    Parameters
    ----------
    d : int
        d >= 3.
    eps : Fraction
        In (0, 1/2).

    Returns
    -------
    float

    Raises
    ------
    OverflowError
        If beta exceeds the largest float, for eps below about 1e-308.

    Examples
    --------
    >>> beta = inverse_temperature_for(8, Fraction(1, 10))
    >>> full_rank_softmax_error(8, beta).value <= 0.1
    True
    >>> full_rank_softmax_error(8, 0.999 * beta).value <= 0.1
    False
    """
    return float(_inverse_temperature(d, eps))


class U1:
    """U1: one hardmax head with K = Q = V = I is exact.

    Examples
    --------
    >>> U1().heads(Problem.of(64, 4, "0.1")).heads
    1
    """

    id: ClassVar[str] = "U1"
    name: ClassVar[str] = "one full-rank head"
    direction: ClassVar[Direction] = "upper"
    kind: ClassVar[Kind] = "certified"
    depth: ClassVar[int] = 1
    scores: ClassVar[str] = "hardmax"

    def why_not(self, problem: Problem) -> str | None:
        """None: it is the point of comparison for every rank and class."""
        return None

    def rank(self, problem: Problem) -> int:
        """d, whatever r is."""
        return problem.d

    def error(self, problem: Problem, heads: int) -> Enclosure:
        """0, and 1 without heads; exact."""
        return Enclosure.exactly(0 if heads else 1)

    def heads(self, problem: Problem) -> HeadCount:
        """1."""
        return HeadCount(1)


class U2:
    """U2: one softmax head with K = Q = V = I, at a finite inverse temperature.

    Examples
    --------
    >>> U2().heads(Problem.of(64, 4, "0.1"))
    HeadCount(heads=1, reason='inverse temperature beta = 16.52', sharp=True)
    """

    id: ClassVar[str] = "U2"
    name: ClassVar[str] = "one full-rank softmax head"
    direction: ClassVar[Direction] = "upper"
    kind: ClassVar[Kind] = "numeric"
    depth: ClassVar[int] = 1
    scores: ClassVar[str] = "softmax"

    def why_not(self, problem: Problem) -> str | None:
        """The error has no value without eps, which chooses the inverse temperature."""
        if problem.eps is None:
            return "its error falls to 0 with the inverse temperature, which eps would choose"
        return None

    def rank(self, problem: Problem) -> int:
        """d, whatever r is."""
        return problem.d

    def error(self, problem: Problem, heads: int) -> Numeric:
        """The error at the inverse temperature that `heads` chooses for eps; 1 without heads."""
        if heads == 0:
            return Numeric(1.0, 0.0)
        eps = problem.target_eps
        beta = _inverse_temperature(problem.d, eps)
        if beta > _LARGEST:
            return Numeric(math.nextafter(float(eps), 1.0), 0.0)  # not below eps
        return full_rank_softmax_error(problem.d, float(beta))

    def heads(self, problem: Problem) -> HeadCount:
        """1, with an inverse temperature that reaches eps, rounded up."""
        beta = _inverse_temperature(problem.d, problem.target_eps)
        upwards = Context(prec=4, rounding=ROUND_CEILING)
        text = upwards.divide(Decimal(beta.numerator), Decimal(beta.denominator))
        return HeadCount(1, f"inverse temperature beta = {text}")
