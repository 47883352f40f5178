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


def coefficients(rows: Sequence[fmpz_mpoly], monomials: Iterable[Exponents]) -> fmpz_mat:
    """One row of coefficients for each polynomial, one column for each monomial.

    Raises
    ------
    KeyError
        If a polynomial has a monomial that is not among those given.
    """
    column = {monomial: i for i, monomial in enumerate(monomials)}
    matrix = fmpz_mat(len(rows), len(column))
    for i, p in enumerate(rows):
        for monomial, coefficient in p.to_dict().items():
            matrix[i, column[tuple(map(int, monomial))]] = coefficient
    return matrix


def rank(rows: Sequence[fmpz_mpoly], monomials: Iterable[Exponents]) -> int:
    """The dimension of the span of polynomials made of these monomials, exact."""
    return coefficients(rows, monomials).rank()
