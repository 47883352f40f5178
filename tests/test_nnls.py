"""Non-negative least squares against scipy and against its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from boundcheck.nnls import nonnegative_least_squares


def _problem(seed: int, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    matrix = generator.standard_normal((rows, columns))
    return matrix, generator.standard_normal(rows)


shapes = st.tuples(st.integers(0, 10**6), st.integers(1, 12), st.integers(1, 30))


@given(shapes)
@settings(max_examples=60, deadline=None)
def test_reaches_the_norm_that_scipy_reaches(shape: tuple[int, int, int]) -> None:
    matrix, target = _problem(*shape)
    x = nonnegative_least_squares(matrix, target)
    # Independent implementation of the same problem.
    assert np.linalg.norm(matrix @ x - target) == pytest.approx(nnls(matrix, target)[1], abs=1e-12)


@given(shapes)
@settings(max_examples=60, deadline=None)
def test_is_optimal(shape: tuple[int, int, int]) -> None:
    # Karush-Kuhn-Tucker: x >= 0, no column slopes downhill, used ones are flat.
    matrix, target = _problem(*shape)
    x = nonnegative_least_squares(matrix, target)
    slope = matrix.T @ (target - matrix @ x)
    assert (x >= 0).all()
    assert slope.max() < 1e-11
    assert np.abs(slope[x > 0]).max(initial=0.0) < 1e-11


@given(shapes, st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_start_does_not_change_the_answer(shape: tuple[int, int, int], seed: int) -> None:
    matrix, target = _problem(*shape)
    columns = matrix.shape[1]
    start = np.maximum(0.0, np.random.default_rng(seed).standard_normal(columns))
    cold = nonnegative_least_squares(matrix, target)
    warm = nonnegative_least_squares(matrix, target, start)
    assert np.linalg.norm(matrix @ warm - target) == pytest.approx(
        np.linalg.norm(matrix @ cold - target), abs=1e-12
    )


def test_a_start_at_the_answer_gives_the_same_bits() -> None:
    matrix, target = _problem(3, 10, 40)
    cold = nonnegative_least_squares(matrix, target)
    assert (nonnegative_least_squares(matrix, target, cold) == cold).all()


def test_columns_may_differ_by_twenty_orders_of_magnitude() -> None:
    matrix, target = _problem(5, 8, 20)
    scale = 10.0 ** np.random.default_rng(6).uniform(-10, 10, 20)
    plain = nonnegative_least_squares(matrix, target)
    np.testing.assert_allclose(
        nonnegative_least_squares(matrix * scale, target) * scale, plain, atol=1e-12
    )


def test_equal_and_zero_columns() -> None:
    matrix = np.array([[1.0, 1.0, 0.0, 1.0], [2.0, 2.0, 0.0, 2.0]])
    x = nonnegative_least_squares(matrix, np.array([3.0, 6.0]), np.ones(4))
    np.testing.assert_allclose(matrix @ x, [3.0, 6.0])
    assert x[2] == 0
    assert np.count_nonzero(x) == 1


def test_weights_that_cancel_to_eight_digits() -> None:
    # Columns that differ by 1e-8 need weights of 1e8 to meet the target. The
    # second unknown is then exactly what the difference calls for.
    matrix = np.array([[1.0, -1.0], [1.0, -1.0 + 1e-8]])
    x = nonnegative_least_squares(matrix, np.array([1.0, 2.0]))
    np.testing.assert_allclose(x, [1e8 + 1, 1e8], rtol=1e-7)


def test_nothing_helps() -> None:
    assert (nonnegative_least_squares(np.eye(3), -np.ones(3)) == 0).all()
