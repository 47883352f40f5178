"""Harmonic analysis on the sphere S^{D-1}: H1 to H6.

Energies are exact: rational for odd D, rational / pi^2 for even D. Long
series are balls, by the same recurrence, in `energy_series`.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb, sqrt
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flint import arb


def harmonic_dimension(D: int, degree: int) -> int:
    """N(D, l): the dimension of the degree-l harmonics on S^{D-1} (H1).

    Parameters
    ----------
    D : int
        D >= 2.
    degree : int
        l >= 0.

    Returns
    -------
    int
        Exact.

    Examples
    --------
    >>> harmonic_dimension(3, 5)
    11
    >>> harmonic_dimension(64, 21) == comb(84, 21) - comb(82, 19)
    True
    """
    if degree < 0:
        return 0
    less = comb(D + degree - 3, degree - 2) if degree >= 2 else 0
    return comb(D + degree - 1, degree) - less


@dataclass(frozen=True, slots=True)
class PiFraction:
    """The exact number coefficient * pi^power.

    Examples
    --------
    >>> print(energy(4, 1))
    64/9 * pi^-2
    """

    coefficient: Fraction
    power: int = 0

    def __mul__(self, other: PiFraction | Fraction | int) -> PiFraction:
        if isinstance(other, PiFraction):
            return PiFraction(self.coefficient * other.coefficient, self.power + other.power)
        return PiFraction(self.coefficient * other, self.power)

    def __str__(self) -> str:
        return f"{self.coefficient}" + (f" * pi^{self.power}" if self.power else "")

    def __float__(self) -> float:
        from math import pi

        return float(self.coefficient) * pi**self.power

    def ball(self) -> arb:
        """A ball that contains the number, at flint's working precision."""
        from flint import arb

        from boundcheck.balls import ball

        return ball(self.coefficient) * arb.pi() ** self.power


@lru_cache(maxsize=256)
def density_constant(D: int) -> PiFraction:
    """c_D = Gamma(D/2) / (sqrt(pi) Gamma((D-1)/2)), exact (section 1).

    t = <x, e> for x uniform on S^{D-1} has density c_D (1 - t^2)^{(D-3)/2}.

    Examples
    --------
    >>> print(density_constant(3), "|", density_constant(4))
    1/2 | 2 * pi^-1
    """
    if D % 2:
        # Gamma(n + 1/2) / (sqrt(pi) Gamma(n)) with D = 2n + 1.
        n = (D - 1) // 2
        return PiFraction(Fraction(n * comb(2 * n, n), 4**n))
    # Gamma(n) / (sqrt(pi) Gamma(n - 1/2)) with D = 2n; for D = 2 it is 1/pi.
    n = D // 2
    return PiFraction(Fraction(4 ** (n - 1), comb(2 * (n - 1), n - 1)), -1)


def density_constant_ball(D: int) -> arb:
    """c_D as a ball at flint's working precision; the exact c_D has D bits and more."""
    from flint import arb

    half = arb(D) / 2
    return half.gamma() / ((half - arb(0.5)).gamma() * arb.pi().sqrt())


def sign_coefficient(D: int, degree: int) -> PiFraction:
    """lambda_l = E[sign(t) P_l(t)], exact (H3).

    Parameters
    ----------
    D : int
        D >= 2.
    degree : int
        l >= 0; the answer is 0 for even l.

    Examples
    --------
    >>> print(sign_coefficient(3, 1))
    1/2
    """
    if degree % 2 == 0:
        return PiFraction(Fraction(0))
    value = density_constant(D) * Fraction(2, D - 1)
    numerator = denominator = 1
    for l in range(1, degree, 2):
        numerator *= -l
        denominator *= l + D
    return value * Fraction(numerator, denominator)


def energy(D: int, degree: int) -> PiFraction:
    """E_l(D) = N(D, l) lambda_l^2, the degree-l energy of the sign, exact (H3).

    Examples
    --------
    >>> [str(energy(3, l)) for l in (1, 3, 5)]
    ['3/4', '7/64', '11/256']
    """
    coefficient = sign_coefficient(D, degree)
    return coefficient * coefficient * harmonic_dimension(D, degree)


def energy_ratio(D: int, degree: int) -> tuple[int, int]:
    """E_{l+2} / E_l as numerator and denominator, for odd l (H1, H3).

    Examples
    --------
    >>> Fraction(*energy_ratio(3, 1)) * Fraction(3, 4)
    Fraction(7, 64)
    """
    l = degree
    above, below = dimension_ratio(D, l)
    return above * l * l, below * (l + D) ** 2


def dimension_ratio(D: int, degree: int) -> tuple[int, int]:
    """N(D, l+2) / N(D, l) as numerator and denominator, for l >= 1 (H1)."""
    l = degree
    return (
        (2 * l + D + 2) * (l + D - 1) * (l + D - 2),
        (2 * l + D - 2) * (l + 1) * (l + 2),
    )


def tail_estimate(D: int, degree: int) -> float:
    """Roughly sum of E_l over odd l >= degree (H6); neither an upper nor a lower bound."""
    if degree <= 1:
        return 1.0
    return min(1.0, 0.508 / sqrt((degree - 1) * (1 + (degree - 1) / D)))


class EnergySeries:
    """E_1, E_3, E_5, ... and the energy from each degree on, as balls.

    ``energies[i]`` belongs to degree 2i + 1; ``tails[i]`` is the sum of all
    energies from that degree on, exact by Parseval (H4) up to rounding. Grows
    by `extend`, at the precision it was made with.

    Parameters
    ----------
    D : int
    bits : int
        Working precision.
    """

    def __init__(self, D: int, bits: int) -> None:
        from flint import arb

        from boundcheck.balls import working_precision

        self.D = D
        self.bits = bits
        with working_precision(bits):
            first = 2 * density_constant_ball(D) / (D - 1)
            self.energies: list[arb] = [first * first * D]
            self.tails: list[arb] = [arb(1), 1 - self.energies[0]]

    def extend(self, count: int) -> None:
        """Make sure that ``energies`` has at least ``count`` entries."""
        from boundcheck.balls import working_precision

        if len(self.energies) >= count:
            return
        with working_precision(self.bits):
            # An interrupt may have come between the two appends below.
            del self.tails[len(self.energies) + 1 :]
            term, tail = self.energies[-1], self.tails[-1]
            for i in range(len(self.energies), count):
                above, below = energy_ratio(self.D, 2 * i - 1)
                term = term * above / below
                tail = tail - term
                self.tails.append(tail)
                self.energies.append(term)


@lru_cache(maxsize=8)
def energy_series(D: int, bits: int) -> EnergySeries:
    """The shared series for one dimension and precision."""
    return EnergySeries(D, bits)
