"""Softmax heads of rank r with the best values, N = 2, from a sample.

For two points phi_1 - phi_2 = tanh(<Q_h^T y, K_h^T x> / sqrt2 times the inverse
temperature); with the latter sqrt2, s_h = tanh <Q_h^T y, K_h^T x>. Turning x round turns
s_h and the target's sign, so every sample has <x,y> >= 0 and the target x.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from boundcheck.attack.best_values import best_matrices, best_scalars
from boundcheck.attack.objective import FloatArray, Parameters
from boundcheck.attack.sampled import SampledObjective
from boundcheck.layer import slices
from boundcheck.network import Layer, Network

#: Samples of the first objective, numbers they may take with many heads, and how many
#: times more the finer objective has.
_SAMPLES = 2**13
_FIRST_NUMBERS = 2**20
_FINER = 8
#: Samples for each unknown of the normal equations, at least.
_LEAST_RATIO = 16
#: Numbers of an array with a row for each sample.
_NUMBERS = 2**21


class Softmax(SampledObjective):
    """Softmax heads of rank r with the best scalars, or the best matrices.

    Examples
    --------
    >>> from boundcheck.sampling import SampleStream
    >>> objective = Softmax(8, 8, 1, False, SampleStream(0, 8))
    >>> K = math.sqrt(10 / math.sqrt(2)) * np.eye(8)[None]
    >>> error, _ = objective.error_and_gradient((K, K))
    >>> abs(error - 0.0531) < 0.003  # U2 at beta = 10 with the best scalar
    True
    """

    def error_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """The error with the best values, and its derivatives by Q and K."""
        Q, K = parameters
        scores = [_Scores(Q, K, x, y) for x, y in self._blocks]
        error, values = self._solved(scores)
        by_Q, by_K = np.zeros_like(Q), np.zeros_like(K)
        for part in scores:
            by_s = part.gradient_by_s(values) / self.samples
            for total, term in zip((by_Q, by_K), part.gradient(by_s), strict=True):
                total += term
        return error, (by_Q, by_K)

    def heads(self, parameters: Parameters) -> Network:
        """The heads with the values that are best on the sample."""
        Q, K = parameters
        _, values = self._solved([_Scores(Q, K, x, y) for x, y in self._blocks])
        layer = Layer(Q=Q, K=K, values=values, scores="softmax", inverse_temperature=math.sqrt(2))
        return Network(layers=(layer,), d=self.d, points=2)

    @property
    def samples(self) -> int:
        """How large the sample is."""
        count = max(min(_SAMPLES, _FIRST_NUMBERS // self._width), _LEAST_RATIO * self.unknowns)
        return count * (_FINER if self.fine else 1)

    @property
    def _width(self) -> int:
        """Numbers of one sample in the largest array."""
        return self.heads_wanted * max(self.r, self.d if self.matrices else 1)

    @cached_property
    def _blocks(self) -> list[tuple[FloatArray, FloatArray]]:
        """x and y, in blocks whose arrays stay small."""
        X, y = self.stream.take(0, self.samples)
        x = (X[:, 0, :] - X[:, 1, :]) / math.sqrt(2)
        x *= np.where(np.sum(x * y, axis=1) < 0, -1.0, 1.0)[:, None]
        at_once = max(1, _NUMBERS // self._width)
        return [(x[rows], y[rows]) for rows in slices(len(y), at_once)]

    def _solved(self, scores: list[_Scores]) -> tuple[float, FloatArray]:
        H, d, n = self.heads_wanted, self.d, self.samples
        if not self.matrices:
            C = sum((part.s.T @ part.s for part in scores), start=np.zeros((H, H)))
            b = sum((part.s.sum(axis=0) for part in scores), start=np.zeros(H))
            return best_scalars(C / n, b / n)
        S, B = np.zeros((H * d, H * d)), np.zeros((H * d, d))
        for part in scores:
            features = part.features
            S += features.T @ features
            B += features.T @ part.x
        return best_matrices(S.reshape(H, d, H, d) / n, B.reshape(H, d, d) / n)


class _Scores:
    """s_h of every sample (n, H)."""

    def __init__(self, Q: FloatArray, K: FloatArray, x: FloatArray, y: FloatArray) -> None:
        self._Q, self._K, self.x, self._y = Q, K, x, y
        self._of_y, self._of_x = (_along(A, B) for A, B in ((y, Q), (x, K)))
        self.s = np.tanh(np.sum(self._of_y * self._of_x, axis=2))

    @property
    def features(self) -> FloatArray:
        """s_h x, (n, H d)."""
        products: FloatArray = self.s[:, :, None] * self.x[:, None, :]
        return products.reshape(len(products), -1)

    def gradient_by_s(self, values: FloatArray) -> FloatArray:
        """The derivatives of 1/2 |x - sum s_h V_h x|^2, sample by sample, (n, H)."""
        if values.ndim == 1:
            return np.outer(self.s @ values - 1, values)
        H, d, _ = values.shape
        rest = self.x - self.features @ values.transpose(0, 2, 1).reshape(H * d, d)
        moved = np.asarray(_along(self.x, values.transpose(0, 2, 1)))
        return np.asarray(-np.einsum("nhd,nd->nh", moved, rest))

    def gradient(self, by_s: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives by Q and K, from those by s."""
        by_scores = (by_s * (1 - self.s**2))[:, :, None]
        H, d, r = self._Q.shape
        by_Q = self._y.T @ (by_scores * self._of_x).reshape(-1, H * r)
        by_K = self.x.T @ (by_scores * self._of_y).reshape(-1, H * r)
        return by_Q.reshape(d, H, r).transpose(1, 0, 2), by_K.reshape(d, H, r).transpose(1, 0, 2)


def _along(A: FloatArray, maps: FloatArray) -> FloatArray:
    """<a_n, column r of map h>, (n, H, r)."""
    H, d, r = maps.shape
    return np.asarray((A @ maps.transpose(1, 0, 2).reshape(d, H * r)).reshape(-1, H, r))
