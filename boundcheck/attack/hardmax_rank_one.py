"""Rank-one hardmax heads with the best values: the exact error and its gradient, N = 2.

Scalar values by K1 and K2; matrices V_h by the moments of `sign_moments` and
`rank_one_moments`, of which K1 and K2 are the traces. At the best values the derivatives
by Q and K are those at fixed values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from boundcheck.attack.best_values import best_matrices
from boundcheck.attack.objective import FloatArray, Parameters, random_maps
from boundcheck.attack.rank_one_moments import target_moments, target_moments_gradient
from boundcheck.attack.sign_moments import (
    across,
    correlations,
    sign_moments,
    sign_moments_gradient,
)
from boundcheck.constructions.best_weights import best_weights
from boundcheck.constructions.rank_one_error import rank_one_error_and_gradient, unit_heads
from boundcheck.network import Layer, Network


@dataclass(frozen=True)
class _HardmaxRankOne:
    """Heads (q_h, k_h) whose error is known in closed form."""

    d: int
    heads_wanted: int

    exact = True

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Q and K (H, d)."""
        return ((self.heads_wanted, self.d),) * 2

    def start(self, rng: np.random.Generator) -> Parameters:
        """Uniform directions, every other time with each k_h near q_h."""
        return _random_directions(rng, self.shapes[0])

    def finer(self) -> None:
        """None."""


class ScalarHardmaxRankOne(_HardmaxRankOne):
    """Hardmax heads (q_h, k_h) with the best scalars a_h (K1, K2).

    Examples
    --------
    >>> objective = ScalarHardmaxRankOne(2, 1)
    >>> q = np.array([[1.0, 0.0]])
    >>> round(objective.error_and_gradient((q, q))[0], 12)
    0.4375
    """

    def error_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """The error with the best values, and its derivatives by Q and K."""
        Q, K = parameters
        error, by_Q, by_K, _ = rank_one_error_and_gradient(Q, K, best_weights(Q, K))
        return error, (by_Q, by_K)

    def error_estimate(self, parameters: Parameters) -> float:
        """1e-13 times the squared sum of |a|, at least."""
        return 1e-13 * (1 + float(np.abs(best_weights(*parameters)).sum())) ** 2

    def heads(self, parameters: Parameters) -> Network:
        """The heads with their best values."""
        Q, K = unit_heads(*parameters)
        layer = Layer(Q=Q[:, :, None], K=K[:, :, None], values=best_weights(Q, K))
        return Network(layers=(layer,), d=self.d, points=2)

    def simpler(self) -> None:
        """None."""


class MatrixHardmaxRankOne(_HardmaxRankOne):
    """Hardmax heads (q_h, k_h) with the best matrices V_h.

    Examples
    --------
    One head does better with a matrix than with a scalar, at d = 2 too:

    >>> objective = MatrixHardmaxRankOne(2, 1)
    >>> q = np.array([[1.0, 0.0]])
    >>> objective.error_and_gradient((q, q))[0] < 0.4375
    True
    """

    def error_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """The error with the best values, and its derivatives by Q and K."""
        q, k = unit_heads(*parameters)
        weights, error, V = self._solved(q, k)
        into = _pair_matrices(V)
        by_k, by_weights = sign_moments_gradient(k[None], weights, into / 2)
        # The weights are (2/pi) arcsin <q_h, q_g>.
        _, slopes = correlations(q[None])
        by_q = (4 / math.pi) * (by_weights * slopes)[0] @ q
        symmetric = (V + V.transpose(0, 2, 1)) / 2
        target_by_q, target_by_k = target_moments_gradient(q, k, symmetric)
        gradient = []
        for A, unit, by in (
            (parameters[0], q, by_q - target_by_q),
            (parameters[1], k, by_k[0] - target_by_k),
        ):
            lengths = np.linalg.norm(A, axis=1, keepdims=True)
            gradient.append(across(by, unit) / lengths)
        return error, tuple(gradient)

    def error_estimate(self, parameters: Parameters) -> float:
        """1e-12 times the squared sum of |V_h|, at least: moments are extended near q = +-k."""
        _, _, V = self._solved(*unit_heads(*parameters))
        return 1e-12 * (1 + float(np.linalg.norm(V, 2, axis=(1, 2)).sum())) ** 2

    def heads(self, parameters: Parameters) -> Network:
        """The heads with their best values."""
        Q, K = unit_heads(*parameters)
        layer = Layer(Q=Q[:, :, None], K=K[:, :, None], values=self._solved(Q, K)[2])
        return Network(layers=(layer,), d=self.d, points=2)

    def simpler(self) -> None:
        """None."""

    def _solved(self, q: FloatArray, k: FloatArray) -> tuple[FloatArray, float, FloatArray]:
        """E sign<q_h,y> sign<q_g,y>, the error and V."""
        weights = (2 / math.pi) * correlations(q[None])[0]
        error, V = best_matrices(sign_moments(k[None], weights), target_moments(q, k))
        return weights, error, V


def _random_directions(rng: np.random.Generator, shape: tuple[int, ...]) -> Parameters:
    Q, K = random_maps(rng, shape)
    # Few heads are best with k_h = q_h, many are not: from K apart, three heads in the
    # plane mostly end in a worse minimum.
    return Q, K if rng.random() < 0.5 else Q + 0.3 * K


def _pair_matrices(V: FloatArray) -> FloatArray:
    """The symmetric parts of V_h^T V_g, (H, H, d, d)."""
    products = np.einsum("hca,gcb->hgab", V, V)
    return np.asarray((products + products.transpose(0, 1, 3, 2)) / 2)
