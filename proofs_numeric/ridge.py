"""Exact ranks of what low-rank functions leave in one degree of the harmonics.

The degree-l part of a homogeneous polynomial p of degree l + 2i on the sphere is
a nonzero multiple of the i-th power of the Laplacian of p, up to multiples of |x|^2:
in p = sum of |x|^{2m} h_{l+2i-2m} the terms with m < i are annihilated, and those with
m > i keep a factor |x|^2. So spans are compared as polynomials modulo |x|^2, which are
told apart by replacing x_D^2 by -(x_1^2 + ... + x_{D-1}^2).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from random import Random

from flint import fmpz_mat, fmpz_mpoly

from proofs_numeric.polynomials import (
    Exponents,
    coefficients,
    exponents,
    laplacian,
    rank,
    ring,
)


def random_matrix(rng: Random, rows: int, columns: int, rank: int) -> list[list[int]]:
    """Integers of the given rank, drawn at random."""
    while True:
        left = [[rng.randint(-3, 3) for _ in range(rank)] for _ in range(rows)]
        right = [[rng.randint(-3, 3) for _ in range(columns)] for _ in range(rank)]
        product = fmpz_mat(left) * fmpz_mat(right)
        if product.rank() == rank:
            return [[int(product[i, j]) for j in range(columns)] for i in range(rows)]


def linear_form(coefficients: Sequence[int]) -> fmpz_mpoly:
    """<v, x>."""
    x = ring(len(coefficients)).gens()
    return sum((c * y for c, y in zip(coefficients, x, strict=True)), 0 * x[0])


def quadratic_form(V: Sequence[Sequence[int]]) -> fmpz_mpoly:
    """x^T V x."""
    x = ring(len(V)).gens()
    return sum((y * linear_form(row) for y, row in zip(x, V, strict=True)), 0 * x[0])


def ridge_monomials(K: Sequence[Sequence[int]], degree: int) -> list[fmpz_mpoly]:
    """The monomials of that degree in the entries of K^T x, K with D rows and r columns."""
    if degree < 0:
        return []
    forms = [linear_form(column) for column in zip(*K, strict=True)]
    one = ring(len(K)).constant(1)
    return [
        prod((form**power for form, power in zip(forms, powers, strict=True)), start=one)
        for powers in exponents(len(forms), degree)
    ]


def degree_part(p: fmpz_mpoly, from_degree: int, degree: int) -> fmpz_mpoly:
    """A multiple of the degree-l part of p, homogeneous of degree from_degree, modulo |x|^2."""
    for _ in range((from_degree - degree) // 2):
        p = laplacian(p)
    return modulo_squares(p)


def degree_parts(
    D: int, degree: int, factors: Iterable[fmpz_mpoly], K: Sequence[Sequence[int]], top: int
) -> list[fmpz_mpoly]:
    """The degree-l parts of factor times q(K^T x), modulo |x|^2, up to multiples.

    Parameters
    ----------
    D, degree : int
        D and l.
    factors : iterable of fmpz_mpoly
        Homogeneous; 1, linear or quadratic forms.
    K : sequence of rows
        D rows, r columns.
    top : int
        q runs over all monomials for which the product has degree at most ``top``.
    """
    parts = [
        degree_part(factor * q, total, degree)
        for factor in factors
        for total in range(degree, top + 1, 2)
        for q in ridge_monomials(K, total - factor.total_degree())
    ]
    return [part for part in parts if not part.is_zero()]


def span_dimension(D: int, degree: int, parts: Sequence[fmpz_mpoly]) -> int:
    """The dimension spanned by homogeneous polynomials given modulo |x|^2."""
    return rank(parts, (m for m in exponents(D, degree) if m[-1] < 2))


def harmonic_ridge_functions(K: Sequence[Sequence[int]], degree: int) -> list[fmpz_mpoly]:
    """A basis of the degree-l harmonics that depend on K^T x alone on the sphere.

    There |x|^2 is 1, so they are the sums of |x|^{2i} q(K^T x), q of degree l - 2i, whose
    Laplacian vanishes.
    """
    D = len(K)
    square = sum((x**2 for x in ring(D).gens()), ring(D).constant(0))
    candidates = [
        square**i * q for i in range(degree // 2 + 1) for q in ridge_monomials(K, degree - 2 * i)
    ]
    if degree < 2:
        return candidates
    images = coefficients([laplacian(p) for p in candidates], exponents(D, degree - 2))
    kernel, nullity = images.transpose().nullspace()
    return [
        sum((kernel[i, j] * p for i, p in enumerate(candidates)), ring(D).constant(0))
        for j in range(nullity)
    ]


def modulo_squares(p: fmpz_mpoly) -> fmpz_mpoly:
    """p with x_D^2 replaced by minus the sum of the other squares."""
    ctx = p.context()
    x = ctx.gens()
    square = -sum((y**2 for y in x[:-1]), ctx.constant(0))
    by_power: dict[int, dict[Exponents, int]] = {}
    for monomial, c in p.to_dict().items():
        *others, last = map(int, monomial)
        by_power.setdefault(last // 2, {})[(*others, last % 2)] = int(c)
    return sum(
        (square**power * ctx.from_dict(terms) for power, terms in by_power.items()),
        ctx.constant(0),
    )
