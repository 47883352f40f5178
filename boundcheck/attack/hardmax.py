"""Hardmax heads of rank r >= 2 with the best values, N = 2, from a sample of queries.

For a given y head h compares <k_h, x> with 0, k_h = K_h Q_h^T y. So the mean over x is exact,
by `sign_moments`, and smooth in Q and K; only the mean over y is a sample's. (For r = 1
the direction of k_h does not depend on q_h but for its sign, and nothing could be learned
of q_h.)
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from boundcheck.attack.best_values import best_matrices, best_scalars
from boundcheck.attack.objective import FloatArray, Parameters
from boundcheck.attack.sampled import SampledObjective
from boundcheck.attack.sign_moments import (
    across,
    correlations,
    sign_moments,
    sign_moments_gradient,
)
from boundcheck.layer import slices
from boundcheck.network import Layer, Network

#: Queries of the first objective, numbers they may take with many heads, and how many
#: times more the finer objective has.
_QUERIES = 2**11
_FIRST_NUMBERS = 2**19
_FINER = 8
#: Queries for each unknown of the normal equations, at least; every query stands for all x.
_LEAST_RATIO = 4
#: Numbers of an array with a row for each query.
_NUMBERS = 2**21


class Hardmax(SampledObjective):
    """Hardmax heads of rank r >= 2 with the best scalars, or the best matrices.

    Examples
    --------
    U1 has no error:

    >>> from boundcheck.sampling import SampleStream
    >>> objective = Hardmax(3, 3, 1, False, SampleStream(0, 3))
    >>> K = np.eye(3)[None]
    >>> abs(objective.error_and_gradient((K, K))[0]) < 1e-12
    True
    """

    def error_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """The error with the best values, and its derivatives by Q and K."""
        Q, K = parameters
        directions = [_Directions(Q, K, y) for y in self._blocks]
        if self.matrices:
            error, V = self._best_matrices(directions)
            by_units = [self._matrix_gradient(part.units, V) for part in directions]
        else:
            error, a = self._best_scalars(directions)
            by_units = [self._scalar_gradient(part.units, a) for part in directions]
        by_Q, by_K = np.zeros_like(Q), np.zeros_like(K)
        for part, by in zip(directions, by_units, strict=True):
            for total, term in zip((by_Q, by_K), part.gradient(by / self.queries), strict=True):
                total += term
        return error, (by_Q, by_K)

    def heads(self, parameters: Parameters) -> Network:
        """The heads with the values that are best on the sample."""
        Q, K = parameters
        directions = [_Directions(Q, K, y) for y in self._blocks]
        best = self._best_matrices if self.matrices else self._best_scalars
        layer = Layer(Q=Q, K=K, values=best(directions)[1])
        return Network(layers=(layer,), d=self.d, points=2)

    @property
    def queries(self) -> int:
        """How many queries the sample has."""
        fitting = _FIRST_NUMBERS // (self.heads_wanted * self.d)
        count = max(min(_QUERIES, fitting), _LEAST_RATIO * self.unknowns)
        return count * (_FINER if self.fine else 1)

    @cached_property
    def _blocks(self) -> list[FloatArray]:
        """The sample, in blocks whose arrays stay small."""
        H = self.heads_wanted + 1
        at_once = max(1, _NUMBERS // (H * H * (self.d if self.matrices else 1) + H * self.d))
        _, y = self.stream.take(0, self.queries)
        return [y[rows] for rows in slices(len(y), at_once)]

    def _best_scalars(self, directions: list[_Directions]) -> tuple[float, FloatArray]:
        H = self.heads_wanted
        total = np.zeros((H + 1, H + 1))
        for part in directions:
            total += correlations(part.units)[0].sum(axis=0)
        total *= 2 / (math.pi * self.queries)
        return best_scalars(total[:H, :H], total[:H, H])

    def _scalar_gradient(self, units: FloatArray, a: FloatArray) -> FloatArray:
        # The query counts as one more head, of value -1.
        with_query = np.append(a, -1.0)
        _, slopes = correlations(units)
        by: FloatArray = (2 / math.pi) * (slopes * np.outer(with_query, with_query)) @ units
        return by

    def _best_matrices(self, directions: list[_Directions]) -> tuple[float, FloatArray]:
        H, d = self.heads_wanted, self.d
        moments = np.zeros((H + 1, d, H + 1, d))
        for part in directions:
            weights = np.full((len(part.units), H + 1, H + 1), 1 / self.queries)
            moments += sign_moments(part.units, weights)
        return best_matrices(moments[:H, :, :H, :], moments[:H, :, H, :])

    def _matrix_gradient(self, units: FloatArray, V: FloatArray) -> FloatArray:
        with_query = np.concatenate([V, -np.eye(self.d)[None]])
        into = np.einsum("hca,gcb->hgab", with_query, with_query)
        into = (into + into.transpose(0, 1, 3, 2)) / 4
        weights = np.ones((len(units), len(into), len(into)))
        return sign_moments_gradient(units, weights, into)[0]


class _Directions:
    """k_h(y) of every head and y itself as unit vectors (n, H + 1, d)."""

    def __init__(self, Q: FloatArray, K: FloatArray, y: FloatArray) -> None:
        self._Q, self._K, self._y = Q, K, y
        self._along = np.einsum("nd,hdr->nhr", y, Q, optimize=True)
        k = np.einsum("nhr,hdr->nhd", self._along, K, optimize=True)
        self._lengths = np.linalg.norm(k, axis=2, keepdims=True)
        self.units = np.concatenate([k / self._lengths, y[:, None, :]], axis=1)

    def gradient(self, by_units: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The derivatives by Q and K, from those by the unit vectors."""
        k = self.units[:, :-1]
        by_k = across(by_units[:, :-1], k) / self._lengths
        by_along = np.einsum("nhd,hdr->nhr", by_k, self._K, optimize=True)
        return (
            np.einsum("nd,nhr->hdr", self._y, by_along, optimize=True),
            np.einsum("nhd,nhr->hdr", by_k, self._along, optimize=True),
        )
