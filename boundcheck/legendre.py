"""Legendre polynomials in any dimension, and the steps they expand (H2).

P_l is the polynomial of degree l with P_l(1) = 1 that is orthogonal to all
lower degrees under the law of t = <x, e>, x uniform on S^{D-1}: Chebyshev for
D = 2, Legendre for D = 3, Gegenbauer divided by its value at 1 for D > 3.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, overload

from boundcheck.harmonics import density_constant_ball

if TYPE_CHECKING:
    from flint import arb


@overload
def legendre(D: int, degree: int, t: Fraction | int) -> Fraction: ...
@overload
def legendre(D: int, degree: int, t: arb) -> arb: ...
def legendre(D: int, degree: int, t: Fraction | int | arb) -> Fraction | arb:
    """P_l(t) in dimension D, by the three-term recurrence.

    Parameters
    ----------
    D : int
        D >= 2.
    degree : int
        l >= 0.
    t : Fraction, int or arb
        Any number for an exact answer; a ball gives a ball.

    Returns
    -------
    Fraction or arb
        Exact for an exact t. Otherwise a ball of about flint's working
        precision that contains P_l of every number in t, as in `legendre_balls`.

    Examples
    --------
    >>> legendre(4096, 3, Fraction(1, 2))
    Fraction(227, 1820)
    >>> legendre(64, 21, 0)
    Fraction(0, 1)
    """
    if not isinstance(t, (Fraction, int)):
        return legendre_balls(D, degree + 1, t)[degree]
    p, q = t.numerator, t.denominator
    # P_l = current / (q^l prod_{1<=j<l} (j+D-2)), all in integers.
    previous, current, below = 1, p, q
    if degree == 0:
        return Fraction(1)
    for l in range(1, degree):
        previous, current = (
            current,
            (2 * l + D - 2) * p * current - l * (l + D - 3 if l > 1 else 1) * q * q * previous,
        )
        below *= q * (l + D - 2)
    return Fraction(current, below)


def legendre_balls(D: int, count: int, t: arb) -> list[arb]:
    """P_0(t), ..., P_{count-1}(t) in dimension D.

    Parameters
    ----------
    D : int
        D >= 2.
    count : int
        How many degrees, from 0 on.
    t : arb
        Within [-1, 1] the answers are as sharp as t allows; beyond, their
        radius grows by a factor below 2.5 |t| with each degree.

    Returns
    -------
    list of arb
        At flint's working precision.

    Examples
    --------
    >>> from flint import arb
    >>> [round(float(value.mid()), 6) for value in legendre_balls(3, 4, arb(1) / 2)]
    [1.0, 0.5, -0.125, -0.4375]
    """
    import flint
    from flint import arb

    from boundcheck.balls import working_precision

    bits = flint.ctx.prec
    inside = bool(abs(t) <= 1)
    # A step of the recurrence widens a ball by less than 1 + sqrt 2, which is
    # under 3/2 bits, so an exact t in [-1, 1] is followed with that many more.
    center = t.mid() if inside else t
    with working_precision(bits + 16 + 3 * count // 2):
        values = [arb(1), center]
        for l in range(1, count - 1):
            values.append(((2 * l + D - 2) * center * values[l] - l * values[l - 1]) / (l + D - 2))
        values = values[:count]
        if inside:
            # |P_l'| <= P_l'(1) = l (l+D-2) / (D-1) on [-1, 1].
            radius = t.rad()
            values = [
                value + arb(0, 1) * (radius * l * (l + D - 2) / (D - 1))
                for l, value in enumerate(values)
            ]
    return [+value for value in values]


def step_coefficient(D: int, degree: int, tau: Fraction | int | arb) -> arb:
    """E[sign(t - tau) P_l(t)] for t = <x, e>, x uniform on S^{D-1} (H2).

    Parameters
    ----------
    D : int
        D >= 2.
    degree : int
        l >= 0; l = 0 is the mean of the step.
    tau : Fraction, int or arb
        Where the sign changes, -1 < tau < 1.

    Returns
    -------
    arb
        A ball at flint's working precision.

    Raises
    ------
    ValueError
        If tau is not shown to lie in (-1, 1).

    Examples
    --------
    >>> round(float(step_coefficient(3, 1, 0).mid()), 12)
    0.5
    """
    return step_coefficients(D, degree + 1, tau)[degree]


def step_coefficients(D: int, count: int, tau: Fraction | int | arb) -> list[arb]:
    """E[sign(t - tau) P_l(t)] for l = 0, ..., count - 1, as `step_coefficient`.

    Examples
    --------
    >>> values = step_coefficients(3, 3, Fraction(1, 2))
    >>> [round(float(value.mid()), 6) for value in values]
    [-0.5, 0.375, 0.1875]
    """
    from flint import arb

    from boundcheck.balls import ball

    at = ball(tau) if isinstance(tau, (Fraction, int)) else tau
    if not abs(at) < 1:
        raise ValueError(f"a step needs -1 < tau < 1, got {tau}")
    half = arb(D - 1) / 2
    # The mean is P(t > tau) - P(t < tau), and (1 + t)/2 is Beta((D-1)/2, (D-1)/2).
    mean = 1 - 2 * ((1 + at) / 2).beta_lower(half, half, True)
    scale = 2 * density_constant_ball(D) * (1 - at * at) ** half / (D - 1)
    return [mean] + [scale * value for value in legendre_balls(D + 2, count - 1, at)]
