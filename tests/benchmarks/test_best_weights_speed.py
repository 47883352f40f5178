"""How long the best weights of 8192 heads take, in units of one Cholesky factorisation.

`pytest tests/benchmarks -m slow -s` prints the figures.
"""

from __future__ import annotations

import time

import numpy as np
import pytest
from scipy.linalg import cho_factor

from boundcheck.constructions.best_weights import best_weights


@pytest.mark.slow
def test_best_weights_take_less_than_three_factorisations() -> None:
    d, heads = 30, 8192
    rng = np.random.default_rng(0)
    Q, K = rng.normal(size=(2, heads, d))
    small = np.eye(512) + 0.1
    cho_factor(small)  # imports and threads start before the clock
    factorisation, weights = [], []
    # In turns, so that both see the same machine; the best of each.
    for _ in range(2):
        matrix = np.full((heads, heads), 0.5, order="F")
        np.fill_diagonal(matrix, 2.0)
        start = time.perf_counter()
        cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
        factorisation.append(time.perf_counter() - start)
        del matrix
        start = time.perf_counter()
        best_weights(Q, K)
        weights.append(time.perf_counter() - start)
    ratio = min(weights) / min(factorisation)
    print(
        f"\nbest weights, H = {heads}, d = {d}: {min(weights):.1f} s, "
        f"one factorisation {min(factorisation):.1f} s, ratio {ratio:.2f}"
    )
    assert ratio < 3
