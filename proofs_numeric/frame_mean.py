"""Means over the frame (x, z): z given x, both, and harmonic parts, exact.

x is uniform on S^{D-1} and z uniform on the unit sphere orthogonal to x, D >= 3. Given x,
E <a,z><b,z> = C(a,b)/(D-1) with C(a,b) = <a,b>|x|^2 - <a,x><b,x>, and the mean of 2m
factors is the sum over all pairings of products of C over (D-1)(D+1)...(D+2m-3).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import prod

from flint import Ordering, fmpq, fmpq_mpoly_ctx, fmpz_mpoly

from proofs_numeric.exact import monomial_moment, rational
from proofs_numeric.harmonic_basis import Point, inner
from proofs_numeric.polynomials import Exponents, ring

Vector = tuple[fmpz_mpoly, ...]


def constant_vector(entries: Sequence[int]) -> Vector:
    """A vector that does not depend on x."""
    return tuple(ring(len(entries)).constant(entry) for entry in entries)


def pairings_mean(D: int, factors: Sequence[tuple[Vector, int]]) -> fmpz_mpoly:
    """E[product of <a_i, z>^{n_i} | x] times (D-1)(D+1)...(D+n-3), n the sum of the n_i.

    Parameters
    ----------
    D : int
    factors : sequence of (a_i, n_i)
        a_i may depend on x; n_i >= 0.

    Returns
    -------
    fmpz_mpoly
        In x, homogeneous if the a_i are; 0 for odd n.
    """
    zero = ring(D).constant(0)
    if sum(n for _, n in factors) % 2:
        return zero
    x = ring(D).gens()
    square = sum((c * c for c in x), zero)

    def inner(a: Sequence[fmpz_mpoly], b: Sequence[fmpz_mpoly]) -> fmpz_mpoly:
        return sum((c * e for c, e in zip(a, b, strict=True)), zero)

    vectors = [a for a, _ in factors]
    covariance = [
        [inner(a, b) * square - inner(a, x) * inner(b, x) for b in vectors] for a in vectors
    ]

    @cache
    def mean(counts: tuple[int, ...]) -> fmpz_mpoly:
        first = next((i for i, n in enumerate(counts) if n), None)
        if first is None:
            return ring(D).constant(1)
        rest = [n - (i == first) for i, n in enumerate(counts)]
        total = zero
        for partner, n in enumerate(rest):
            if n:
                left = tuple(m - (i == partner) for i, m in enumerate(rest))
                total += n * covariance[first][partner] * mean(left)
        return total

    return mean(tuple(n for _, n in factors))


def pairings_divisor(D: int, count: int) -> int:
    """(D-1)(D+1)...(D+count-3), by which `pairings_mean` of that many factors is too large."""
    return prod(range(D - 1, D + count - 1, 2))


@cache
def _monomial_given_x(D: int, in_z: Exponents) -> tuple[tuple[Exponents, int], ...]:
    """The terms of `pairings_mean` for z^beta."""
    units = [constant_vector([int(i == j) for j in range(D)]) for i in range(D)]
    found = pairings_mean(D, list(zip(units, in_z, strict=True))).to_dict()
    return tuple((tuple(map(int, monomial)), int(c)) for monomial, c in found.items())


@cache
def _monomial_mean(D: int, in_x: Exponents, in_z: Exponents) -> fmpq:
    """E x^alpha z^beta over the frame."""
    if any((i + j) % 2 for i, j in zip(in_x, in_z, strict=True)):
        return fmpq(0)  # by a reflection
    total = fmpq(0)
    for monomial, c in _monomial_given_x(D, in_z):
        powers = [n + m for n, m in zip(monomial, in_x, strict=True)]
        total += c * rational(monomial_moment(powers))
    return total / pairings_divisor(D, sum(in_z))


def frame_mean(D: int, p: fmpz_mpoly) -> fmpq:
    """E p(x, z), p in the 2D variables x_1, ..., x_D, z_1, ..., z_D.

    Examples
    --------
    The squares of two coordinates of x and z, in one direction and in two:

    >>> x, _, _, z, other, _ = ring(6).gens()
    >>> frame_mean(3, x**2 * z**2), frame_mean(3, x**2 * other**2)
    (1/15, 2/15)
    """
    total = fmpq(0)
    for monomial, c in p.to_dict().items():
        powers = tuple(map(int, monomial))
        total += int(c) * _monomial_mean(D, powers[:D], powers[D:])
    return total


def sphere_expansion(
    rows: Sequence[Sequence[fmpq]], counts: Sequence[int], x: Point
) -> list[tuple[Exponents, fmpq]]:
    """The product of <a_i, z>^{n_i} in the coordinates of z orthogonal to x.

    The reflection that takes x to e_1 takes z to (0, w), w uniform on S^{D-2}. Another
    route to what `pairings_mean` gives, at one rational point x of the sphere.

    Returns
    -------
    list of (exponents, coefficient)
        The terms, in w_1, ..., w_{D-1}.
    """
    u = (x[0] - 1, *x[1:])
    square = inner(u, u)
    ctx = fmpq_mpoly_ctx.get([f"w{i}" for i in range(len(x) - 1)], Ordering.degrevlex)
    product = ctx.constant(1)
    for a, n in zip(rows, counts, strict=True):
        along = inner(a, u) * 2 / square if square != 0 else fmpq(0)
        turned = [c - along * e for c, e in zip(a, u, strict=True)]
        form = sum((c * w for c, w in zip(turned[1:], ctx.gens(), strict=True)), ctx.constant(0))
        product *= form**n
    return [(tuple(map(int, m)), c) for m, c in product.to_dict().items()]
