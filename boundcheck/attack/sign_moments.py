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
    d = k.shape[2]
    moments = np.zeros((k.shape[1], d, k.shape[1], d))
    for vectors, size in ((pairs.sums, pairs.sine), (pairs.differences, -pairs.sine)):
        # One product of matrices for each pair of heads.
        scaled = (weights * size)[..., None] * vectors
        moments += np.matmul(scaled.transpose(1, 2, 3, 0), vectors.transpose(1, 2, 0, 3)).transpose(
            0, 2, 1, 3
        )
    moments += np.sum(weights * pairs.angles, axis=0)[:, None, :, None] * np.eye(d)[:, None, :]
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
    scale = 2 / (math.pi * k.shape[2])
    # By c the bracket has the derivative tr - (u.u + w.w) over the sine, and by k, with
    # c fixed, |w| into u - |u| into w.
    of_sums, of_differences = (
        np.matmul(vectors.transpose(1, 2, 0, 3), into).transpose(2, 0, 1, 3)
        for vectors in (pairs.sums, pairs.differences)
    )
    sums = np.sum(of_sums * pairs.sums, axis=3)
    differences = np.sum(of_differences * pairs.differences, axis=3)
    trace = np.trace(into, axis1=2, axis2=3)
    by_weights = scale * (pairs.angles * trace + pairs.sine * (sums - differences))
    by_c = 2 * weights * pairs.slopes * (trace - sums - differences)
    by_k = by_c @ k
    straight = pairs.apart * (
        pairs.difference_lengths[..., None] * of_sums
        - pairs.sum_lengths[..., None] * of_differences
    )
    by_k += 2 * np.einsum("nhg,nhga->nha", weights, straight)
    return scale * by_k, by_weights


class _Pairs:
    """k_h + k_g and k_h - k_g as unit vectors u, w (n, H, H, d) and their lengths.

    In them the bracket is arcsin(c) I + sqrt(1-c^2) (u u^T - w w^T), which loses no
    digits where c is near +-1.
    """

    def __init__(self, k: FloatArray) -> None:
        sums = k[:, :, None] + k[:, None]
        differences = k[:, :, None] - k[:, None]
        self.sum_lengths, self.difference_lengths = (
            np.linalg.norm(A, axis=3) for A in (sums, differences)
        )
        shorter = np.minimum(self.sum_lengths, self.difference_lengths)
        self.apart = (shorter > _TOGETHER)[..., None]
        self.sums, self.differences = (
            np.where(self.apart, A / np.where(self.apart, lengths[..., None], 1.0), 0.0)
            for A, lengths in (
                (sums, self.sum_lengths),
                (differences, self.difference_lengths),
            )
        )
        self.angles = math.pi / 2 - 2 * np.arctan2(self.difference_lengths, self.sum_lengths)
        self.sine = self.sum_lengths * self.difference_lengths / 2
        apart = self.apart[..., 0]
        self.slopes = np.where(apart, 1 / np.where(apart, self.sine, 1.0), 0.0)


def across(by_k: FloatArray, k: FloatArray) -> FloatArray:
    """The part of by_k (..., d) across the unit rows k."""
    tangential: FloatArray = by_k - np.sum(by_k * k, axis=-1, keepdims=True) * k
    return tangential
