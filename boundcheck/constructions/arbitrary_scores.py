"""T2 as a layer: heads of rank r whose weights are any functions of K_h^T X and y, N = 2.

For orthonormal points x = (x_1 - x_2)/sqrt2 is uniform on the sphere. Head h outputs
(1/H) sum_i phi_{h,i} x_i with weights (1 +- H psi_h(K_h^T x, y))/2, so the layer is
(z + x sum_h psi_h)/sqrt2 and its error 1/2 E|sign<x,y> - sum_h psi_h|^2. The best psi is the
projection of sign<.,y> to the sum of the spaces of functions of K_h^T x, degree by degree.
The degree-l part of such a space is spanned by the P_l(<k,.>) with k in the range of K_h, which
are functions of K_h^T x themselves; in it the projection of
sign<.,y> has the coefficients lambda_l N(d,l) G^+ (P_l(<k,y>))_k with G = (P_l(<k,k'>)).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from boundcheck.attention import attend
from boundcheck.backend import Array, array_namespace
from boundcheck.block_plan import DEFAULT_MEMORY_CAP
from boundcheck.capacity import ridge_dimension
from boundcheck.constructions.seeds import (
    Seed,
    dimension,
    head_count,
    head_rank,
    heads_generator,
    seed_number,
)
from boundcheck.errors import InputError
from boundcheck.frames import unit_rows
from boundcheck.harmonics import energy, harmonic_dimension, sign_coefficient
from boundcheck.problem import whole_number
from boundcheck.sampling import haar_subspaces

FloatArray = NDArray[np.float64]

#: For r > 1, directions for each dimension of a head's space: with just as many random ones
#: as dimensions G may have condition 10^8, with twice as many 10^3 (r <= 6, l <= 7).
_DIRECTIONS_PER_DIMENSION = 2
#: Eigenvalues of G below this, relative to the largest, are zero.
_NEGLIGIBLE = 1e-10
#: Numbers of a block of samples times directions.
_BLOCK = 2**21


@dataclass(frozen=True, eq=False)
class ArbitraryScoreLayer:
    """The best scalar heads with given key maps K_h and degrees up to ``degree`` (T2).

    Make it with `arbitrary_score_layer`.

    Parameters
    ----------
    K : ndarray (H, d, r)
    directions : ndarray (H, M, d)
        Unit vectors in the range of K_h.
    coefficients : dict
        For each odd degree l, lambda_l N(d,l) G^+ for the first directions of
        every head, in the order of the heads, and how many of each head those are.
    dimensions : dict
        For each odd degree l, the dimension of the sum of the heads' spaces.
    """

    K: FloatArray
    directions: FloatArray
    coefficients: dict[int, tuple[int, FloatArray]]
    dimensions: dict[int, int]
    statement: str = "T2"

    @property
    def d(self) -> int:
        """The dimension of points and queries."""
        return int(self.K.shape[1])

    @property
    def heads(self) -> int:
        """H."""
        return int(self.K.shape[0])

    @property
    def rank(self) -> int:
        """r."""
        return int(self.K.shape[2])

    @cached_property
    def error(self) -> float:
        """1/2 (1 - sum_l E_l dimension_l / N(d,l)), exact but for the last rounding."""
        d = self.d
        captured = (
            float(energy(d, l)) * (dimension / harmonic_dimension(d, l))
            for l, dimension in self.dimensions.items()
        )
        return 0.5 * (1 - math.fsum(captured))

    def weights(self, X: Array, y: Array) -> Array:
        """The weights phi_{h,i}, which sum to 1 over i; any real numbers.

        Parameters
        ----------
        X : array (batch, 2, d)
            Orthonormal points.
        y : array (batch, d)
            Queries on the sphere.

        Returns
        -------
        array (batch, H, 2)
        """
        xp = array_namespace(X, y)
        x = (X[:, 0, :] - X[:, 1, :]) / math.sqrt(2)
        odd = self.heads * self._odd_parts(x, y)
        return xp.stack([(1 + odd) / 2, (1 - odd) / 2], axis=2)

    def apply(self, X: Array, y: Array) -> Array:
        """The layer's output (batch, d) at X (batch, 2, d) and y (batch, d).

        Raises
        ------
        InputError
            If the shapes do not fit.
        """
        xp = array_namespace(X, y)
        if X.ndim != 3 or X.shape[1:] != (2, self.d) or y.shape != (X.shape[0], self.d):
            raise InputError(
                "X, y",
                f"shapes {tuple(X.shape)} and {tuple(y.shape)}",
                f"(batch, 2, {self.d}) and (batch, {self.d})",
            )
        values = xp.full(self.heads, 1 / self.heads, dtype=X.dtype)
        out = xp.empty_like(y)
        size = max(1, _BLOCK // (self.directions.shape[0] * self.directions.shape[1]))
        for start in range(0, X.shape[0], size):
            rows = slice(start, min(start + size, X.shape[0]))
            points = X[rows, ...]
            out[rows, :] = attend(self.weights(points, y[rows, :]), points, values)
        return out

    def _odd_parts(self, x: Array, y: Array) -> Array:
        """psi_h(K_h^T x, y), shape (batch, H)."""
        xp = array_namespace(x, y)
        H, M, d = self.directions.shape
        across = xp.asarray(np.reshape(self.directions, (H * M, d)).T, dtype=x.dtype)
        total = xp.zeros((x.shape[0], H), dtype=x.dtype)
        top = max(self.coefficients)
        pairs = zip(_legendre(d, x @ across, top), _legendre(d, y @ across, top), strict=True)
        for l, (of_x, of_y) in enumerate(pairs, start=1):
            if l % 2 == 0:
                continue
            used, matrix = self.coefficients[l]
            of_x, of_y = (xp.reshape(of, (-1, H, M))[:, :, :used] for of in (of_x, of_y))
            along = xp.reshape(of_y, (-1, H * used)) @ xp.asarray(matrix, dtype=x.dtype)
            total = total + xp.sum(of_x * xp.reshape(along, (-1, H, used)), axis=2)
        return total


def arbitrary_score_layer(
    K: FloatArray, *, degree: int = 7, memory_cap: int = DEFAULT_MEMORY_CAP
) -> ArbitraryScoreLayer:
    """The best heads of the scalar class with these key maps and degrees up to ``degree`` (T2).

    Parameters
    ----------
    K : ndarray (H, d, r)
        Of rank r each; only their ranges matter.
    degree : int
        The largest degree used, odd.
    memory_cap : int
        Bytes that the arrays made here may take together.

    Raises
    ------
    InputError
        If K is not such an array, the degree is even, or the cap is too small.

    Examples
    --------
    >>> K = np.eye(3)[None, :, :1]
    >>> f"{arbitrary_score_layer(K).error:.5f}"
    '0.36447'
    """
    K = np.asarray(K, dtype=np.float64)
    if K.ndim != 3 or not 1 <= K.shape[2] <= K.shape[1] or len(K) < 1 or not np.isfinite(K).all():
        raise InputError("K", f"shape {K.shape}", "a finite array (heads, d, r), r at most d")
    degree = whole_number(degree, "degree", "an odd number from 1", 1)
    if degree % 2 == 0:
        raise InputError("degree", degree, "an odd number from 1")
    H, d, r = K.shape
    count = _directions_used(r, degree)
    needed = 8 * 6 * (H * count) ** 2
    if needed > memory_cap:
        raise InputError("memory-cap", memory_cap, f"at least {needed} bytes for {H} heads")
    bases, triangles = np.linalg.qr(K)
    diagonals = np.abs(np.diagonal(triangles, axis1=1, axis2=2))
    if (diagonals.min(axis=1) <= 1e-12 * diagonals.max(axis=1)).any():
        raise InputError("K", "a head of lower rank", f"heads of rank {r}")
    # Any directions in general position do; the same ones for all heads.
    inside = heads_generator(0).standard_normal((count, r))
    directions = np.einsum("mr,hdr->hmd", unit_rows(inside), bases)
    coefficients, dimensions = {}, {}
    for l in range(1, degree + 1, 2):
        used = _directions_used(r, l)
        k = directions[:, :used].reshape(H * used, d)
        *_, gram = _legendre(d, k @ k.T, l)
        eigenvalues, vectors = np.linalg.eigh(gram)
        kept = eigenvalues > _NEGLIGIBLE * eigenvalues[-1]
        scaled = vectors[:, kept] / np.sqrt(eigenvalues[kept])
        factor = float(sign_coefficient(d, l)) * harmonic_dimension(d, l)
        coefficients[l] = used, factor * (scaled @ scaled.T)
        dimensions[l] = int(np.count_nonzero(kept))
    return ArbitraryScoreLayer(K, directions, coefficients, dimensions)


def arbitrary_score_heads(
    d: int,
    r: int,
    heads: int,
    seed: Seed,
    *,
    degree: int = 7,
    memory_cap: int = DEFAULT_MEMORY_CAP,
) -> ArbitraryScoreLayer:
    """`arbitrary_score_layer` for Haar random key maps of rank r.

    For r = 1 every generic choice gives the same error, close above T2's infimum.

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    heads : int
        H >= 1.
    seed : int or numpy.random.Generator
    degree, memory_cap : int
        As in `arbitrary_score_layer`.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> layer = arbitrary_score_heads(4, 1, 2, seed=0, degree=41)
    >>> f"{layer.error:.4f}"  # T2's infimum is .31057
    '0.3106'
    """
    d, heads = dimension(d), head_count(heads)
    K = haar_subspaces(seed_number(seed), heads, d, head_rank(r, d))
    return arbitrary_score_layer(K, degree=degree, memory_cap=memory_cap)


def _directions_used(r: int, degree: int) -> int:
    return 1 if r == 1 else _DIRECTIONS_PER_DIMENSION * ridge_dimension(r, degree)


def _legendre(d: int, t: Array, degree: int) -> Iterator[Array]:
    """P_1(t), ..., P_degree(t) in dimension d."""
    previous, current = 1.0, t
    for l in range(1, degree + 1):
        yield current
        previous, current = (
            current,
            ((2 * l + d - 2) * t * current - l * previous) / (l + d - 2),
        )
