"""Polynomials in x_1, ..., x_D over the integers: monomials, Laplacian, ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TypeAlias

from flint import Ordering, fmpz_mat, fmpz_mpoly, fmpz_mpoly_ctx

Exponents: TypeAlias = tuple[int, ...]


def exponents(variables: int, degree: int) -> Iterator[Exponents]:
    """All exponents of monomials of that degree.

    Examples
    --------
    >>> list(exponents(2, 2))
    [(2, 0), (1, 1), (0, 2)]
    """
    if variables == 1:
        yield (degree,)
        return
    for first in range(degree, -1, -1):
        for rest in exponents(variables - 1, degree - first):
            yield (first, *rest)


@cache
def ring(variables: int) -> fmpz_mpoly_ctx:
    """Polynomials in that many variables over the integers."""
    return fmpz_mpoly_ctx.get([f"x{i}" for i in range(variables)], Ordering.degrevlex)


def laplacian(p: fmpz_mpoly) -> fmpz_mpoly:
    """The sum of the second derivatives."""
    total = p.context().constant(0)
    for i in range(p.context().nvars()):
        total += p.derivative(i).derivative(i)
    return total


def rank(rows: Sequence[fmpz_mpoly], monomials: Iterable[Exponents]) -> int:
    """The dimension of the span of polynomials made of these monomials, exact."""
    column = {monomial: i for i, monomial in enumerate(monomials)}
    matrix = [[0] * len(column) for _ in rows]
    for row, p in zip(matrix, rows, strict=True):
        for monomial, coefficient in p.to_dict().items():
            row[column[tuple(map(int, monomial))]] = int(coefficient)
    return fmpz_mat(matrix).rank() if matrix and column else 0
