"""E sign<k,x> sign<k',x> x x^T for x uniform on the sphere, and its derivatives.

With k, k' of length 1 and c = <k,k'> it is

    (2 / (pi d)) [arcsin(c) I + (k k'^T + k' k^T - c k k^T - c k' k'^T) / sqrt(1 - c^2)],

by Gaussian integration by parts; at c = +-1 the second term vanishes. Its trace is K1.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

#: Closer to each other or to opposite than this, vectors count as one line: there is a kink.
_TOGETHER = 1e-9
#: Above this |<k,k'>| the angle is computed from the chord: arcsin would lose digits.
_NEAR = 1 - 1e-4


def correlations(k: FloatArray) -> tuple[FloatArray, FloatArray]:
    """arcsin c and its derivative 1/sqrt(1-c^2), each (n, H, H), for unit rows k (n, H, d).

    Where two vectors coincide or are opposite the second is 0: terms with a kink there
    are left out of derivatives.

    Examples
    --------
    >>> angles, slopes = correlations(np.array([[[1.0, 0.0], [0.6, 0.8]]]))
    >>> slopes.round(12)
    array([[[0.  , 1.25],
            [1.25, 0.  ]]])
    """
    c = np.clip(k @ k.transpose(0, 2, 1), -1.0, 1.0)
    angles = np.arcsin(c)
    n, h, g = np.nonzero(np.abs(c) > _NEAR)
    side = np.sign(c[n, h, g])
    chord = np.linalg.norm(k[n, h] - side[:, None] * k[n, g], axis=1)
    angles[n, h, g] = side * (math.pi / 2 - 2 * np.arcsin(np.minimum(1.0, chord / 2)))
    cosines = np.cos(angles)
    apart = cosines > _TOGETHER
    return angles, np.where(apart, 1 / np.where(apart, cosines, 1.0), 0.0)


def sign_moments(k: FloatArray, weights: FloatArray) -> FloatArray:
    """sum_n weights E sign<k_h,x> sign<k_g,x> x x^T, of shape (H, d, H, d).

    Parameters
    ----------
    k : ndarray (n, H, d)
        Unit rows.
    weights : ndarray (n, H, H)
        Symmetric in the heads.

    Examples
    --------
    >>> S = sign_moments(np.array([[[1.0, 0.0], [0.0, 1.0]]]), np.ones((1, 2, 2)))
    >>> S[0, :, 1, :].round(4)  # E |x_1 x_2| on the circle is 1/pi
    array([[0.    , 0.3183],
           [0.3183, 0.    ]])
    """
    pairs = _Pairs(k)
    H, d = k.shape[1:]
    w = pairs.of(weights)
    ridge = np.sum(w * pairs.angles, axis=1)[:, None, None] * np.eye(d)
    for vectors, sizes in ((pairs.sums, w * pairs.sine), (pairs.differences, -w * pairs.sine)):
        ridge += np.matmul((sizes[:, :, None] * vectors).transpose(0, 2, 1), vectors)
    moments = np.zeros((H, d, H, d))
    moments[pairs.first, :, pairs.second, :] = ridge
    moments[pairs.second, :, pairs.first, :] = ridge
    both = np.arange(H)
    alone = math.pi / 2 * np.sum(weights[:, both, both], axis=0)
    moments[both, :, both, :] = alone[:, None, None] * np.eye(d)
    return np.asarray(moments * (2 / (math.pi * d)))


def sign_moments_gradient(
    k: FloatArray, weights: FloatArray, into: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The derivatives of sum_hg tr(into_hg sign_moments_hg).

    Parameters
    ----------
    k, weights
        As in `sign_moments`.
    into : ndarray (H, H, d, d)
        Symmetric matrices, into_hg = into_gh.

    Returns
    -------
    by_k : ndarray (n, H, d)
        Only its part across each k is the derivative.
    by_weights : ndarray (n, H, H)
    """
    pairs = _Pairs(k)
    H, d = k.shape[1:]
    scale = 2 / (math.pi * d)
    w, pair_into = pairs.of(weights), into[pairs.first, pairs.second]
    of_sums = np.matmul(pairs.sums, pair_into)
    of_differences = np.matmul(pairs.differences, pair_into)
    sums = np.sum(of_sums * pairs.sums, axis=2)
    differences = np.sum(of_differences * pairs.differences, axis=2)
    trace = np.trace(pair_into, axis1=1, axis2=2)[:, None]
    by_weights = np.empty_like(weights)
    by_pair_weights = (pairs.angles * trace + pairs.sine * (sums - differences)).T
    by_weights[:, pairs.first, pairs.second] = by_pair_weights
    by_weights[:, pairs.second, pairs.first] = by_pair_weights
    both = np.arange(H)
    by_weights[:, both, both] = math.pi / 2 * np.trace(into[both, both], axis1=1, axis2=2)
    # By c the bracket has the derivative tr - (u.u + w.w) over the sine, and by k, with
    # c fixed, |w| into u - |u| into w; by k' the sign of w is the other one.
    by_c = np.zeros_like(weights)
    by_c[:, pairs.first, pairs.second] = (w * pairs.slopes * (trace - sums - differences)).T
    by_k = (by_c + by_c.transpose(0, 2, 1)) @ k
    of_sums *= (w * pairs.apart * pairs.difference_lengths)[:, :, None]
    of_differences *= (w * pairs.apart * pairs.sum_lengths)[:, :, None]
    start = 0
    for h in range(H):
        rows = slice(start, start + H - 1 - h)
        by_k[:, h] += np.sum(of_sums[rows] - of_differences[rows], axis=0)
        by_k[:, h + 1 :] += (of_sums[rows] + of_differences[rows]).transpose(1, 0, 2)
        start = rows.stop
    return 2 * scale * by_k, scale * by_weights


class _Pairs:
    """k_h + k_g and k_h - k_g, h < g, as unit vectors u, w (pairs, n, d) and their lengths.

    In them the bracket is arcsin(c) I + sqrt(1-c^2) (u u^T - w w^T), which loses no
    digits where c is near +-1. Pairs are in the order of their first head.
    """

    def __init__(self, k: FloatArray) -> None:
        self.first, self.second = np.triu_indices(k.shape[1], 1)
        one, other = (k.transpose(1, 0, 2)[heads] for heads in (self.first, self.second))
        self.sums, self.sum_lengths = _units(one + other)
        self.differences, self.difference_lengths = _units(one - other)
        self.apart = np.minimum(self.sum_lengths, self.difference_lengths) > _TOGETHER
        self.angles = math.pi / 2 - 2 * np.arctan2(self.difference_lengths, self.sum_lengths)
        self.sine = self.sum_lengths * self.difference_lengths / 2
        self.slopes = np.where(self.apart, 1 / np.where(self.apart, self.sine, 1.0), 0.0)

    def of(self, weights: FloatArray) -> FloatArray:
        """The weights (n, H, H) as an array (pairs, n)."""
        return np.ascontiguousarray(weights[:, self.first, self.second].T)


def _units(A: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Rows of length 1, and the lengths; rows that are nearly 0 become 0."""
    lengths = np.sqrt(np.einsum("...d,...d->...", A, A))
    kept = lengths > _TOGETHER
    A *= np.where(kept, 1 / np.where(kept, lengths, 1.0), 0.0)[..., None]
    return A, lengths


def across(by_k: FloatArray, k: FloatArray) -> FloatArray:
    """The part of by_k (..., d) across the unit rows k."""
    tangential: FloatArray = by_k - np.sum(by_k * k, axis=-1, keepdims=True) * k
    return tangential
