"""The nearest neighbour, against a plain loop and against its mean in closed form."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from boundcheck.backend import on_host
from boundcheck.errors import InputError
from boundcheck.harmonics import density_constant
from boundcheck.sampling import SampleStream
from boundcheck.targets import nearest_neighbor


def small_integers(seed: int, *shape: int) -> NDArray[np.float64]:
    """Few values, so that ties are common and inner products are exact."""
    return np.random.default_rng(seed).integers(-2, 3, shape).astype(np.float64)


def by_loop(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    chosen = []
    for points, query in zip(X, y, strict=True):
        scores = [float(point @ query) for point in points]
        chosen.append(points[scores.index(max(scores))])  # index: the first maximum
    return np.stack(chosen)


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 10**6))
def test_it_is_the_first_of_the_best_points(N: int, d: int, seed: int) -> None:
    X, y = small_integers(seed, 8, N, d), small_integers(seed + 1, 8, d)
    expected = by_loop(X, y)
    assert (nearest_neighbor(X, y) == expected).all()
    strict = nearest_neighbor(array_api_strict.asarray(X), array_api_strict.asarray(y))
    assert strict.__array_namespace__() is array_api_strict
    assert (on_host(strict) == expected).all()


@given(st.permutations(range(5)), st.integers(0, 10**6))
def test_the_order_of_the_points_does_not_matter(order: list[int], seed: int) -> None:
    X, y = SampleStream(seed, 7, points=5, law="iid").take(0, 16)
    assert (nearest_neighbor(X[:, order], y) == nearest_neighbor(X, y)).all()


@pytest.mark.parametrize("N", [2, 3, 9])
def test_equal_points_tie(N: int) -> None:
    # Rows that are equal get equal scores whatever the arithmetic; the index shows in
    # a coordinate that the query ignores.
    X = np.broadcast_to(np.random.default_rng(0).standard_normal((200, 1, 65)), (200, N, 65)).copy()
    X[:, :, 0] = np.arange(N)
    y = np.random.default_rng(1).standard_normal((200, 65))
    y[:, 0] = 0
    assert (nearest_neighbor(X, y)[:, 0] == 0).all()


def test_float32_stays_float32() -> None:
    for points in (2, 3):
        X, y = SampleStream(0, 4, points=points, dtype="float32").take(0, 3)
        assert nearest_neighbor(X, y).dtype == np.float32


@pytest.mark.parametrize("law", ["orthonormal", "iid"])
def test_the_mean_score_of_the_nearest_of_two(law: Any) -> None:
    # max(a, b) = (a+b)/2 + |a-b|/2 has mean E|<x1-x2,y>|/2. Given |x1-x2| this is
    # |x1-x2| E|t| / 2 with E|t| = 2 c_d/(d-1); frames have |x1-x2| = sqrt 2. At d = 3,
    # <x1,x2> is uniform on [-1,1], so E|x1-x2| = E sqrt(2-2u) = 4/3.
    n, d = 40_000, 3
    X, y = SampleStream(20, d, law=law).take(0, n)
    scores = (on_host(nearest_neighbor(X, y)) * y).sum(axis=1)
    mean_t = 2 * float(density_constant(d)) / (d - 1)
    length = np.sqrt(2) if law == "orthonormal" else 4 / 3
    expected = length * mean_t / 2
    error = scores.std(ddof=1) / np.sqrt(n)
    assert abs(scores.mean() - expected) < 6 * error
    # The two laws differ by more than that.
    assert abs(scores.mean() - (np.sqrt(2) + 4 / 3 - length) * mean_t / 2) > 6 * error


@pytest.mark.parametrize(
    ("X", "y"), [((3, 2, 4), (3, 5)), ((3, 2, 4), (2, 4)), ((3, 4), (3, 4)), ((3, 0, 4), (3, 4))]
)
def test_shapes_that_do_not_fit_are_refused(X: tuple[int, ...], y: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="X, y: got"):
        nearest_neighbor(np.zeros(X), np.zeros(y))


def test_mixed_libraries_are_refused() -> None:
    with pytest.raises(InputError, match="numpy and array_api_strict"):
        nearest_neighbor(np.zeros((1, 2, 3)), array_api_strict.zeros((1, 3)))
