"""Quadrature against closed forms in mpmath, none of which the code under test uses."""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from flint import arb
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mpmath import mpf
from scipy import integrate

from boundcheck.balls import working_precision
from boundcheck.quadrature import (
    COARSE,
    FINE,
    Array,
    Panels,
    beta_expectation,
    beta_rule,
    density_scale,
    gamma_ratio,
    graded_edges,
    sphere_expectation,
)
from boundcheck.values import Numeric

DIMENSIONS = st.one_of(st.integers(2, 40), st.sampled_from([64, 1000, 4097, 10**6]))


def check(found: Numeric, truth: mpf, *, relative: float) -> None:
    """The truth lies within the error estimate, and the estimate is of some use."""
    assert abs(mpf(found.value) - truth) <= found.error_estimate
    assert found.error_estimate <= relative * abs(truth)


@given(DIMENSIONS, st.floats(0.0, 9.0))
@settings(max_examples=60, deadline=None)
def test_absolute_moments(D: int, power: float) -> None:
    # E|t|^p = Gamma(D/2) Gamma((p+1)/2) / (sqrt(pi) Gamma((D+p)/2)); a fractional power is
    # singular at 0 and needs the fine scale.
    with mpmath.workdps(50):
        half = mpf(D) / 2
        truth = mpmath.gammaprod([half, mpf(power + 1) / 2], [mpf(1) / 2, half + mpf(power) / 2])
        found = sphere_expectation(lambda t: np.abs(t) ** power, D)
        check(found, truth, relative=1e-7)


@pytest.mark.parametrize("D", [2, 3, 4, 5, 64, 1000, 10**6])
def test_moments_by_name(D: int) -> None:
    # E|t| = 2 c_D/(D-1), E t^2 = 1/D, E|t|^3 = 4 c_D/(D^2-1): section 1.
    with mpmath.workdps(40):
        c = mpmath.gammaprod([mpf(D) / 2], [mpf(1) / 2, mpf(D - 1) / 2])
        check(sphere_expectation(np.abs, D), 2 * c / (D - 1), relative=1e-12)
        check(sphere_expectation(np.square, D), mpf(1) / D, relative=1e-12)
        cubes = sphere_expectation(lambda t: np.abs(t) ** 3, D)
        check(cubes, 4 * c / (mpf(D) ** 2 - 1), relative=1e-12)


@given(st.one_of(st.integers(2, 40), st.sampled_from([64, 1000])), st.floats(-8.0, 2.0))
@example(1000, -8.0)
@settings(max_examples=40, deadline=None)
def test_narrow_integrands_are_not_lost(D: int, log_width: float) -> None:
    # E exp(-t^2/s^2) = 1F1(1/2; D/2; -1/s^2), in balls since mpmath's series is slow here.
    width = 10.0**log_width / math.sqrt(D)
    bits, ball = 200, arb("nan")
    while not ball.rel_accuracy_bits() > 100:
        bits *= 2
        with working_precision(bits):
            ball = (-1 / arb(width) ** 2).hypgeom_1f1(arb(0.5), arb(D) / 2)
    with working_precision(200), mpmath.workdps(40):
        truth = mpf(ball.str(30, radius=False))
        found = sphere_expectation(lambda t: np.exp(-((t / width) ** 2)), D, scale=width)
        check(found, truth, relative=1e-10)


@pytest.mark.parametrize("D", [10**4, 10**6])
@pytest.mark.parametrize("relative_width", [1e-9, 1e-4, 0.3, 1.0, 10.0])
def test_narrow_integrands_in_high_dimension(D: int, relative_width: float) -> None:
    # The same mean by mpmath's quadrature, with its own normalisation.
    width = relative_width / math.sqrt(D)
    with mpmath.workdps(30):
        end = 14 / mpmath.sqrt(D)
        places = [mpf(0), *sorted(min(end, k * mpf(width)) for k in (1, 3, 9)), end]

        def density(t: mpf) -> mpf:
            return mpmath.exp(mpf(D - 3) / 2 * mpmath.log1p(-t * t))

        whole = mpmath.quad(density, [0, end / 6, end / 2, end])
        truth = mpmath.quad(lambda t: mpmath.exp(-((t / width) ** 2)) * density(t), places) / whole
        found = sphere_expectation(lambda t: np.exp(-((t / width) ** 2)), D, scale=width)
        check(found, truth, relative=1e-10)


def test_an_integrand_narrower_than_the_default_scale_is_still_seen() -> None:
    # The default resolves 2^-24 of the width, 5e-7 / sqrt(D), without a hint.
    with mpmath.workdps(40):
        truth = mpmath.hyp1f1(mpf(1) / 2, mpf(5000) / 2, -(mpf(10) ** 16))
        check(sphere_expectation(lambda t: np.exp(-((1e8 * t) ** 2)), 5000), truth, relative=1e-9)


@pytest.mark.parametrize("D", [3, 8, 1000])
@pytest.mark.parametrize("kink", [0.3, -0.9])
def test_kinks_away_from_zero(D: int, kink: float) -> None:
    # E|t - tau| / tail probabilities by scipy's quadrature, split at the kink.
    place = kink / math.sqrt(D)
    found = sphere_expectation(lambda t: np.abs(t - place), D, kinks=[place])

    def density(t: float) -> float:
        return float((1 - t * t) ** ((D - 3) / 2))

    end = min(1.0, 12 / math.sqrt(D))

    def split(f: Callable[[float], float]) -> float:
        parts = [(-end, place), (place, end)]
        return sum(integrate.quad(f, *part, epsabs=0, epsrel=1e-12, limit=200)[0] for part in parts)

    truth = split(lambda t: abs(t - place) * density(t)) / split(density)
    assert found.value == pytest.approx(truth, rel=1e-11)
    assert found.error_estimate < 1e-12


@pytest.mark.parametrize("D", [3, 8, 64, 1000])
def test_an_undeclared_kink_shows_in_the_estimate(D: int) -> None:
    tau = 0.37 / math.sqrt(D)

    def positive_part(t: Array) -> Array:
        y: Array = np.maximum(0.0, t - tau)
        return y

    declared = sphere_expectation(positive_part, D, kinks=[tau])
    undeclared = sphere_expectation(positive_part, D)
    assert declared.error_estimate < 1e-12
    assert undeclared.error_estimate > 1e3 * declared.error_estimate


@given(
    st.one_of(st.floats(0.5, 40.0), st.sampled_from([0.5, 1e3, 1e6])),
    st.one_of(st.floats(0.5, 40.0), st.sampled_from([0.5, 1e3, 1e6])),
    st.floats(0.0, 4.0),
)
@settings(max_examples=60, deadline=None)
def test_beta_moments(a: float, b: float, power: float) -> None:
    # E B^p = B(a + p, b) / B(a, b).
    with mpmath.workdps(50):
        p, q, s = mpf(a), mpf(b), mpf(power)
        truth = mpmath.gammaprod([p + s, p + q], [p, p + q + s])
        check(beta_expectation(lambda B: B**power, a, b), truth, relative=1e-5)


@given(st.floats(0.5, 30.0), st.floats(0.5, 30.0), st.floats(1e-4, 1e4))
@settings(max_examples=40, deadline=None)
def test_beta_with_a_nearby_pole(a: float, b: float, size: float) -> None:
    # E 1/(1 + s B) = 2F1(1, a; a+b; -s).
    with mpmath.workdps(40):
        truth = mpmath.hyp2f1(1, mpf(a), mpf(a) + mpf(b), -mpf(size))
        found = beta_expectation(lambda B: 1 / (1 + size * B), a, b)
        check(found, truth, relative=1e-6)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.5, 3e5), (30.0, 2.5), (4e5, 4e5)])
def test_beta_rule_weights_are_a_law_at_both_levels(a: float, b: float) -> None:
    fine, coarse = beta_rule(a, b, FINE), beta_rule(a, b, COARSE)
    assert len(coarse[0]) < len(fine[0]) < 800
    for logits, weights in (fine, coarse):
        assert np.all(np.diff(logits) > 0)
        assert weights.sum() == pytest.approx(1, abs=1e-14)
        # E B = a / (a + b).
        assert weights @ (1 / (1 + np.exp(-logits))) == pytest.approx(a / (a + b), rel=1e-9)


@given(st.floats(0.5, 1e15))
@example(59.999)
@example(60.0)
@settings(max_examples=80, deadline=None)
def test_gamma_ratio(x: float) -> None:
    with mpmath.workdps(60):
        truth = mpmath.exp(mpmath.loggamma(mpf(x) + 0.5) - mpmath.loggamma(mpf(x)))
        assert abs(gamma_ratio(x) / truth - 1) < 5e-15


def test_density_scale_against_the_exact_constant() -> None:
    from boundcheck.harmonics import density_constant

    for D in (2, 3, 4, 7, 64, 121, 122, 1000):
        assert density_scale(D) == pytest.approx(float(density_constant(D)), rel=5e-15)


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=6), st.integers(0, 9))
def test_antiderivative_of_a_polynomial_is_exact(widths: list[float], power: int) -> None:
    edges = np.concatenate([[0.0], np.cumsum(widths)])
    panels = Panels.of(edges, 14)
    at_nodes, at_edges = panels.antiderivative(panels.nodes**power)
    np.testing.assert_allclose(
        at_nodes, panels.nodes ** (power + 1) / (power + 1), rtol=1e-11, atol=1e-15
    )
    np.testing.assert_allclose(at_edges, edges ** (power + 1) / (power + 1), rtol=1e-11, atol=1e-15)


def test_graded_edges_halve_towards_a_centre() -> None:
    edges = graded_edges(0.0, 1.0, (0.0,), 0.1)
    np.testing.assert_array_equal(edges, [0, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 1])


def test_shared_nodes_are_not_to_be_written_to() -> None:
    from boundcheck.quadrature import gauss_legendre

    for shared in gauss_legendre(20):
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 0.0
