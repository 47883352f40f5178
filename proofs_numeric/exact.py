"""Exact expectations on the sphere S^{D-1}, from the moments of its uniform law.

t = <x, e> for x uniform. Everything follows from E t^{2k} = (1/2)_k / (D/2)_k and
E |t|^{2m+1} = c_D m! / ((D-1)/2)_{m+1}, which are Beta integrals of the density
c_D (1-t^2)^{(D-3)/2}; the Legendre polynomials are made from their definition,
orthogonality.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from math import comb, prod

from flint import fmpq, fmpq_poly

#: The polynomial t.
T = fmpq_poly([0, 1])


def fraction(x: fmpq) -> Fraction:
    """The same number as a Fraction."""
    return Fraction(int(x.p), int(x.q))


def rational(x: Fraction | int) -> fmpq:
    """The same number as flint's rational."""
    return fmpq(x.numerator, x.denominator)


@cache
def coordinate_moment(D: int, power: int) -> Fraction:
    """E t^k.

    Examples
    --------
    >>> coordinate_moment(3, 2), coordinate_moment(3, 1)
    (Fraction(1, 3), Fraction(0, 1))
    """
    if power % 2:
        return Fraction(0)
    if power == 0:
        return Fraction(1)
    return coordinate_moment(D, power - 2) * Fraction(power - 1, D + power - 2)


@cache
def absolute_moment(D: int, power: int) -> Fraction:
    """E |t|^k / c_D for odd k.

    Examples
    --------
    >>> absolute_moment(3, 1) * Fraction(1, 2)  # E|t| with t uniform on [-1, 1]
    Fraction(1, 2)
    """
    if power % 2 == 0:
        raise ValueError("even moments are no multiple of c_D")
    if power == 1:
        return Fraction(2, D - 1)
    return absolute_moment(D, power - 2) * Fraction(power - 1, D + power - 2)


def monomial_moment(powers: Sequence[int]) -> Fraction:
    """E x^alpha for x uniform on the sphere in len(powers) dimensions.

    Examples
    --------
    >>> monomial_moment([2, 2, 0])
    Fraction(1, 15)
    """
    if any(power % 2 for power in powers):
        return Fraction(0)
    above = prod(prod(range(1, power, 2)) for power in powers)
    D = len(powers)
    return Fraction(above, prod(range(D, D + sum(powers), 2)))


def signed_monomial_moment(powers: Sequence[int]) -> Fraction:
    """E sign(x_1) x^alpha / c_D for x uniform on the sphere.

    Examples
    --------
    >>> signed_monomial_moment([1, 0, 0]) == absolute_moment(3, 1)
    True
    """
    first, rest = powers[0], powers[1:]
    if first % 2 == 0 or any(power % 2 for power in rest):
        return Fraction(0)
    # x_1 = t and the others are sqrt(1 - t^2) times a point of S^{D-2}.
    D, half = len(powers), sum(rest) // 2
    terms = ((-1) ** i * comb(half, i) for i in range(half + 1))
    outer = sum((c * absolute_moment(D, first + 2 * i) for i, c in enumerate(terms)), Fraction(0))
    return outer * monomial_moment(rest)


def expectation(D: int, p: fmpq_poly) -> fmpq:
    """E p(t)."""
    return sum((c * rational(coordinate_moment(D, k)) for k, c in enumerate(p.coeffs())), fmpq(0))


def signed_expectation(D: int, p: fmpq_poly) -> fmpq:
    """E sign(t) p(t) / c_D."""
    odd = list(enumerate(p.coeffs()))[1::2]
    return sum((c * rational(absolute_moment(D, k)) for k, c in odd), fmpq(0))


@cache
def legendre(D: int, degree: int) -> fmpq_poly:
    """P_l in dimension D: orthogonal to all lower degrees, P_l(1) = 1.

    Examples
    --------
    >>> legendre(3, 2)
    3/2*x^2 + (-1/2)
    """
    if degree == 0:
        return fmpq_poly([1])
    # Subtract from t P_{l-1} its components along the lower degrees; the
    # moments are even, so only P_{l-2} has one.
    p = T * legendre(D, degree - 1)
    if degree > 1:
        lower = legendre(D, degree - 2)
        p -= expectation(D, p * lower) / expectation(D, lower * lower) * lower
    return p / p(1)


@cache
def harmonics_count(D: int, degree: int) -> int:
    """N(D, l) = 1 / E P_l(t)^2: the reproducing kernel at a point is its own square's mean.

    Examples
    --------
    >>> harmonics_count(4, 3)
    16
    """
    p = legendre(D, degree)
    count = 1 / expectation(D, p * p)
    assert count.q == 1
    return int(count.p)


@cache
def sign_coefficient(D: int, degree: int) -> Fraction:
    """E sign(t) P_l(t) / c_D, by expanding P_l in powers of t.

    Examples
    --------
    >>> sign_coefficient(3, 3)
    Fraction(-1, 4)
    """
    return fraction(signed_expectation(D, legendre(D, degree)))


def sign_energy(D: int, degree: int) -> Fraction:
    """The degree-l energy of sign<., y>, over c_D^2.

    Examples
    --------
    >>> sign_energy(3, 3) / 4
    Fraction(7, 64)
    """
    return harmonics_count(D, degree) * sign_coefficient(D, degree) ** 2
