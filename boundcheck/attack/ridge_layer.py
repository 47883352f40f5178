"""Heads with matrices and their best arbitrary scores as a layer that can be applied, N = 2."""

from __future__ import annotations

import math

import numpy as np

from boundcheck.attack.arbitrary_heads import ArbitraryHeads
from boundcheck.attack.arbitrary_matrices import ArbitraryMatrices, Fit
from boundcheck.attack.objective import FloatArray
from boundcheck.attack.zonal_expansions import legendre_derivatives, legendre_values
from boundcheck.attention import attend
from boundcheck.harmonics import harmonic_dimension, sign_coefficient


class RidgeLayer:
    """The layer that `ArbitraryMatrices` found.

    Head h has the weights (1 +- s_h)/2 with s_h = sum_j c_hj(y) p_j(<k,x>), c = G^+ b(y)
    and b(y) = E sign<x,y> p_j(<k,x>) x^T V x: a function of K_h^T x and y.

    Examples
    --------
    >>> heads = ArbitraryHeads(np.ones((1, 3, 1)), np.eye(3)[None], 7, 0.36447)
    >>> layer = RidgeLayer(heads)
    >>> X = np.eye(3)[None, :2]
    >>> layer.weights(X, np.array([[1.0, 1.0, 1.0]]) / math.sqrt(3)).sum(axis=2).round(12)
    array([[1.]])
    """

    def __init__(self, heads: ArbitraryHeads) -> None:
        H, d, r = heads.K.shape
        self.heads = heads
        self._fit = Fit(ArbitraryMatrices(d, r, H, heads.degree), heads.K, heads.values)

    def weights(self, X: FloatArray, y: FloatArray) -> FloatArray:
        """phi (batch, H, 2) for X (batch, 2, d) and y (batch, d)."""
        fit = self._fit
        H, M, d = fit.k.shape
        degree = fit.basis.degree
        k = fit.k.reshape(H * M, d)
        odd = np.arange(1, degree + 1, 2)
        scale = np.sqrt([float(harmonic_dimension(d, j)) for j in range(1, degree + 1, 2)])
        x = (X[:, 0] - X[:, 1]) / math.sqrt(2)
        p = legendre_values(d, np.clip(x @ k.T, -1, 1), degree)[odd] * scale[:, None, None]
        kept = fit.kept.ravel()
        b = np.moveaxis(self._known(k, y), 2, 0).reshape(len(y), -1)[:, kept]
        c = np.zeros((len(y), len(kept)))
        c[:, kept] = b @ fit.solution
        s = np.einsum("nmj,jnm->nm", c.reshape(len(y), H * M, len(odd)), p)
        s = s.reshape(len(y), H, M).sum(axis=2)
        return np.stack([(1 + s) / 2, (1 - s) / 2], axis=2)

    def apply(self, X: FloatArray, y: FloatArray) -> FloatArray:
        """The layer's output (batch, d)."""
        return np.asarray(attend(self.weights(X, y), X, self.heads.values))

    def _known(self, k: FloatArray, y: FloatArray) -> FloatArray:
        """b(y), (H M, J, batch)."""
        known, d = self._fit.correlations, self._fit.basis.d
        top = self._fit.basis.top
        P, slope, bend = legendre_derivatives(d, np.clip(k @ y.T, -1, 1), top, 2)
        forms = np.stack(
            [
                P,
                slope * (known.w @ y.T),
                bend * np.einsum("ni,mij,nj->mn", y, known.W, y, optimize=True),
            ]
        )
        signs = np.array([float(sign_coefficient(d, l)) for l in range(top + 1)])
        return np.asarray(
            np.einsum("amjl,almn,l->mjn", known.coefficients, forms, signs, optimize=True)
        )
