"""U1 and U2 against mpmath quadrature, the asymptotic constant and sampled heads."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mpf

from boundcheck.bounds.full_rank import (
    U1,
    U2,
    full_rank_softmax_error,
    inverse_temperature_for,
    sufficient_inverse_temperature,
)
from boundcheck.problem import Problem
from boundcheck.values import Enclosure


def mean(d: int, scale: float, g: Callable[[mpf], mpf]) -> mpf:
    """E g(|t|), g varying on ``scale``, by mpmath's own nodes and its own density."""
    end = min(mpf(1), 12 / mpmath.sqrt(d))
    places = sorted({mpf(0), end, *(min(end, k * mpf(scale)) for k in (1, 3, 10, 40))})
    weight = mpmath.quad(lambda t: (1 - t * t) ** (mpf(d - 3) / 2), [0, end / 4, end])
    return mpmath.quad(lambda t: g(t) * (1 - t * t) ** (mpf(d - 3) / 2), places) / weight


def test_theory_values() -> None:
    # THEORY, U2.
    assert full_rank_softmax_error(8, 10.0).value == pytest.approx(0.05508, abs=1e-5)
    best = full_rank_softmax_error(8, 10.0, best_value=True)
    assert best.value == pytest.approx(0.0531, abs=1e-4)


@pytest.mark.parametrize(("d", "beta"), [(3, 0.5), (3, 300.0), (8, 10.0), (64, 20.0), (5000, 1e4)])
def test_errors_by_mpmath(d: int, beta: float) -> None:
    with mpmath.workdps(25):
        scale, root = 1 / beta, mpmath.sqrt(2)
        plain = 2 * mean(d, scale, lambda t: (1 + mpmath.exp(beta * root * t)) ** -2)
        found = full_rank_softmax_error(d, beta)
        assert abs(found.value - plain) <= found.error_estimate + 1e-15
        assert found.error_estimate < 1e-12 * found.value
        # THEORY's form of the best value, which cancels in floats: 1 - (1+A)^2 / (2(1+B)).
        a = mean(d, scale, lambda t: mpmath.tanh(beta * t / root))
        b = mean(d, scale, lambda t: mpmath.tanh(beta * t / root) ** 2)
        best = full_rank_softmax_error(d, beta, best_value=True)
        assert abs(best.value - (1 - (1 + a) ** 2 / (2 * (1 + b)))) <= best.error_estimate + 1e-15
        assert best.error_estimate < 1e-11 * best.value


@pytest.mark.parametrize("d", [3, 64, 10**6])
@pytest.mark.parametrize("beta", [1e9, 1e15, 1e200])
def test_large_inverse_temperatures(d: int, beta: float) -> None:
    # 4 c_d (ln2 - 1/2) / (sqrt2 beta) (THEORY): the integrand is very narrow here.
    with mpmath.workdps(40):
        c = mpmath.gammaprod([mpf(d) / 2], [mpf(1) / 2, mpf(d - 1) / 2])
        limit = 4 * c * (mpmath.log(2) - 0.5) / (mpmath.sqrt(2) * beta)
        assert abs(full_rank_softmax_error(d, beta).value / limit - 1) < 1e-11


@given(st.sampled_from([3, 5, 64, 4000, 10**6]), st.floats(-2.0, 8.0), st.floats(0.1, 2.0))
@settings(max_examples=40, deadline=None)
def test_error_falls_with_the_inverse_temperature(d: int, magnitude: float, more: float) -> None:
    beta = 10**magnitude
    low, high = full_rank_softmax_error(d, beta), full_rank_softmax_error(d, beta * (1 + more))
    assert 0 < high.value < low.value < 0.5
    best = full_rank_softmax_error(d, beta, best_value=True)
    assert 0 < best.value <= low.value + best.error_estimate


@pytest.mark.parametrize("best_value", [False, True])
def test_error_of_a_sampled_head(best_value: bool) -> None:
    # The head itself on sampled points: sum_i softmax(beta <x_i, y>) a x_i against the nearer x_i.
    d, beta, count = 6, 4.0, 200_000
    rng = np.random.default_rng(11)
    y = rng.normal(size=(count, d))
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    scores = y[:, :2]  # x_1, x_2 = e_1, e_2: the law of y is invariant
    weights = np.exp(beta * scores)
    weights /= weights.sum(axis=1, keepdims=True)
    truth = np.eye(2)[np.argmax(scores, axis=1)]
    a = 1.0
    if best_value:
        a = float(np.sum(weights * truth) / np.sum(weights**2))
    errors = np.sum((a * weights - truth) ** 2, axis=1)
    found = full_rank_softmax_error(d, beta, best_value=best_value)
    assert abs(errors.mean() - found.value) < 6 * errors.std() / math.sqrt(count)


@given(
    st.sampled_from([3, 4, 8, 64, 1000, 10**6]),
    st.fractions(Fraction(1, 10**8), Fraction(49, 100), max_denominator=10**9),
)
@settings(max_examples=30, deadline=None)
def test_inverse_temperature_reaches_eps_and_little_more(d: int, eps: Fraction) -> None:
    beta = inverse_temperature_for(d, eps)
    at, before = full_rank_softmax_error(d, beta), full_rank_softmax_error(d, beta * (1 - 1e-5))
    assert at.value + at.error_estimate <= eps
    assert before.value > eps
    assert beta <= float(sufficient_inverse_temperature(d, eps))


@pytest.mark.parametrize("d", [3, 64, 10**6])
def test_sufficient_inverse_temperature_suffices(d: int) -> None:
    for eps in (Fraction(2, 5), Fraction(1, 50), Fraction(1, 10**12)):
        beta = float(sufficient_inverse_temperature(d, eps))
        found = full_rank_softmax_error(d, beta)
        assert found.value + found.error_estimate <= eps


def test_full_rank_hardmax_is_exact() -> None:
    bound, problem = U1(), Problem.of(64, 4, "0.1")
    assert bound.why_not(problem) is None
    assert (bound.heads(problem).heads, bound.rank(problem)) == (1, 64)
    assert bound.error(problem, 1) == Enclosure(Fraction(0), Fraction(0))
    assert bound.error(problem, 0) == Enclosure(Fraction(1), Fraction(1))


def test_full_rank_softmax_names_its_inverse_temperature() -> None:
    bound, problem = U2(), Problem.of(64, 4, "0.1")
    count = bound.heads(problem)
    assert (count.heads, bound.rank(problem)) == (1, 64)
    assert count.reason is not None
    beta = float(count.reason.split("=")[1])
    # Rounded up, so the printed one reaches eps too.
    assert (
        full_rank_softmax_error(64, beta).value
        <= 0.1
        < full_rank_softmax_error(64, beta - 0.02).value
    )
    found = bound.error(problem, 1)
    assert found.value + found.error_estimate <= problem.target_eps
    assert bound.error(problem, 0).value == 1


def test_full_rank_softmax_needs_eps_for_its_error() -> None:
    assert U2().why_not(Problem.of(64, 4)) is not None
    assert U2().why_not(Problem.of(64, 4, "0.1")) is None


def test_eps_below_every_float() -> None:
    bound, problem = U2(), Problem.of(64, 4, "1e-400")
    count = bound.heads(problem)
    assert count.heads == 1
    assert count.reason is not None
    assert count.reason.endswith("E+400")
    assert bound.error(problem, 1).value > 0
    with pytest.raises(OverflowError):
        inverse_temperature_for(64, problem.target_eps)
