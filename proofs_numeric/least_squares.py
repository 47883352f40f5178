"""Exact least squares from two matrices of moments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from flint import fmpq, fmpq_mat

T = TypeVar("T")


def symmetric_matrix(items: Sequence[T], product: Callable[[T, T], fmpq]) -> fmpq_mat:
    """The matrix of a symmetric product of each two items."""
    matrix = fmpq_mat(len(items), len(items))
    for i, first in enumerate(items):
        for j, second in enumerate(items[: i + 1]):
            matrix[i, j] = matrix[j, i] = product(first, second)
    return matrix


def captured_energy(gram: fmpq_mat, target: fmpq_mat) -> fmpq:
    """E_y of the squared norm of the projection of t_y to the span of F_1, ..., F_n.

    Parameters
    ----------
    gram : fmpq_mat
        <F_i, F_j>; the F_i may be dependent.
    target : fmpq_mat
        E_y <t_y, F_i> <t_y, F_j>.

    Examples
    --------
    The same function twice, with t_y the function itself:

    >>> twice = fmpq_mat([[4, 4], [4, 4]])
    >>> captured_energy(twice, fmpq_mat([[16, 16], [16, 16]]))
    4
    """
    reduced, rank = gram.rref()
    columns = range(gram.ncols())
    kept = [next(j for j in columns if reduced[i, j] != 0) for i in range(rank)]
    solved = _restricted(gram, kept).solve(_restricted(target, kept))
    return sum((solved[i, i] for i in range(rank)), fmpq(0))


def _restricted(matrix: fmpq_mat, kept: Sequence[int]) -> fmpq_mat:
    return fmpq_mat([[matrix[i, j] for j in kept] for i in kept])
