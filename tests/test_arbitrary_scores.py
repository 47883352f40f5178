"""T2 as an upper bound: against exact partial sums, T1 and published values."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundcheck.bounds import arbitrary_scores
from boundcheck.bounds.arbitrary_scores import T2, arbitrary_scores_error_infimum
from boundcheck.bounds.base import MAX_HEADS
from boundcheck.bounds.lower import T1
from boundcheck.capacity import ridge_dimension
from boundcheck.harmonics import energy, harmonic_dimension
from boundcheck.problem import Problem


# THEORY.md, rounded to nearest.
@pytest.mark.parametrize(
    ("d", "heads", "value"),
    [
        (3, 1, 0.36338),
        (3, 2, 0.22676),
        (3, 3, 0.09014),
        (4, 1, 0.40529),
        (4, 2, 0.31057),
        (4, 3, 0.21585),
    ],
)
def test_known_values_at_rank_one(d: int, heads: int, value: float) -> None:
    error = arbitrary_scores_error_infimum(d, 1, heads)
    assert float(error.hi) == pytest.approx(value, abs=1.01e-5)
    assert error.width < error.lo / 10**9


def _exact_sum(d: int, r: int, heads: int, last: int) -> tuple[Fraction, Fraction]:
    """The sum over odd degrees to ``last`` in rationals (odd d), and the energy left."""
    total, left = Fraction(0), Fraction(1)
    for l in range(1, last + 1, 2):
        share = Fraction(ridge_dimension(r, l), harmonic_dimension(d, l))
        missed = max(Fraction(0), 1 - heads * share) if r == 1 else (1 - share) ** heads
        total += energy(d, l).coefficient * missed / 2
        left -= energy(d, l).coefficient
    return total, left / 2


@pytest.mark.parametrize(
    ("d", "r", "heads"),
    [(3, 1, 4), (5, 1, 30), (3, 2, 3), (5, 2, 7), (5, 4, 3), (7, 3, 40), (7, 6, 20), (9, 7, 2)],
)
def test_against_partial_sums_of_exact_rationals(d: int, r: int, heads: int) -> None:
    error = arbitrary_scores_error_infimum(d, r, heads)
    total, left = _exact_sum(d, r, heads, 301)
    # Each degree left out misses at most all of its energy.
    assert error.hi >= total
    assert error.lo <= total + left
    # Its share at degree 303 is the largest that is left; for r = d-1 none is below 1/2.
    share = Fraction(ridge_dimension(r, 303), harmonic_dimension(d, 303))
    assert error.hi >= total + left * (
        max(Fraction(0), 1 - heads * share) if r == 1 else (1 - share) ** heads
    )
    if r == d - 1:
        assert error.lo <= total + left / 2**heads
    assert error.width < error.hi / 10**8


@given(st.integers(2, 14), st.integers(1, 13), st.integers(0, 60))
@settings(max_examples=200, deadline=None)
def test_shares_fall_in_the_degree(d: int, r: int, degree: int) -> None:
    # What the enclosure of the later degrees rests on, on exact integers.
    r = min(r, d - 1)
    share, following = (
        Fraction(ridge_dimension(r, l), harmonic_dimension(d, l)) for l in (degree, degree + 1)
    )
    assert following <= share
    if r == d - 1:
        assert following >= Fraction(1, 2)


def test_one_head_meets_the_scalar_lower_bound() -> None:
    # (1 - x)^1 is 1 - x; THEORY.md's bound at d = 16, r = 4, H = 1.
    error = arbitrary_scores_error_infimum(16, 4, 1)
    assert float(error.hi) == pytest.approx(0.416364, abs=1e-6)


@given(st.integers(6, 40), st.integers(1, 36), st.integers(1, 10**6))
@settings(max_examples=20, deadline=None)
def test_not_below_the_scalar_lower_bound(d: int, r: int, heads: int) -> None:
    problem = Problem.of(d, min(r, d - 4), head_class="scalar")
    # hi against lo: at rank one both are the same number.
    assert T2().error(problem, heads).hi >= T1().error(problem, heads).lo


@pytest.mark.parametrize(("d", "eps", "heads"), [(64, "0.1", 23219957), (16, "0.05", 19350668)])
def test_rank_one_count_is_the_scalar_lower_bound(d: int, eps: str, heads: int) -> None:
    # THEORY.md: H_min of the scalar class.
    count = T2().heads(Problem.of(d, 1, eps))
    assert (count.heads, count.sharp) == (heads, True)


@given(
    st.integers(3, 100),
    st.integers(1, 100),
    st.fractions(Fraction(1, 50), Fraction(49, 100), max_denominator=1000),
)
@settings(max_examples=30, deadline=None)
def test_the_count_is_the_least(d: int, r: int, eps: Fraction) -> None:
    bound, problem = T2(), Problem.of(d, min(r, d), eps)
    count = bound.heads(problem)
    if count.heads is None:
        assert bound.error(problem, MAX_HEADS).lo >= eps
    else:
        assert bound.error(problem, count.heads).hi < eps
        assert count.sharp
        assert bound.error(problem, count.heads - 1).lo >= eps


def test_small_eps_in_high_dimension() -> None:
    # Degrees beyond 10^4 matter, and 10^18 heads are too few by far.
    count = T2().heads(Problem.of(64, 4, "0.0001"))
    assert count.heads is None
    assert count.reason == "not reached with 10^18 heads"
    assert T2().heads(Problem.of(8192, 4, "0.01")).heads is None


def test_full_rank_and_no_head() -> None:
    bound = T2()
    full = Problem.of(6, 6, "0.001")
    assert bound.error(full, 1).hi == 0
    assert bound.heads(full).heads == 1
    assert bound.error(full, 0).lo == 1
    assert bound.error(Problem.of(6, 2), 0).hi == 1
    assert bound.rank(Problem.of(6, 2)) == 2


def test_errors_below_the_least_float() -> None:
    # r = d-1: every x_l >= 1/2, so the error is at most 2^-H / 2. Above degree
    # 2000 x_l < 1/2 + 1/4000 and more than 2^-13 of the energy is left, so for
    # H < 1400 it is at least 2^-H / 2^15.
    problem = Problem.of(4, 3, "1e-400")
    count = T2().heads(problem).heads
    assert count is not None
    assert 2**count <= 10**400 <= 2 ** (count + 15)
    assert 0 < T2().error(problem, count).hi < Fraction(1, 10**400)


def test_with_few_degrees_the_count_is_larger_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = Problem.of(4, 2, "0.01")
    sharp = T2().heads(problem)
    assert sharp.sharp
    assert sharp.heads is not None
    monkeypatch.setattr(arbitrary_scores, "MAX_TERMS", 32)
    safe = T2().heads(problem)
    assert not safe.sharp
    assert safe.reason is not None
    assert safe.heads is not None
    assert sharp.heads <= safe.heads <= 2 * sharp.heads
    monkeypatch.setattr(arbitrary_scores, "MAX_TERMS", 16)
    hopeless = T2().heads(Problem.of(4, 2, "0.0001"))
    assert hopeless.heads is None
    assert hopeless.reason == "not decided by the degrees followed"


@given(st.integers(6, 60), st.integers(2, 56), st.integers(1, 10**9))
@settings(max_examples=20, deadline=None)
def test_the_error_falls_in_the_count(d: int, r: int, heads: int) -> None:
    r = min(r, d - 4)
    assert (
        arbitrary_scores_error_infimum(d, r, heads).hi
        >= arbitrary_scores_error_infimum(d, r, 2 * heads).lo
    )
