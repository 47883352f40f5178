"""T1 and T1s in exact rationals: an independent path beside `lower_balls`.

Energies come from their closed form (no recurrence), pi from Machin's formula,
the least H from bisection on the bound itself. Intervals are pairs of
Fractions rounded outwards. Slower, and free of python-flint.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import comb, prod

from boundcheck.capacity import Capacity
from boundcheck.harmonics import harmonic_dimension
from boundcheck.values import Enclosure, HeadCount

MAX_TERMS = 2**12
BITS = 192
ERROR_WIDTH = Fraction(1, 2**40)


def rounded(x: Fraction, bits: int, *, up: bool) -> Fraction:
    """x moved to a multiple of 2^-bits, up or down.

    Examples
    --------
    >>> rounded(Fraction(1, 3), 2, up=True)
    Fraction(1, 2)
    """
    return _rounded_quotient(x.numerator, x.denominator, bits, up=up)


def _rounded_quotient(above: int, below: int, bits: int, *, up: bool) -> Fraction:
    # Big integers are never reduced to lowest terms: that would take the time.
    scaled = above << bits
    return Fraction(-(-scaled // below) if up else scaled // below, 1 << bits)


def _arctan_inverse(n: int, bits: int) -> tuple[Fraction, Fraction]:
    # arctan(1/n), alternating: consecutive partial sums enclose it.
    total, sign, k, power = Fraction(0), 1, 0, Fraction(1, n)
    while True:
        term = power / (2 * k + 1)
        after = total + sign * term
        if term < Fraction(1, 1 << bits):
            return min(total, after), max(total, after)
        total, sign, k, power = after, -sign, k + 1, power / (n * n)


@lru_cache(maxsize=8)
def pi_interval(bits: int) -> tuple[Fraction, Fraction]:
    """Rationals lo < pi < hi, about 2^-bits apart (Machin).

    Examples
    --------
    >>> lo, hi = pi_interval(20)
    >>> lo < Fraction(314159265359, 10**11) < hi
    True
    """
    five, rest = _arctan_inverse(5, bits + 8), _arctan_inverse(239, bits + 8)
    return (
        rounded(16 * five[0] - 4 * rest[1], bits + 4, up=False),
        rounded(16 * five[1] - 4 * rest[0], bits + 4, up=True),
    )


@lru_cache(maxsize=8)
def _density_constant_squared(D: int) -> tuple[int, int, int]:
    # c_D^2 = above / below * pi^power, from Gamma at whole and half arguments.
    n = D // 2
    if D % 2:
        return (n * comb(2 * n, n)) ** 2, 16**n, 0
    return 16 ** (n - 1), comb(2 * n - 2, n - 1) ** 2, -2


def _legendre_at_zero(D: int, k: int) -> tuple[int, int]:
    # |P_2k(0)| = prod_{j<k} (2j+1)/(2j+D-1) in dimension D, as a quotient.
    if k < D:
        return prod(range(1, 2 * k, 2)), prod(range(D - 1, 2 * k + D - 1, 2))
    n = (D - 1) // 2
    if D % 2:
        return comb(2 * k, k), 4**k * comb(k + n - 1, k)
    return comb(2 * k, k) * comb(2 * n, n), comb(2 * k + 2 * n, k + n) * comb(k + n, k)


def energy_interval(D: int, degree: int, bits: int = BITS) -> tuple[Fraction, Fraction]:
    """E_l(D) for odd l between two rationals, from H2 at tau = 0.

    lambda_l = E[sign P_l] = 2 c_D P_{l-1}^{[D+2]}(0) / (D-1), and E_l = N(D,l) lambda_l^2.

    Examples
    --------
    >>> low, high = energy_interval(3, 3)
    >>> low <= Fraction(7, 64) <= high
    True
    """
    above, below, power = _density_constant_squared(D)
    top, bottom = _legendre_at_zero(D + 2, (degree - 1) // 2)
    above *= (2 * top) ** 2 * harmonic_dimension(D, degree)
    below *= ((D - 1) * bottom) ** 2
    if power == 0:
        low = high = Fraction(1)
    else:
        low, high = (x * x for x in pi_interval(bits))
    return (
        _rounded_quotient(above * high.denominator, below * high.numerator, bits, up=False),
        _rounded_quotient(above * low.denominator, below * low.numerator, bits, up=True),
    )


@lru_cache(maxsize=2**14)
def _energy(D: int, degree: int, bits: int) -> tuple[Fraction, Fraction]:
    return energy_interval(D, degree, bits)


def _bound(capacity: Capacity, heads: int, skip: bool, terms: int, bits: int) -> Enclosure:
    """1/2 sum E_l max(0, 1 - H m/N), the rest by Parseval and monotone m_r/N."""
    D = capacity.D
    low = high = Fraction(0)
    left_low = left_high = Fraction(1)
    share = Fraction(1)
    for degree in range(1, 2 * terms, 2):
        least, most = _energy(D, degree, bits)
        left_low, left_high = left_low - most, left_high - least
        share = Fraction(heads * capacity(degree), harmonic_dimension(D, degree))
        if skip and degree == 1:
            continue
        keep = max(Fraction(0), 1 - share)
        low += rounded(least * keep, bits, up=False)
        high += rounded(most * keep, bits, up=True)
    last = 2 * terms - 1
    above, below = capacity.over_ridge(last)
    lost = share * Fraction(below, above) * capacity.over_ridge_limit
    if capacity.r < D:
        low += max(Fraction(0), left_low) * max(Fraction(0), 1 - lost)
    return Enclosure(low / 2, (high + max(Fraction(0), left_high)) / 2)


def _bits(heads: int) -> int:
    # A power of two, so that energies can be kept from one H to the next.
    return 1 << (BITS + 2 * heads.bit_length()).bit_length()


def odd_energies(D: int, count: int) -> list[Enclosure]:
    """E_1, E_3, ..., as many as asked for."""
    return [Enclosure(*_energy(D, degree, BITS)) for degree in range(1, 2 * count, 2)]


def error_at(capacity: Capacity, heads: int, skip: bool) -> Enclosure:
    """1/2 sum_l E_l max(0, 1 - H m(l)/N(D,l)) over odd l, for H >= 1.

    Examples
    --------
    >>> found = error_at(Capacity(16, 4, 2, 0, 1), 1, skip=False)
    >>> round(float(found.lo), 6), float(found.width) < 1e-9
    (0.332401, True)
    """
    if capacity.takes_all(heads):
        return Enclosure.exactly(0)
    terms = 16
    while True:
        found = _bound(capacity, heads, skip, terms, _bits(heads))
        if found.width < found.lo * ERROR_WIDTH or terms >= MAX_TERMS:
            return found
        terms *= 2


def _exceeds(capacity: Capacity, heads: int, eps: Fraction, skip: bool) -> bool | None:
    """Whether the bound at H heads is > eps; None where MAX_TERMS do not tell."""
    if capacity.takes_all(heads):
        return False
    terms = 16
    while True:
        found = _bound(capacity, heads, skip, terms, _bits(heads))
        if found.lo > eps:
            return True
        if found.hi <= eps:
            return False
        if terms >= MAX_TERMS:
            return None
        terms *= 2


def least_heads(capacity: Capacity, eps: Fraction, skip: bool) -> HeadCount:
    """The least H >= 1 whose bound is <= eps, or a smaller safe count, marked.

    Examples
    --------
    >>> least_heads(Capacity(16, 1, 2, 0, 1), Fraction(1, 5), skip=False).heads
    8
    """
    excluded, top = 0, 1
    while _exceeds(capacity, top, eps, skip):
        excluded, top = top, 2 * top
    sharp = True
    while top - excluded > 1:
        middle = (excluded + top) // 2
        answer = _exceeds(capacity, middle, eps, skip)
        if answer:
            excluded = middle
        else:
            top = middle
            sharp = answer is not None
    if not sharp or _exceeds(capacity, top, eps, skip) is None:
        return HeadCount(
            excluded + 1,
            f"degrees were followed to {2 * MAX_TERMS - 1}; the sharpest count may be larger",
            sharp=False,
        )
    return HeadCount(top)
