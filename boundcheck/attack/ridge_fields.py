"""Inner products of the vector fields p_j(<k,x>) V x on the sphere, and their derivatives.

For directions k (M, d) and a matrix V (M, d, d) each, all pairs of fields are multiplied
degree by degree: by `zonal_expansions` their harmonic parts are directional derivatives of
P_l(<k,x>) in k, and E P_l(<k,x>) P_l(<k',x>) = P_l(<k,k'>)/N(d,l).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boundcheck.attack.zonal_expansions import Expansions, legendre_derivatives

FloatArray = NDArray[np.float64]


def projected(V: FloatArray, k: FloatArray) -> FloatArray:
    """V (I - k k^T)."""
    along = np.einsum("mij,mj->mi", V, k)
    return np.asarray(V - along[:, :, None] * k[:, None, :])


class FieldProducts:
    """E p_i(<k,x>) p_j(<k',x>) <Vx, V'x> of all fields.

    Parameters
    ----------
    basis : Expansions
    k : ndarray (M, d)
        Unit rows.
    V : ndarray (M, d, d)

    Attributes
    ----------
    matrix : ndarray (M, J, M, J)
    """

    def __init__(self, basis: Expansions, k: FloatArray, V: FloatArray) -> None:
        self._k, self._V = k, V
        self._f = legendre_derivatives(basis.d, np.clip(k @ k.T, -1, 1), basis.top, 3)
        f = self._f
        # The row v of V gives v.x = (v.k) t + w.x with w across k.
        self._image = np.einsum("mij,mj->mi", V, k)
        self._rest = projected(V, k)
        self._moved = np.einsum("hij,gj->hgi", self._rest, k)
        self._aa = self._image @ self._image.T
        self._ba = np.einsum("hgi,gi->hg", self._moved, self._image)
        self._bb = np.einsum("hgi,ghi->hg", self._moved, self._moved)
        self._trace = np.einsum("hij,gij->hg", self._rest, self._rest)
        pairs = np.empty((2, 2, *f[0].shape))
        pairs[0, 0] = f[0] * self._aa
        pairs[1, 0] = f[1] * self._ba
        pairs[0, 1] = f[1] * self._ba.T
        pairs[1, 1] = f[2] * self._bb + f[1] * self._trace
        self._coefficients = np.stack([basis.tp, basis.p1])
        self._norms = basis.norms
        self.matrix: FloatArray = np.einsum(
            "ail,ablhg,bjl,l->higj",
            self._coefficients,
            pairs,
            self._coefficients,
            self._norms,
            optimize=True,
        )

    def gradient(self, by: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives of sum by * matrix by k and V, for a symmetric ``by``."""
        f = self._f
        c = self._coefficients
        pairs = np.einsum("ail,higj,bjl,l->ablhg", c, by, c, self._norms, optimize=True)

        def total(a: int, b: int, order: int) -> FloatArray:
            return np.asarray(np.einsum("lhg,lhg->hg", pairs[a, b], f[order]))

        by_cosine = (
            total(0, 0, 1) * self._aa
            + 2 * total(1, 0, 2) * self._ba
            + total(1, 1, 3) * self._bb
            + total(1, 1, 2) * self._trace
        )
        by_ba = 2 * total(1, 0, 1)
        by_moved = by_ba[:, :, None] * self._image[None]
        by_moved += 2 * total(1, 1, 2)[:, :, None] * self._moved.transpose(1, 0, 2)
        by_image = 2 * total(0, 0, 0) @ self._image
        by_image += np.einsum("hg,hgi->gi", by_ba, self._moved)
        by_rest = np.einsum("hgi,gj->hij", by_moved, self._k)
        by_rest += 2 * np.einsum("hg,gij->hij", total(1, 1, 1), self._rest)
        by_k = (by_cosine + by_cosine.T) @ self._k
        by_k += np.einsum("hij,hgi->gj", self._rest, by_moved)
        # rest = V (I - k k^T), image = V k.
        products = np.einsum("hij,hik->hjk", self._V, by_rest)
        by_k -= np.einsum("hjk,hk->hj", products + products.transpose(0, 2, 1), self._k)
        by_k += np.einsum("hij,hi->hj", self._V, by_image)
        by_V = projected(by_rest, self._k) + by_image[:, :, None] * self._k[:, None, :]
        return by_k, by_V
