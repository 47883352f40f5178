"""What ridge fields p_j(<k,x>) V x know of sign<x,y> x, and the derivatives of that.

b(y) = E sign<x,y> p_j(<k,x>) x^T V x; the matrix is E_y b b^T. With beta = k^T V k, v = V k
for the symmetric part of V, and alpha = (tr V - beta)/(d-1),

    x^T V x = alpha + (beta - alpha) t^2 + 2 t w.x + x^T W x,      w = v - beta k,

where W, the traceless part of V across k, and w belong to harmonics of degrees 2 and 1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from boundcheck.attack.zonal_expansions import Expansions, legendre_derivatives

FloatArray = NDArray[np.float64]


class SignCorrelations:
    """E_y b b^T for all fields.

    Parameters
    ----------
    basis : Expansions
    k : ndarray (M, d)
        Unit rows.
    V : ndarray (M, d, d)

    Attributes
    ----------
    coefficients : ndarray (3, M, J, top + 1)
        Of every field's p_j(t) x^T V x by P_l, w.grad P_l and W:grad grad P_l.
    w : ndarray (M, d)
    W : ndarray (M, d, d)
    matrix : ndarray (M, J, M, J)
    """

    def __init__(self, basis: Expansions, k: FloatArray, V: FloatArray) -> None:
        d = basis.d
        self._basis, self._k = basis, k
        self._symmetric = (V + V.transpose(0, 2, 1)) / 2
        self._v = np.einsum("mij,mj->mi", self._symmetric, k)
        self._beta = np.einsum("mi,mi->m", self._v, k)
        self._alpha = (np.trace(V, axis1=1, axis2=2) - self._beta) / (d - 1)
        self.w = self._v - self._beta[:, None] * k
        self._P = np.eye(d) - k[:, :, None] * k[:, None, :]
        self.W = self._P @ self._symmetric @ self._P - self._alpha[:, None, None] * self._P
        shape = (len(k), *basis.p.shape)
        radial = self._alpha[:, None, None] * basis.p
        radial = radial + (self._beta - self._alpha)[:, None, None] * basis.ttp
        self.coefficients: FloatArray = np.stack(
            [radial, np.broadcast_to(2 * basis.tp1, shape), np.broadcast_to(basis.p2, shape)]
        )
        self._pairs = self._products()
        self.matrix: FloatArray = np.einsum(
            "ahil,ablhg,bgjl,l->higj",
            self.coefficients,
            self._pairs,
            self.coefficients,
            basis.seen,
            optimize=True,
        )

    def _products(self) -> FloatArray:
        """The directional derivatives of P_l(<k,k'>), (3, 3, top + 1, M, M)."""
        k, w, W = self._k, self.w, self.W
        self._f = legendre_derivatives(self._basis.d, np.clip(k @ k.T, -1, 1), self._basis.top, 5)
        f = self._f
        self._moved = np.einsum("hij,gj->hgi", W, k)
        self._wk, self._ww = w @ k.T, w @ w.T
        self._kWk = np.einsum("hgi,gi->hg", self._moved, k)
        self._kWw = np.einsum("hgi,gi->hg", self._moved, w)
        self._kWWk = np.einsum("hgi,ghi->hg", self._moved, self._moved)
        self._trace = np.einsum("hij,gij->hg", W, W)
        wk, kWk = self._wk, self._kWk
        pairs = np.empty((3, 3, *f[0].shape))
        pairs[0, 0] = f[0]
        pairs[1, 0] = f[1] * wk
        pairs[1, 1] = f[2] * wk * wk.T + f[1] * self._ww
        pairs[2, 0] = f[2] * kWk
        pairs[2, 1] = f[3] * kWk * wk.T + 2 * f[2] * self._kWw
        pairs[2, 2] = f[4] * kWk * kWk.T + 4 * f[3] * self._kWWk + 2 * f[2] * self._trace
        for a, b in ((1, 0), (2, 0), (2, 1)):
            pairs[b, a] = pairs[a, b].transpose(0, 2, 1)
        return pairs

    def gradient(self, by: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives of sum by * matrix by k and V, for a symmetric ``by``."""
        basis, k = self._basis, self._k
        c = self.coefficients
        by_pairs = np.einsum("ahil,higj,bgjl,l->ablhg", c, by, c, basis.seen, optimize=True)
        by_radial = 2 * np.einsum(
            "blhg,higj,bgjl,l->hil", self._pairs[0], by, c, basis.seen, optimize=True
        )
        by_k, by_w, by_W = self._by_parts(by_pairs)
        by_alpha = np.einsum("hil,il->h", by_radial, basis.p - basis.ttp)
        by_beta = np.einsum("hil,il->h", by_radial, basis.ttp)
        # W = P V P - alpha P.
        by_W = (by_W + by_W.transpose(0, 2, 1)) / 2
        by_alpha -= np.einsum("hij,hij->h", by_W, self._P)
        by_P = 2 * self._symmetric @ self._P @ by_W - self._alpha[:, None, None] * by_W
        by_k -= np.einsum("hij,hj->hi", by_P + by_P.transpose(0, 2, 1), k)
        by_V = self._P @ by_W @ self._P
        # alpha = (tr V - beta)/(d-1), w = v - beta k, beta = v.k, v = V k.
        by_V += (by_alpha / (basis.d - 1))[:, None, None] * np.eye(basis.d)
        by_beta -= by_alpha / (basis.d - 1) + np.einsum("hi,hi->h", by_w, k)
        by_k += by_beta[:, None] * self._v - self._beta[:, None] * by_w
        by_v = by_w + by_beta[:, None] * k
        by_k += np.einsum("hij,hj->hi", self._symmetric, by_v)
        by_V += by_v[:, :, None] * k[:, None, :]
        return by_k, (by_V + by_V.transpose(0, 2, 1)) / 2

    def _by_parts(self, by_pairs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The derivatives by k, w and W as they stand in `_products`."""
        f, k, w = self._f, self._k, self.w
        wk, kWk = self._wk, self._kWk

        def total(a: int, b: int, order: int) -> FloatArray:
            return np.asarray(np.einsum("lhg,lhg->hg", by_pairs[a, b], f[order]))

        by_cosine = (
            total(0, 0, 1)
            + total(1, 1, 3) * wk * wk.T
            + total(1, 1, 2) * self._ww
            + total(2, 2, 5) * kWk * kWk.T
            + 4 * total(2, 2, 4) * self._kWWk
            + 2 * total(2, 2, 3) * self._trace
            + 2 * total(1, 0, 2) * wk
            + 2 * total(2, 0, 3) * kWk
            + 2 * total(2, 1, 4) * kWk * wk.T
            + 4 * total(2, 1, 3) * self._kWw
        )
        third = total(2, 1, 3)
        by_wk = 2 * total(1, 1, 2) * wk.T + 2 * total(1, 0, 1) + 2 * (third * kWk).T
        by_kWk = 2 * total(2, 2, 4) * kWk.T + 2 * total(2, 0, 2) + 2 * third * wk.T
        by_kWw = 4 * total(2, 1, 2)
        by_kWWk = 4 * total(2, 2, 3)
        by_moved = (
            by_kWk[:, :, None] * k[None]
            + by_kWw[:, :, None] * w[None]
            + 2 * by_kWWk[:, :, None] * self._moved.transpose(1, 0, 2)
        )
        by_k = (by_cosine + by_cosine.T) @ k + by_wk.T @ w
        by_k += np.einsum("hg,hgi->gi", by_kWk, self._moved)
        by_k += np.einsum("hij,hgi->gj", self.W, by_moved)
        by_w = by_wk @ k + 2 * total(1, 1, 1) @ w
        by_w += np.einsum("hg,hgi->gi", by_kWw, self._moved)
        by_W = np.einsum("hgi,gj->hij", by_moved, k)
        by_W += 4 * np.einsum("hg,gij->hij", total(2, 2, 2), self.W)
        return by_k, by_w, by_W
