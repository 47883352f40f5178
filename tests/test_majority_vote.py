"""U4, U4s and U4b against THEORY's values, scipy's binomials, asymptotics and sampled votes."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, optimize, special, stats

from boundcheck.bounds.base import MAX_HEADS, Bound
from boundcheck.bounds.least_heads import least_count
from boundcheck.bounds.majority_vote import (
    U4,
    U4b,
    U4s,
    best_vote_inverse_temperature,
    majority_vote_error,
    majority_vote_error_curve,
    majority_vote_error_upper_bound,
    majority_vote_error_upper_bound_closed_form,
    soft_vote_error,
)
from boundcheck.errors import InputError
from boundcheck.problem import Problem
from boundcheck.quadrature import Array
from boundcheck.values import Enclosure, Numeric
from boundcheck.voting import right_vote_probability

CASES = [(8, 1, 15, 0.50507, 0.3393), (16, 4, 31, 0.24229, 0.1706), (64, 4, 51, 0.39582, 0.2713)]


@pytest.mark.parametrize(("d", "r", "votes", "hard", "soft"), CASES)
def test_theory_values(d: int, r: int, votes: int, hard: float, soft: float) -> None:
    found = majority_vote_error(d, r, votes)
    assert abs(found.value - hard) < 1e-5
    assert found.error_estimate < 1e-12
    found = soft_vote_error(d, r, votes)
    assert abs(found.value - soft) < 1e-4
    assert found.error_estimate < 1e-10


def points(d: int) -> tuple[Array, Array]:
    """Nodes s = |t| and weights by scipy's Gauss-Jacobi rule."""
    x, w = special.roots_jacobi(120, (d - 3) / 2, 0.0)
    s = (1 + x) / 2
    w = w * (1 + s) ** ((d - 3) / 2)
    return s, w / w.sum()


def over_votes(d: int, r: int, votes: int, loss: Callable[[Array], Array]) -> float:
    """E loss(k) for k ~ Bin(H, p_r(|t|)), every k summed with scipy's binomials."""
    s, w = points(d)
    # p_r itself is tested against THEORY's integral in test_voting.
    p = (
        right_vote_probability(d, r, s)[:, None]
        if r > 1
        else (0.5 + np.arcsin(s) / math.pi)[:, None]
    )
    k = np.arange(votes + 1.0)
    return float(w @ (stats.binom.pmf(k, votes, p) @ loss(k)))


def fixed_ties(votes: int) -> Callable[[Array], Array]:
    return lambda k: 2.0 * (2 * k < votes) + 1.0 * (2 * k == votes)


def averaged_ties(votes: int) -> Callable[[Array], Array]:
    return lambda k: 2.0 * (2 * k < votes) + 0.5 * (2 * k == votes)


def softmax(votes: int, b: float) -> Callable[[Array], Array]:
    return lambda k: 0.5 * (1 - np.tanh(b * (2 * k - votes))) ** 2


@pytest.mark.parametrize(("d", "r"), [(5, 1), (16, 4), (16, 14), (40, 1)])
@pytest.mark.parametrize("votes", [1, 2, 7, 24, 25, 300])
def test_errors_are_sums_over_binomials(d: int, r: int, votes: int) -> None:
    found = majority_vote_error(d, r, votes)
    expected = over_votes(d, r, votes, fixed_ties(votes))
    assert found.value == pytest.approx(expected, rel=1e-8)
    found = majority_vote_error(d, r, votes, ties="averaged")
    expected = over_votes(d, r, votes, averaged_ties(votes))
    assert found.value == pytest.approx(expected, rel=1e-8)
    b = 0.9 / math.sqrt(votes)
    found = soft_vote_error(d, r, votes, b)
    expected = over_votes(d, r, votes, softmax(votes, b))
    assert found.value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("b", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("votes", [50, 5000])
def test_soft_votes_at_any_inverse_temperature(votes: int, b: float) -> None:
    # 5000 votes: above the table of factorials, and a lattice of every 8th difference at most.
    found = soft_vote_error(12, 1, votes, b)
    expected = over_votes(12, 1, votes, softmax(votes, b))
    assert found.value == pytest.approx(expected, rel=1e-8)
    assert abs(found.value - expected) <= found.error_estimate + 1e-10


@pytest.mark.parametrize(("d", "r", "votes"), [(8, 1, 15), (8, 1, 16), (16, 4, 400), (9, 7, 5)])
def test_best_inverse_temperature(d: int, r: int, votes: int) -> None:
    # scipy's minimiser over the full sum.
    found = optimize.minimize_scalar(
        lambda x: over_votes(d, r, votes, softmax(votes, math.exp(x))),
        bracket=(math.log(0.3 / math.sqrt(votes)), math.log(1.0 / math.sqrt(votes))),
    )
    assert soft_vote_error(d, r, votes).value == pytest.approx(float(found.fun), rel=1e-8)
    b = best_vote_inverse_temperature(d, r, votes)
    assert b == pytest.approx(math.exp(float(found.x)), rel=1e-3)


def test_a_sharp_softmax_averages_ties() -> None:
    for votes in (7, 8):
        sharp = soft_vote_error(10, 3, votes, 40.0)
        averaged = majority_vote_error(10, 3, votes, ties="averaged")
        assert sharp.value == pytest.approx(averaged.value, rel=1e-10)


@pytest.mark.parametrize(("d", "r", "votes"), [(6, 1, 5), (6, 2, 4), (7, 5, 3)])
def test_errors_of_sampled_networks(d: int, r: int, votes: int) -> None:
    # Vote with Haar heads, then read the votes; the squared error of the point returned.
    rng = np.random.default_rng(17)
    count = 60_000
    frames = np.linalg.qr(rng.normal(size=(count, votes, d, r)))[0]
    y = rng.normal(size=(count, d))
    x = np.eye(d)[0] - np.eye(d)[1]
    projected = np.einsum("bhdr,bd->bhr", frames, y)
    choice = np.sign(np.einsum("bhr,bhr->bh", projected, frames[:, :, 0] - frames[:, :, 1]))
    difference = choice.sum(axis=1) * np.sign(y @ x)  # right votes less wrong ones

    def check(found: Numeric, share: Array) -> None:
        """``share``: weight of the nearer point; the error is 2 (1 - share)^2."""
        errors = 2 * (1 - share) ** 2
        assert abs(errors.mean() - found.value) < 6 * errors.std() / math.sqrt(count)

    half = np.where(difference == 0, 0.5, difference > 0)
    check(majority_vote_error(d, r, votes, ties="averaged"), half)
    coin = np.where(difference == 0, rng.integers(0, 2, size=count), difference > 0)
    check(majority_vote_error(d, r, votes), coin)
    b = 0.4
    check(soft_vote_error(d, r, votes, b), 1 / (1 + np.exp(-2 * b * difference)))


@given(st.sampled_from([3, 8, 64, 1000, 10**6]), st.integers(0, 10**15), st.data())
@settings(max_examples=40, deadline=None)
def test_hard_majorities_fall_in_odd_votes(d: int, half: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, d - 1))
    votes = 2 * half + 1
    found = majority_vote_error(d, r, votes)
    more = majority_vote_error(d, r, votes + 2 * (1 + half // 8))
    assert 0 < more.value < found.value < 1
    # An even count is as good as the odd one below.
    assert majority_vote_error(d, r, votes + 1).value == pytest.approx(found.value, rel=1e-12)
    assert majority_vote_error_upper_bound(d, r, votes).value > found.value
    averaged = majority_vote_error(d, r, votes + 1, ties="averaged").value
    assert more.value / 2 < averaged < found.value + found.error_estimate


@given(st.sampled_from([3, 8, 64, 1000, 10**6]), st.integers(1, 10**15), st.data())
@settings(max_examples=40, deadline=None)
def test_soft_majorities(d: int, votes: int, data: st.DataObject) -> None:
    # Below 1/2, falling, and better than the hard majority with averaged ties, their limit.
    r = data.draw(st.integers(1, d - 1))
    found = soft_vote_error(d, r, votes)
    assert 0 < found.value < 0.5
    assert found.error_estimate < 1e-9 * found.value + 1e-12
    assert soft_vote_error(d, r, votes + 1 + votes // 8).value < found.value
    averaged = majority_vote_error(d, r, votes, ties="averaged")
    assert found.value <= averaged.value + averaged.error_estimate + found.error_estimate


@pytest.mark.parametrize("d", [3, 64, 10**6])
def test_many_votes_of_rank_one(d: int) -> None:
    # sqrt(2 pi) c_d / sqrt(H) (THEORY, U4), at the largest H; integrands 1e-9 wide.
    with mpmath.workdps(30):
        c = mpmath.gammaprod([mpmath.mpf(d) / 2], [0.5, mpmath.mpf(d - 1) / 2])
        limit = float(mpmath.sqrt(2 * mpmath.pi) * c)
    votes = MAX_HEADS - 1
    found = majority_vote_error(d, 1, votes)
    assert found.value * math.sqrt(votes) == pytest.approx(limit, rel=1e-9)
    assert found.error_estimate < 1e-9 * found.value

    # Soft: k is normal and t uniform, so that error -> c_d (pi/2) / sqrt(H) min_b of an integral.
    def limit_at(b: float) -> float:
        def integrand(z: float, u: float) -> float:
            return float(stats.norm.pdf(z)) * 0.5 * (1 - math.tanh(b * (u + z))) ** 2

        return float(integrate.dblquad(integrand, 0, 16, -8, 8, epsabs=1e-7)[0])

    b = best_vote_inverse_temperature(d, 1, votes) * math.sqrt(votes)
    soft = soft_vote_error(d, 1, votes)
    expected = limit / math.sqrt(2 * math.pi) * math.pi * limit_at(b)
    assert soft.value * math.sqrt(votes) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("d", "votes"), [(3, 1), (8, 15), (64, 10**3), (1000, 10**9)])
def test_closed_form_by_mpmath(d: int, votes: int) -> None:
    with mpmath.workdps(30):
        z = -2 * mpmath.mpf(votes) / mpmath.pi**2
        expected = 2 * mpmath.hyp1f1(0.5, mpmath.mpf(d) / 2, z)
        found = majority_vote_error_upper_bound_closed_form(d, votes)
        assert float(found.width / found.hi) < 1e-15
        assert abs(expected / mpmath.mpf(float(found.hi)) - 1) < 1e-15


@pytest.mark.parametrize("d", [2, 3, 64, 1000, 1001, 10**6])
@pytest.mark.parametrize("votes", [1, 30, 10**6, 10**18])
def test_closed_form_is_above_hoeffding(d: int, votes: int) -> None:
    found = majority_vote_error_upper_bound_closed_form(d, votes)
    hoeffding = majority_vote_error_upper_bound(d, 1, votes)
    exact = majority_vote_error(d, 1, votes)
    assert exact.value <= hoeffding.value <= float(found.hi) + hoeffding.error_estimate
    assert float(found.width / found.hi) <= 1 / d


def test_closed_form_beyond_the_series_encloses_it() -> None:
    # 1F1 itself by mpmath where it is not slow: E exp(-z t^2), d = 1200.
    with mpmath.workdps(40):
        z = 2 * mpmath.mpf(50) / mpmath.pi**2
        expected = 2 * mpmath.hyp1f1(0.5, 600, -z)
        found = majority_vote_error_upper_bound_closed_form(1200, 50)
        assert mpmath.mpf(float(found.lo)) < expected < mpmath.mpf(float(found.hi))


def reference_error(d: int, votes: int) -> float:
    """U4's error for r = 1 by scipy alone: its incomplete beta and its quadrature."""

    def wrong(s: float) -> float:
        p = 0.5 + math.asin(s) / math.pi
        return float(special.betainc((votes + 1) / 2, (votes + 1) / 2, 1 - p)) * density(s)

    def density(s: float) -> float:
        return float((1 - s * s) ** ((d - 3) / 2))

    end = min(1.0, 10 / math.sqrt(d))
    places = [0.0, *(end * 2.0**-j for j in range(12, -1, -1))]

    def total(f: Callable[[float], float]) -> float:
        return sum(integrate.quad(f, a, b, epsabs=0, epsrel=1e-11)[0] for a, b in pairwise(places))

    return 2 * total(wrong) / total(density)


@pytest.mark.parametrize(("d", "eps"), [(64, "0.1"), (16, "0.3"), (3, "1/20"), (1000, "0.2")])
def test_hard_heads_are_the_least(d: int, eps: str) -> None:
    problem = Problem.of(d, 1, eps)
    heads = U4().heads(problem).heads
    assert heads is not None
    assert heads % 2 == 0
    target = float(problem.target_eps)
    assert reference_error(d, heads - 1) < target < reference_error(d, heads - 3)


@pytest.mark.parametrize("bound", [U4(), U4s(), U4b()])
@pytest.mark.parametrize(
    ("d", "r", "eps"),
    [(64, 4, "0.1"), (64, 62, "0.01"), (3, 2, "1e-4"), (1000, 30, "1e-3"), (10**6, 4, "0.3")],
)
def test_heads_reach_eps_and_one_less_does_not(bound: Bound, d: int, r: int, eps: str) -> None:
    problem = Problem.of(d, r, eps)
    assert bound.why_not(problem) is None
    heads = bound.heads(problem).heads
    assert heads is not None

    def most(count: int) -> Fraction:
        found = bound.error(problem, count)
        if isinstance(found, Numeric):
            return Fraction(found.value) + Fraction(found.error_estimate)
        assert isinstance(found, Enclosure)
        return found.hi

    assert most(heads) <= problem.target_eps
    assert most(heads - 1) > problem.target_eps


def test_counts_beyond_the_cap_are_not_given() -> None:
    problem = Problem.of(64, 4, "1e-300")
    for bound in (U4(), U4s(), U4b()):
        count = bound.heads(problem)
        assert count.heads is None
        assert count.reason == "more than 10^18 heads"


def test_whole_counts_below_the_construction() -> None:
    problem = Problem.of(8, 1, "0.3")
    # 0.50507 at 15 votes is above what one averaging head reaches.
    assert [U4().error(problem, heads).value for heads in (0, 1, 2, 16)] == [1, 0.5, 0.5, 0.5]
    assert [U4s().error(problem, heads).value for heads in (0, 1)] == [1, 0.5]
    assert U4s().error(problem, 16).value == soft_vote_error(8, 1, 15).value
    assert [U4b().error(problem, heads).hi for heads in (0, 1, 2)] == [1, 0.5, 0.5]


def test_huge_counts_are_no_worse_than_the_cap() -> None:
    problem = Problem.of(8, 1)
    for bound in (U4(), U4s()):
        assert bound.error(problem, 10**4000).value < 1e-8
    assert U4b().error(problem, 10**4000).hi < Fraction(1, 10**8)


def test_full_rank_votes() -> None:
    problem = Problem.of(9, 9, "0.01")
    assert majority_vote_error(9, 9, 5).value == 0
    assert soft_vote_error(9, 9, 5).value == 0
    assert best_vote_inverse_temperature(9, 9, 5) == math.inf
    assert U4().heads(problem).heads == U4s().heads(problem).heads == 2
    # At a finite inverse temperature all votes are right: (1 - tanh(b H))^2 / 2.
    expected = 0.5 * (1 - math.tanh(0.3 * 5)) ** 2
    assert soft_vote_error(9, 9, 5, 0.3).value == pytest.approx(expected, rel=1e-10)


def test_ranks() -> None:
    problem = Problem.of(64, 4, "0.1")
    assert (U4().rank(problem), U4s().rank(problem), U4b().rank(problem)) == (4, 4, 1)


def test_curve_is_the_error_pointwise() -> None:
    counts = [1, 51, 10**6 + 1, 10**12]
    for found, votes in zip(majority_vote_error_curve(64, 4, counts), counts, strict=True):
        alone = majority_vote_error(64, 4, votes)
        assert abs(found.value - alone.value) <= found.error_estimate + alone.error_estimate
    assert majority_vote_error_curve(64, 4, []) == []


@pytest.mark.parametrize(("b", "votes"), [(0.0, 5), (-1.0, 5), (math.inf, 5), (1.0, 10**12)])
def test_inverse_temperatures_out_of_range(b: float, votes: int) -> None:
    with pytest.raises(InputError):
        soft_vote_error(8, 1, votes, b)


@given(
    st.floats(1e-3, 1e6),
    st.floats(0.1, 2.0),
    st.fractions(Fraction(1, 10**6), Fraction(99, 100)),
    st.floats(1.0, 1e15),
)
@settings(max_examples=100)
def test_least_count_by_definition(scale: float, power: float, eps: Fraction, guess: float) -> None:
    most = 10**12

    def error(n: int) -> float:
        return float(scale / n**power)

    n = least_count(error, eps, guess, most)
    if n is None:
        assert error(most) > eps
    else:
        assert error(n) <= eps
        assert n == 1 or error(n - 1) > eps


def test_least_count_is_quick_near_a_power() -> None:
    calls = []

    def error(n: int) -> float:
        calls.append(n)
        return math.sqrt(7 / (n + 3))

    assert least_count(error, Fraction(1, 1024), 5e6, 10**18) == 7 * 2**20 - 3
    assert len(calls) <= 12


@pytest.mark.parametrize("floor", [0.0, 0.2])
def test_least_count_of_errors_that_vanish_or_saturate(floor: float) -> None:
    calls = []

    def error(n: int) -> float:
        calls.append(n)
        return floor if n >= 1000 else 0.3

    found = least_count(error, Fraction(1, 10), 3.0, 10**18)
    assert found == (1000 if floor == 0 else None)
    assert len(calls) < 120
