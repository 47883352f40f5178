"""Non-negative least squares: minimise |matrix x - target| over x >= 0.

The active-set method of Lawson and Hanson, with two things that
``scipy.optimize.nnls`` does not offer: a warm start, and an import that costs
nothing (``import scipy.optimize`` takes 0.4 s, more than a whole command may).
This module loads numpy; import it where it is used.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)


def nonnegative_least_squares(
    matrix: FloatArray, target: FloatArray, start: FloatArray | None = None
) -> FloatArray:
    """The x >= 0 with the least Euclidean norm of matrix x - target.

    Columns are scaled to unit length inside, so their sizes may differ widely.

    Parameters
    ----------
    matrix : ndarray, shape (m, n)
    target : ndarray, shape (m,)
    start : ndarray, shape (n,), optional
        Any x >= 0; the closer to the answer, the fewer steps.

    Returns
    -------
    ndarray, shape (n,)
        With linearly independent columns where it is positive, so at most m
        positive entries.

    Raises
    ------
    ArithmeticError
        If the search has not ended after 30 n steps.

    Examples
    --------
    >>> nonnegative_least_squares(np.eye(2), np.array([3.0, -1.0]))
    array([3., 0.])
    """
    lengths = np.sqrt(np.einsum("ij,ij->j", matrix, matrix))
    usable = lengths > 0
    lengths[~usable] = 1.0
    columns = matrix / lengths
    x = np.zeros(len(lengths)) if start is None else np.where(usable, start * lengths, 0.0)
    support = [int(j) for j in np.flatnonzero(x > 0)]
    if support:
        support = _independent(columns, support, x)
        residual = _descend(columns, target, x, support)
    else:
        residual = target
    tolerance = 4 * _EPS * float(np.linalg.norm(target))
    for _ in range(30 * len(lengths)):
        # How fast the squared norm falls when column j comes into use.
        slope = residual @ columns
        slope[~usable] = 0.0
        slope[support] = 0.0
        norm = float(residual @ residual)
        while True:
            entering = int(np.argmax(slope))
            if slope[entering] <= tolerance:
                # Once more in order, so that the answer depends on which
                # columns are in use and not on how they were found.
                _descend(columns, target, x, sorted(support))
                return np.asarray(x / lengths)
            trial, trial_support = x.copy(), [*support, entering]
            if _may_enter(columns, target, trial_support):
                trial_residual = _descend(columns, target, trial, trial_support)
                if float(trial_residual @ trial_residual) < norm:
                    break
            # Only rounding made this column look useful; try the next one.
            slope[entering] = 0.0
        x, support, residual = trial, trial_support, trial_residual
    raise ArithmeticError("non-negative least squares did not settle")


def _independent(columns: FloatArray, support: list[int], x: FloatArray) -> list[int]:
    """The support less every column that depends on earlier ones; x there becomes 0."""
    kept: list[int] = []
    for j in support:
        diagonal = np.diag(np.linalg.qr(columns[:, [*kept, j]], mode="r"))
        if len(diagonal) > len(kept) and abs(diagonal[-1]) > 100 * _EPS:
            kept.append(j)
        else:
            x[j] = 0.0
    return kept


def _may_enter(columns: FloatArray, target: FloatArray, support: list[int]) -> bool:
    """Whether the last column of the support is independent and gets a positive weight."""
    if len(support) > len(target):
        return False
    q, r = np.linalg.qr(columns[:, support])
    return bool(abs(r[-1, -1]) > 100 * _EPS and (q[:, -1] @ target) / r[-1, -1] > 0)


def _descend(
    columns: FloatArray, target: FloatArray, x: FloatArray, support: list[int]
) -> FloatArray:
    """Move x to the least-squares point of its support and return the residual there.

    Columns whose weight would turn negative on the way leave x and support.
    """
    while support:
        q, r = np.linalg.qr(columns[:, support])
        along = q.T @ target
        goal = np.linalg.solve(r, along)
        if (goal > 0).all():
            x[support] = goal
            # Not target - columns @ x: weights of 1e9 cancel there, and the
            # slopes of all other columns would drown in their rounding.
            residual: FloatArray = target - q @ along
            return residual
        here = x[support]
        falling = goal <= 0
        steps = here[falling] / (here[falling] - goal[falling])
        moved = here + float(steps.min()) * (goal - here)
        leaving = np.flatnonzero(falling)[steps <= steps.min()]
        moved[leaving] = 0.0
        x[support] = moved
        for place in sorted(leaving, reverse=True):
            del support[place]
    return target
