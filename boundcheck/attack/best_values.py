"""The best values for given weights: least squares by the normal equations.

With s_h = phi_{h,1} - phi_{h,2} and weights that sum to 1, heads have the error
1/2 [E|(I - sum V_h) z|^2 + E|sign<x,y> x - sum s_h V_h x|^2], and |z| has mean square 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Eigenvalues below this, relative to the largest, count as zero.
_NEGLIGIBLE = 1e-12


def best_scalars(C: FloatArray, b: FloatArray) -> tuple[float, FloatArray]:
    """The least of 1/2 [(1 - sum a)^2 + 1 - 2 b.a + a^T C a], and its a.

    Parameters
    ----------
    C : ndarray (H, H)
        E s_h s_g.
    b : ndarray (H,)
        E sign<x,y> s_h.

    Examples
    --------
    >>> error, a = best_scalars(np.eye(1), np.array([0.5]))
    >>> round(error, 12), a
    (0.4375, array([0.75]))
    """
    a = _solution(C + 1, b + 1)
    return 1 - 0.5 * float((b + 1) @ a), a


def best_matrices(S: FloatArray, B: FloatArray) -> tuple[float, FloatArray]:
    """The least of 1/2 [|I - sum V|^2 / d + 1 - 2 sum tr(V_h B_h) + sum tr(V_h S_hg V_g^T)].

    Parameters
    ----------
    S : ndarray (H, d, H, d)
        E s_h s_g x x^T for each pair of heads.
    B : ndarray (H, d, d)
        E sign<x,y> s_h x x^T.

    Returns
    -------
    float
    ndarray (H, d, d)
        V.

    Examples
    --------
    >>> error, V = best_matrices(np.eye(2)[None, :, None, :] / 2, np.eye(2)[None] / 4)
    >>> round(error, 12), round(float(V[0, 0, 0]), 12)
    (0.4375, 0.75)
    """
    H, d, _ = B.shape
    sums = np.tile(np.eye(d), (H, 1)) / d
    right = B.reshape(H * d, d) + sums
    stacked = _solution(S.reshape(H * d, H * d) + sums @ sums.T * d, right)
    error = 1 - 0.5 * float(np.sum(right * stacked))
    return error, np.ascontiguousarray(stacked.reshape(H, d, d).transpose(0, 2, 1))


def _solution(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """matrix^+ right for a positive semidefinite matrix."""
    eigenvalues, vectors = np.linalg.eigh(matrix)
    kept = eigenvalues > _NEGLIGIBLE * eigenvalues[-1]
    scaled = vectors[:, kept] / np.sqrt(eigenvalues[kept])
    solution: FloatArray = scaled @ (scaled.T @ right)
    return solution
