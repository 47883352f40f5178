"""A rational basis of the degree-l harmonics, its Gram matrix, and rational rotations."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from random import Random

from flint import fmpq, fmpq_mat, fmpq_mpoly, fmpq_mpoly_ctx, fmpz_mat

from proofs_numeric.exact import monomial_moment, rational, signed_monomial_moment
from proofs_numeric.polynomials import Exponents, exponents, laplacian, ring

#: A polynomial in x_1, ..., x_D: coefficients by exponents.
Coefficients = dict[Exponents, fmpq]
Point = tuple[fmpq, ...]


@cache
def harmonic_basis(D: int, degree: int) -> tuple[Coefficients, ...]:
    """A basis of the homogeneous polynomials whose Laplacian vanishes.

    Examples
    --------
    >>> len(harmonic_basis(3, 4))
    9
    """
    monomials = list(exponents(D, degree))
    if degree < 2:
        return tuple({monomial: fmpq(1)} for monomial in monomials)
    row = {monomial: i for i, monomial in enumerate(exponents(D, degree - 2))}
    matrix = [[0] * len(monomials) for _ in row]
    for j, monomial in enumerate(monomials):
        for image, c in laplacian(ring(D).from_dict({monomial: 1})).to_dict().items():
            matrix[row[tuple(map(int, image))]][j] = int(c)
    kernel, nullity = fmpz_mat(matrix).nullspace()
    return tuple(
        {monomial: fmpq(kernel[i, j]) for i, monomial in enumerate(monomials) if kernel[i, j] != 0}
        for j in range(nullity)
    )


@cache
def gram_matrix(D: int, degree: int) -> fmpq_mat:
    """E b_i(x) b_j(x) over the basis, for x uniform on the sphere."""
    basis = harmonic_basis(D, degree)
    return fmpq_mat([[_product_mean(p, q) for q in basis] for p in basis])


def _product_mean(p: Coefficients, q: Coefficients) -> fmpq:
    return sum(
        (
            a * b * rational(monomial_moment([i + j for i, j in zip(m, n, strict=True)]))
            for m, a in p.items()
            for n, b in q.items()
        ),
        fmpq(0),
    )


def value(p: Coefficients, x: Point) -> fmpq:
    """p(x)."""
    total = fmpq(0)
    for monomial, c in p.items():
        for coordinate, power in zip(x, monomial, strict=True):
            c = c * coordinate**power
        total += c
    return total


def sphere_point(rng: Random, D: int) -> Point:
    """A rational point of the sphere, by stereographic projection."""
    a = [fmpq(rng.randint(-9, 9), rng.randint(1, 9)) for _ in range(D - 1)]
    square = sum((x * x for x in a), fmpq(0))
    return (*(2 * x / (square + 1) for x in a), (square - 1) / (square + 1))


def inner(x: Sequence[fmpq], y: Sequence[fmpq]) -> fmpq:
    """<x, y>."""
    return sum((a * b for a, b in zip(x, y, strict=True)), fmpq(0))


@cache
def _rational_ring(D: int) -> fmpq_mpoly_ctx:
    return fmpq_mpoly_ctx.get([f"x{i}" for i in range(D)], ring(D).ordering())


def sign_image(p: Coefficients, y: Point) -> fmpq:
    """E sign<x, y> p(x) / c_D for x uniform on the sphere.

    The reflection that takes y to e_1 takes sign<x, y> to sign(x_1).
    """
    ctx = _rational_ring(len(y))
    x = ctx.gens()
    u = (y[0] - 1, *y[1:])
    square = inner(u, u)
    reflected = list(x)
    if square != 0:
        along = sum((a * b for a, b in zip(u, x, strict=True)), ctx.constant(0))
        reflected = [b - 2 * a / square * along for a, b in zip(u, x, strict=True)]
    q: fmpq_mpoly = ctx.from_dict(p).compose(*reflected)
    return sum(
        (
            c * rational(signed_monomial_moment(tuple(map(int, monomial))))
            for monomial, c in q.to_dict().items()
        ),
        fmpq(0),
    )
