"""The system (C + 11^T) a = b + 1 of `best_weights` without a matrix in memory.

Most of what makes it ill conditioned is its part of degree (1, 1),
(2/pi)^2 <q,q'><k,k'>, of rank d^2: eigenvalues of about E_1^2 H / d^2 over a rest of
order one. Solving exactly with that part, 11^T and a multiple of I in place of the rest
takes the steps at d = 10, H = 4000 from 69 to 14.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from boundcheck.constructions.rank_one_error import (
    FloatArray,
    head_correlations,
    upper_blocks,
)

#: The search ends when _WINDOW steps together lower the error by less than _GAIN.
_WINDOW, _GAIN = 8, 1e-13
_MOST_STEPS = 10_000
#: Heads whose products q k^T are held at once.
_ROWS = 256


class GramMatrix:
    """C + 11^T for Q and K with unit rows, as an operator.

    Blocks that fit in ``memory`` bytes are kept, the others computed at each product.
    """

    def __init__(self, Q: FloatArray, K: FloatArray, memory: int) -> None:
        self.Q, self.K = Q, K
        self._memory = memory
        self._kept: list[FloatArray] = []

    def __matmul__(self, vector: FloatArray) -> FloatArray:
        out = np.full_like(vector, vector.sum())
        for i, (rows, columns) in enumerate(upper_blocks(len(vector))):
            block = self._block(i, rows, columns)
            out[rows] += block @ vector[columns]
            if rows != columns:
                out[columns] += vector[rows] @ block
        return out

    def _block(self, i: int, rows: slice, columns: slice) -> FloatArray:
        if i < len(self._kept):
            return self._kept[i]
        block = head_correlations(self.Q, self.K, rows, columns)
        if i == len(self._kept) and block.nbytes <= self._memory:
            self._memory -= block.nbytes
            self._kept.append(block)
        return block

    def reserve(self, size: int) -> bool:
        """Whether half the memory left holds that many bytes; if so, they are set aside."""
        if 2 * size > self._memory:
            return False
        self._memory -= size
        return True


class _Preconditioner:
    """Solves with F F^T + rest I, F = [(2/pi) q_h k_h^T, 1] of d^2 + 1 columns."""

    #: What is left of the diagonal of C.
    rest = 1 - (2 / math.pi) ** 2

    def __init__(self, Q: FloatArray, K: FloatArray) -> None:
        from scipy.linalg import cho_factor

        self.Q, self.K = 2 / math.pi * Q, K
        d = Q.shape[1]
        small = self.rest * np.eye(d * d + 1)
        for start in range(0, len(Q), _ROWS):
            rows = slice(start, start + _ROWS)
            products = np.einsum("hi,hj->hij", self.Q[rows], K[rows]).reshape(-1, d * d)
            F = np.hstack([products, np.ones((len(products), 1))])
            small += F.T @ F
        self._factor = cho_factor(small, overwrite_a=True, check_finite=False)

    @staticmethod
    def bytes_needed(d: int) -> int:
        """Memory while it is made, when the matrix is there twice."""
        return 8 * (d * d + 1) * (2 * (d * d + 1) + 2 * _ROWS)

    def solve(self, vector: FloatArray) -> FloatArray:
        from scipy.linalg import cho_solve

        d = self.Q.shape[1]
        along = np.append((self.Q.T * vector) @ self.K, vector.sum())
        along = cho_solve(self._factor, along, check_finite=False)
        spread = np.einsum("hi,hi->h", self.Q @ along[:-1].reshape(d, d), self.K) + along[-1]
        answer: FloatArray = (vector - spread) / self.rest
        return answer


def gram_solution(matrix: GramMatrix, target: FloatArray) -> FloatArray:
    """An a with (C + 11^T) a = target, where there is one.

    Parameters
    ----------
    matrix : GramMatrix
        It may be singular.
    target : ndarray (H,)

    Returns
    -------
    ndarray (H,)
        With a^T (C + 11^T) a / 2 - target.a, which is the error up to a constant,
        about 1e-13 above the least.

    Raises
    ------
    ArithmeticError
        If the search does not settle.

    Examples
    --------
    >>> q = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> gram_solution(GramMatrix(q, q, 10**6), np.array([3.0, 4.0])).round(9)
    array([0.66666667, 1.66666667])
    """
    H, d = matrix.Q.shape
    # With fewer heads for each of the d^2 products that part does no harm.
    helps = 4 * d * d <= H and matrix.reserve(_Preconditioner.bytes_needed(d))
    solve = _Preconditioner(matrix.Q, matrix.K).solve if helps else np.copy
    solution = np.zeros_like(target)
    residual = target.copy()
    step = direction = solve(residual)
    size = float(residual @ step)
    gains: deque[float] = deque(maxlen=_WINDOW)
    for _ in range(_MOST_STEPS):
        image = matrix @ direction
        curvature = float(direction @ image)
        if not size > 0 or not curvature > 0:
            return solution  # to rounding, nothing is left
        length = size / curvature
        solution += length * direction
        residual -= length * image
        gains.append(0.5 * length * size)
        if len(gains) == _WINDOW and sum(gains) < _GAIN:
            return solution
        step = solve(residual)
        size, before = float(residual @ step), size
        direction = step + size / before * direction
    raise ArithmeticError("conjugate gradients did not settle")
