"""U3: the error formula, the measure that minimises it, and the least count."""

from __future__ import annotations

from fractions import Fraction
from math import asin, pi

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import nnls
from scipy.special import eval_gegenbauer

from boundcheck.bounds.base import MAX_HEADS
from boundcheck.bounds.best_measure import _system, best_measure
from boundcheck.bounds.random_heads import (
    U3,
    random_heads_error_curve,
    random_heads_error_upper_bound,
    random_heads_measure,
)
from boundcheck.bounds.zonal_measure import zonal_measure
from boundcheck.harmonics import energy, harmonic_dimension, sign_coefficient
from boundcheck.problem import Problem

# THEORY.md's values are rounded to nearest, +-1 in the last digit.
THEORY = [
    (30, 64, 0.3478),
    (30, 1024, 0.2005),
    (30, 4096, 0.1853),
    (64, 256, 0.3009),
    (64, 4096, 0.1924),
    (64, 2**27, 0.1433),
    (8, 1024, 0.1756),
]


@pytest.mark.parametrize(("d", "heads", "value"), THEORY)
def test_known_values(d: int, heads: int, value: float) -> None:
    error = random_heads_error_upper_bound(d, heads)
    assert float(error.hi) == pytest.approx(value, abs=1.01e-4)
    assert float(error.width) < 1e-8


def _legendre(d: int, t: Fraction, last: int) -> list[Fraction]:
    values = [Fraction(1), t]
    for l in range(1, last):
        values.append(((2 * l + d - 2) * t * values[l] - l * values[l - 1]) / (l + d - 2))
    return values


@pytest.mark.parametrize(
    ("d", "atoms"),
    [
        (5, {Fraction(1): Fraction(3)}),
        (5, {Fraction(1, 2): Fraction(4), Fraction(3, 4): Fraction(-7, 2)}),
        (7, {Fraction(1, 4): Fraction(9), Fraction(1): Fraction(2)}),
    ],
)
def test_the_formula_against_exact_rationals(d: int, atoms: dict[Fraction, Fraction]) -> None:
    # For odd d everything is rational. Degrees to 301 here, fewer in the code:
    # what this sum leaves out is enclosed by E_l (1 -+ |lambda_l| A)^2 again.
    last = 301
    variation = sum(abs(w) for w in atoms.values())
    legendre = {t: _legendre(d, t, last) for t in atoms}
    bias, captured, known = Fraction(0), Fraction(0), Fraction(0)
    for l in range(1, last + 1, 2):
        E, lam = energy(d, l).coefficient, sign_coefficient(d, l).coefficient
        moment = sum(w * legendre[t][l] for t, w in atoms.items())
        bias += E * (1 - lam * moment) ** 2
        captured += E * (lam * moment) ** 2
        known += E
    slack = abs(sign_coefficient(d, last + 2).coefficient) * variation
    measure = zonal_measure(d, [float(t) for t in atoms], [float(w) for w in atoms.values()])
    assert measure.variation == variation
    assert measure.bias.lo <= bias + (1 - known) * (1 + slack) ** 2
    assert measure.bias.hi >= bias + (1 - known) * (1 - slack) ** 2
    assert measure.bias.width < Fraction(1, 1000)
    assert measure.sampling.lo <= variation**2 - captured
    assert measure.sampling.hi >= variation**2 - captured - (1 - known) * slack**2


@pytest.mark.parametrize("d", [3, 4, 16, 64])
def test_equal_queries_and_keys_against_quadrature(d: int) -> None:
    # All mass at t = 1, by K1: with kappa(s) = (2/pi) arcsin s the mean of the
    # layer over its draw, b = E|kappa| and m = E kappa^2.
    density = quad(lambda u: (1 - u * u) ** ((d - 3) / 2), 0, 1)[0]

    def mean(power: int) -> float:
        def integrand(u: float) -> float:
            return float((2 / pi * asin(u)) ** power * (1 - u * u) ** ((d - 3) / 2))

        return float(quad(integrand, 0, 1, epsabs=1e-12)[0]) / density

    b, m = mean(1), mean(2)
    weight, heads = 2.5, 40
    expected = (1 - 2 * weight * b + weight**2 * (m + (1 - m) / heads)) / 2
    error = zonal_measure(d, [1.0], [weight]).error(heads)
    assert float(error.lo) - 1e-9 <= expected <= float(error.hi) + 1e-9
    assert float(error.width) < 1e-4


def test_sampled_layers_have_the_expected_error() -> None:
    # Layers drawn as the formula says. Their error is a quadratic form of
    # arcsines (K1); its linear part is K2's series, by scipy's Gegenbauer.
    d, heads, draws = 8, 48, 300
    measure = zonal_measure(d, [0.4, 1.0], [-1.5, 3.0])
    generator = np.random.default_rng(20240716)
    nodes, weights = np.array(measure.nodes), np.array(measure.weights)
    variation = np.abs(weights).sum()
    degrees = np.arange(1, 120, 2)
    third = np.array(
        [float(sign_coefficient(d, int(l))) ** 3 * harmonic_dimension(d, int(l)) for l in degrees]
    )

    def pair_value(t: float) -> float:
        alpha = d / 2 - 1
        legendre = eval_gegenbauer(degrees, alpha, t) / eval_gegenbauer(degrees, alpha, 1.0)
        return float(third @ legendre)

    by_node = np.array([pair_value(float(t)) for t in nodes])
    errors = []
    for _ in range(draws):
        chosen = generator.choice(len(nodes), heads, p=np.abs(weights) / variation)
        q = generator.standard_normal((heads, d))
        q /= np.linalg.norm(q, axis=1, keepdims=True)
        side = generator.standard_normal((heads, d))
        side -= (side * q).sum(1, keepdims=True) * q
        side /= np.linalg.norm(side, axis=1, keepdims=True)
        t = nodes[chosen, np.newaxis]
        k = t * q + np.sqrt(1 - t * t) * side
        a = np.sign(weights[chosen]) * variation / heads
        cosines = np.clip(q @ q.T, -1, 1), np.clip(k @ k.T, -1, 1)
        form = (2 / pi) ** 2 * np.arcsin(cosines[0]) * np.arcsin(cosines[1])
        np.fill_diagonal(form, 1.0)
        errors.append((1 - 2 * a @ by_node[chosen] + a @ form @ a) / 2)
    standard_error = np.std(errors) / draws**0.5
    assert np.mean(errors) == pytest.approx(float(measure.error(heads).hi), abs=4 * standard_error)
    assert standard_error < 0.01


@pytest.mark.parametrize(("d", "heads"), [(3, 10**6), (8, 4096), (64, 2**27), (1000, 10**17)])
def test_the_measure_is_the_best_on_its_grid(d: int, heads: int) -> None:
    # The same rows, solved by scipy.
    matrix, target = _system(d).rows(heads)
    lengths = np.linalg.norm(matrix, axis=0)
    atoms = nnls(matrix / lengths, target, maxiter=10**5)[0] / lengths
    half = len(atoms) // 2
    weights = atoms[:half] - atoms[half:]
    used = np.flatnonzero(weights)
    nodes = (used + 1) / half
    theirs = zonal_measure(d, nodes.tolist(), weights[used].tolist()).error(heads)
    ours = best_measure(d, heads).error(heads)
    assert ours.hi <= theirs.hi + Fraction(1, 10**13)


@pytest.mark.parametrize("d", [3, 8, 64])
def test_one_head_has_the_best_single_angle(d: int) -> None:
    ours = random_heads_error_upper_bound(d, 1).hi
    for place in range(1, 200, 22):
        t = place / 200
        for weight in (0.1, 0.3, 0.6):
            assert ours <= zonal_measure(d, [t], [weight]).error(1).hi


def test_best_angles_beat_equal_queries_and_keys() -> None:
    # THEORY.md, U3r at r = 1.
    assert float(random_heads_error_upper_bound(64, 1024).hi) <= 0.2227


@given(st.integers(3, 2000), st.integers(1, MAX_HEADS), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_the_error_never_rises_with_the_count(d: int, heads: int, more: int) -> None:
    errors = random_heads_error_curve(d, [heads, heads + more, 2 * (heads + more)])
    assert errors[0].hi >= errors[1].hi >= errors[2].hi


@given(
    st.integers(3, 300),
    st.fractions(Fraction(1, 10), Fraction(49, 100), max_denominator=1000),
)
@settings(max_examples=30, deadline=None)
def test_the_count_is_the_least(d: int, eps: Fraction) -> None:
    bound, problem = U3(), Problem.of(d, 1, eps)
    count = bound.heads(problem)
    if count.heads is None:
        assert bound.error(problem, MAX_HEADS).hi > eps
    else:
        assert bound.error(problem, count.heads).hi <= eps
        assert bound.error(problem, count.heads - 1).hi > eps


def test_few_heads() -> None:
    # No head: E|f|^2 = 1. The mean of the points: 1 - 1/N.
    bound, problem = U3(), Problem.of(16, 4)
    assert [bound.error(problem, heads).hi for heads in (0, 1, 2)] == [1, Fraction(1, 2), 0.5]
    assert bound.error(problem, 3).hi < Fraction(1, 2)
    assert bound.rank(problem) == 1
    assert bound.why_not(problem) is None


def test_out_of_reach() -> None:
    count = U3().heads(Problem.of(64, 4, "0.01"))
    assert count.heads is None
    assert count.reason is not None
    assert "not reached" in count.reason


def test_the_count_does_not_depend_on_what_was_asked_before() -> None:
    from boundcheck.bounds import best_measure as solver
    from boundcheck.bounds import random_heads

    problem = Problem.of(40, 1, "0.15")
    random_heads_error_curve(40, [3**k for k in range(30)])
    after = U3().heads(problem)
    solver._atoms.cache_clear()
    random_heads._measure.cache_clear()
    assert U3().heads(problem) == after


def test_the_measure_to_sample_from() -> None:
    measure = random_heads_measure(64, 5000)
    assert measure.variation == sum(abs(Fraction(w)) for w in measure.weights)
    assert all(0 < t <= 1 for t in measure.nodes)
    assert list(measure.nodes) == sorted(measure.nodes)


@pytest.mark.parametrize("node", [-0.1, 1.5, float("nan")])
def test_nodes_outside_the_interval(node: float) -> None:
    with pytest.raises(ValueError, match="nodes"):
        zonal_measure(8, [node], [1.0])


def test_least_heads_of_one_measure_is_exact() -> None:
    measure = zonal_measure(8, [1.0], [3.0])
    eps = measure.error(77).hi
    assert measure.least_heads(eps) == 77
    assert measure.least_heads(eps - Fraction(1, 10**30)) == 78
    assert measure.least_heads(measure.bias.hi / 2) is None
