"""T2's layer: its exact error against infima and samples, and what its weights may see."""

from __future__ import annotations

import math
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundcheck.bounds.arbitrary_scores import arbitrary_scores_error_infimum
from boundcheck.bounds.lower import T1
from boundcheck.capacity import ridge_dimension
from boundcheck.constructions.arbitrary_scores import (
    ArbitraryScoreLayer,
    arbitrary_score_heads,
    arbitrary_score_layer,
)
from boundcheck.errors import InputError
from boundcheck.harmonics import harmonic_dimension
from boundcheck.problem import Problem
from boundcheck.sampling import SampleStream, haar_subspaces
from boundcheck.targets import nearest_neighbor


def sampled_error(layer: ArbitraryScoreLayer, samples: int) -> tuple[float, float]:
    X, y = SampleStream(0, layer.d).take(0, samples)
    difference = layer.apply(X, y) - nearest_neighbor(X, y)
    squares = np.vecdot(difference, difference)
    return float(squares.mean()), float(squares.std()) / math.sqrt(samples)


def test_theory_value_with_seven_degrees() -> None:
    assert f"{arbitrary_score_heads(3, 1, 1, 0).error:.5f}" == "0.36447"


@pytest.mark.parametrize(
    ("d", "infima"), [(3, (0.36338, 0.22676, 0.09014)), (4, (0.40529, 0.31057, 0.21585))]
)
def test_infima_are_approached(d: int, infima: tuple[float, ...]) -> None:
    # THEORY's infima, +-1 in their last digit; the degrees above 151 hold less than 1e-5.
    for heads, infimum in enumerate(infima, start=1):
        error = arbitrary_score_heads(d, 1, heads, 3, degree=151).error
        assert infimum - 1e-5 < error < infimum + 2e-5


@pytest.mark.parametrize(("d", "heads"), [(3, 2), (5, 8), (8, 40)])
def test_rank_one_error_is_above_the_lower_bound(d: int, heads: int) -> None:
    # T1 for scalar heads is exact for r = 1: more degrees come closer, never below.
    problem = Problem.of(d, 1, head_class="scalar")
    bound = T1().error(problem, heads)
    errors = [arbitrary_score_heads(d, 1, heads, 1, degree=l).error for l in (1, 3, 7, 15, 31)]
    assert sorted(errors, reverse=True) == errors
    assert float(bound.lo) <= errors[-1] < errors[0]
    assert errors[-1] == pytest.approx(
        float(arbitrary_scores_error_infimum(d, 1, heads).hi), abs=2e-3
    )


@pytest.mark.parametrize(
    ("d", "r", "heads", "degree"),
    [(2, 1, 1, 7), (3, 1, 1, 7), (4, 1, 3, 21), (8, 2, 3, 5), (6, 3, 2, 7), (4, 4, 1, 5)],
)
def test_error_is_what_samples_show(d: int, r: int, heads: int, degree: int) -> None:
    layer = arbitrary_score_heads(d, r, heads, 0, degree=degree)
    mean, std_error = sampled_error(layer, 50_000)
    assert abs(mean - layer.error) < 6 * std_error < 0.03


@pytest.mark.parametrize(("d", "r", "heads"), [(8, 2, 3), (8, 4, 2), (6, 3, 4), (5, 5, 1)])
def test_dimensions_of_generic_heads(d: int, r: int, heads: int) -> None:
    # THEORY: min(N, H m_r) in all tested cases with 2r <= d; at r = d one head has all.
    layer = arbitrary_score_heads(d, r, heads, 0)
    assert layer.dimensions == {
        l: min(heads * ridge_dimension(r, l), harmonic_dimension(d, l)) for l in (1, 3, 5, 7)
    }


def test_repeated_heads_add_nothing() -> None:
    K = haar_subspaces(0, 2, 6, 2)
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    more = arbitrary_score_layer(np.concatenate([K, 3 * K @ turn]))
    assert more.dimensions == arbitrary_score_layer(K).dimensions


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 7), st.data())
def test_weights_see_the_points_through_the_key_maps(d: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, d - 1))
    layer = arbitrary_score_heads(d, r, 2, data.draw(st.integers(0, 2**32)), degree=3)
    X, y = SampleStream(1, d).take(0, 20)
    # A rotation of the points that keeps K_0^T x_i: turn the complement of its range round.
    U = np.linalg.qr(layer.K[0])[0]
    turned = X @ (2 * U @ U.T - np.eye(d))
    assert np.allclose(turned @ U, X @ U)
    before, after = layer.weights(X, y), layer.weights(turned, y)
    assert np.allclose(before[:, 0], after[:, 0], atol=1e-9)
    assert not np.allclose(before[:, 1], after[:, 1], atol=1e-3)


def test_output_is_the_sum_of_the_heads() -> None:
    layer = arbitrary_score_heads(5, 2, 3, 0)
    X, y = SampleStream(0, 5).take(0, 100)
    weights = layer.weights(X, y)
    assert weights.shape == (100, 3, 2)
    assert np.allclose(weights.sum(axis=2), 1)
    assert np.allclose(layer.apply(X, y), np.einsum("bhn,bnd->bd", weights, X) / 3)


def test_permuted_points_permute_the_weights() -> None:
    layer = arbitrary_score_heads(5, 2, 3, 0)
    X, y = SampleStream(0, 5).take(0, 100)
    swapped = layer.weights(X[:, ::-1], y)
    assert np.allclose(swapped[:, :, ::-1], layer.weights(X, y))


def test_other_libraries_and_precision() -> None:
    layer = arbitrary_score_heads(4, 1, 3, 0)
    X, y = SampleStream(0, 4).take(0, 100)
    expected = layer.apply(X, y)
    strict = layer.apply(array_api_strict.asarray(X), array_api_strict.asarray(y))
    assert np.allclose(np.asarray(strict), expected, atol=1e-13)
    single = layer.apply(X.astype(np.float32), y.astype(np.float32))
    assert single.dtype == np.float32
    assert np.allclose(single, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("K", "options", "message"),
    [
        (np.ones((2, 3)), {}, "K: got 'shape"),
        (np.ones((2, 3, 4)), {}, "K: got 'shape"),
        (np.full((1, 3, 1), np.nan), {}, "K: got 'shape"),
        (np.ones((1, 3, 2)), {}, "K: got 'a head of lower rank'"),
        (np.zeros((1, 3, 1)), {}, "K: got 'a head of lower rank'"),
        (np.ones((1, 3, 1)), {"degree": 4}, "degree: got 4"),
        (np.eye(3)[None], {"memory_cap": 1000}, "memory-cap: got 1000"),
    ],
)
def test_bad_key_maps(K: Any, options: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        arbitrary_score_layer(K, **options)


def test_bad_samples() -> None:
    layer = arbitrary_score_heads(4, 1, 1, 0)
    with pytest.raises(InputError, match="X, y: got 'shapes"):
        layer.apply(np.ones((5, 3, 4)), np.ones((5, 4)))
