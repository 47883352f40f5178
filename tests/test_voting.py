"""Votes against scipy's special functions, exact rationals, THEORY's integral and sampling."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from boundcheck.quadrature import Array, gauss_legendre
from boundcheck.voting import (
    advantage_laws,
    advantage_slope_at_zero,
    centred_coordinate_mass,
    coordinate_cdf,
    right_vote_probability,
    vote_advantage,
)

#: Coordinates that cover the bulk of the law in any dimension.
DEVIATIONS = np.array([0.0, 1e-9, 1e-3, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 8.8, 12.0, 40.0])


@given(st.one_of(st.integers(2, 300), st.sampled_from([10**4, 10**6, 10**12, 10**18 + 2])))
@example(2)
@example(3)
@settings(max_examples=60, deadline=None)
def test_coordinate_mass_is_an_incomplete_beta(n: int) -> None:
    # P(|x_1| <= s) = I_{s^2}(1/2, (n-1)/2), by scipy.
    s = np.minimum(1.0, DEVIATIONS / math.sqrt(n))
    expected = special.betainc(0.5, (n - 1) / 2, s**2)
    mass = centred_coordinate_mass(n, s)
    np.testing.assert_allclose(mass, expected, rtol=1e-14, atol=1e-300)
    np.testing.assert_array_equal(centred_coordinate_mass(n, -s), -mass)
    np.testing.assert_allclose(coordinate_cdf(n, -s), 1 - coordinate_cdf(n, s), atol=1e-16)
    assert np.all(np.diff(mass) >= 0)


@given(st.integers(0, 12), st.fractions(Fraction(1, 2), 1, max_denominator=50))
@settings(max_examples=60, deadline=None)
def test_binomial_tail_is_a_coordinate_cdf(half: int, p: Fraction) -> None:
    # Exact rationals: P(Bin(H, p) < H/2) for odd H.
    H = 2 * half + 1
    tail = sum(math.comb(H, k) * p**k * (1 - p) ** (H - k) for k in range(half + 1))
    found = 1 - coordinate_cdf(H + 2, np.array([float(2 * p - 1)]))[0]
    assert found == pytest.approx(float(tail), abs=1e-14)


@pytest.mark.parametrize("d", [2, 3, 8, 1000])
def test_one_vote_of_rank_one(d: int) -> None:
    # p_1 = 1/2 + arcsin|t|/pi (THEORY, U4).
    t = np.linspace(-1, 1, 21)
    expected = 0.5 + np.arcsin(np.abs(t)) / math.pi
    np.testing.assert_allclose(right_vote_probability(d, 1, t), expected, rtol=1e-15)


def test_full_rank_votes_are_right() -> None:
    t = np.array([-1.0, -0.2, 1e-9, 0.5, 1.0])
    np.testing.assert_array_equal(right_vote_probability(7, 7, t), np.ones(5))
    np.testing.assert_array_equal(vote_advantage(7, 7, t), np.sign(t))


def probability_by_theory(d: int, r: int, t: float) -> float:
    """E_B F(t sqrt(B) / sqrt((1-t^2)(1-B))), F of S^{d-2}, B ~ Beta(r/2, (d-r)/2), by scipy."""

    def integrand(angle: float) -> float:  # B = sin^2(angle)
        s = min(1.0, math.tan(angle) * t / math.sqrt(1 - t * t))
        cdf = 0.5 + 0.5 * special.betainc(0.5, (d - 2) / 2, s * s)
        log_density = (r - 1) * math.log(math.sin(angle)) + (d - r - 1) * math.log(math.cos(angle))
        return float(2 * cdf * math.exp(log_density - special.betaln(r / 2, (d - r) / 2)))

    mode, width = math.atan(math.sqrt(r / (d - r))), 3 / math.sqrt(d)
    places = [math.acos(t), *(mode + j * width for j in (-3, -1, 0, 1, 3))]
    ends = sorted({0.0, math.pi / 2, *(min(max(x, 0.0), math.pi / 2) for x in places)})
    return sum(
        integrate.quad(integrand, a, b, epsabs=1e-13, epsrel=1e-12, limit=200)[0]
        for a, b in pairwise(ends)
    )


@pytest.mark.parametrize(
    ("d", "r"),
    [(3, 2), (4, 2), (4, 3), (5, 3), (16, 4), (16, 13), (16, 15), (64, 4), (64, 63), (1000, 990)],
)
def test_vote_probability_is_the_integral_over_the_beta_law(d: int, r: int) -> None:
    t = np.array([1e-6, 1e-3, 0.05, 0.3, 0.9])
    expected = [probability_by_theory(d, r, float(x)) for x in t]
    np.testing.assert_allclose(right_vote_probability(d, r, t), expected, atol=2e-12)


@pytest.mark.parametrize(("d", "r", "t"), [(5, 2, 0.3), (5, 4, 0.1), (12, 6, 0.2), (12, 3, -0.4)])
def test_vote_probability_by_sampling(d: int, r: int, t: float) -> None:
    # The projections of x, y on a Haar subspace: rotate the pair in place of the subspace.
    rng = np.random.default_rng(5)
    count = 200_000
    y = rng.normal(size=(count, d))
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    w = rng.normal(size=(count, d))
    w -= np.sum(w * y, axis=1, keepdims=True) * y
    w /= np.linalg.norm(w, axis=1, keepdims=True)
    x = t * y + math.sqrt(1 - t * t) * w
    right = np.sign(np.sum(x[:, :r] * y[:, :r], axis=1)) == math.copysign(1, t)
    p = float(right_vote_probability(d, r, np.array([t]))[0])
    assert abs(right.mean() - p) < 6 * math.sqrt(p * (1 - p) / count)


@given(st.integers(3, 80), st.data())
@settings(max_examples=40, deadline=None)
def test_probability_rises_in_t_and_r(d: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, d - 1))
    t = np.linspace(0, 1, 9)[1:-1] ** 3
    lower, higher = right_vote_probability(d, r, t), right_vote_probability(d, r + 1, t)
    assert np.all(np.diff(lower) >= -1e-14)
    assert np.all(higher >= lower - 1e-14)
    assert np.all((lower > 0.5) & (higher <= 1))
    np.testing.assert_array_equal(vote_advantage(d, r, -t), -vote_advantage(d, r, t))


@given(st.integers(4, 10**6), st.data())
@settings(max_examples=40, deadline=None)
def test_slope_at_zero(d: int, data: st.DataObject) -> None:
    # Where 1/W has no mean the next term of kappa at 0 is not t^3.
    r = data.draw(st.integers(1, max(1, d - 4)))
    t = 1e-6 * math.sqrt(d - r) / d
    slope = float(vote_advantage(d, r, np.array([t]))[0]) / t
    assert slope == pytest.approx(advantage_slope_at_zero(d, r), rel=1e-5)


@pytest.mark.parametrize(("d", "r"), [(8, 1), (8, 3), (8, 7), (64, 62), (1000, 10), (10**6, 10**5)])
def test_law_of_the_advantage(d: int, r: int) -> None:
    for law in advantage_laws(d, r, 4):
        assert np.all(np.diff(law.advantages) >= -1e-13)
        assert law.weights.sum() == pytest.approx(1, abs=1e-13)
    fine, coarse = advantage_laws(d, r, 4)
    assert fine.mean(fine.advantages) == pytest.approx(coarse.mean(coarse.advantages), rel=1e-11)


@pytest.mark.parametrize("d", [5, 40])
def test_mean_advantage_against_scipy(d: int) -> None:
    # E kappa_r(|t|) by scipy's Gauss-Jacobi rule for the density of t, p_r by THEORY's integral.
    x, w = special.roots_jacobi(60, (d - 3) / 2, 0.0)
    s = (1 + x) / 2  # only |t| = s matters: (1 - s)^{(d-3)/2} from the rule, the rest by hand
    w = w * (1 + s) ** ((d - 3) / 2)
    w /= w.sum()
    r = 2
    kappa = np.array([2 * probability_by_theory(d, r, float(t)) - 1 for t in s])
    fine, _ = advantage_laws(d, r)
    assert fine.mean(fine.advantages) == pytest.approx(float(kappa @ w), rel=1e-9)


def test_mass_of_many_votes_is_normal() -> None:
    # A coordinate times sqrt(n) tends to the normal law.
    n = 10**18
    z: Array = np.array([0.1, 1.0, 3.0])
    mass = centred_coordinate_mass(n, z / math.sqrt(n))
    np.testing.assert_allclose(mass, 2 * stats.norm.cdf(z) - 1, rtol=1e-13)


def test_shared_nodes_survive() -> None:
    # The nodes are cached: evaluating must not change them.
    before = gauss_legendre(28)[0].copy()
    centred_coordinate_mass(9, np.array([0.3]))
    np.testing.assert_array_equal(gauss_legendre(28)[0], before)
