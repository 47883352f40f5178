import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lower_questions import CLASSES, EPS, error, least

from boundcheck.bounds.lower import explanation
from boundcheck.harmonics import harmonic_dimension
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem
from boundcheck.values import Enclosure

# --- what must hold for every problem ----------------------------------------


@given(st.integers(3, 80), st.integers(1, 80), CLASSES, st.booleans(), EPS)
@settings(max_examples=80)
def test_the_count_is_where_the_error_crosses(
    d: int, r: int, head_class: HeadClass, skip: bool, eps: Fraction
) -> None:
    assume(r <= d)
    heads = least(d, r, eps, head_class, skip)
    assert error(d, r, heads, head_class, skip).hi <= eps
    if heads > 1:
        assert error(d, r, heads - 1, head_class, skip).lo > eps


@given(st.integers(3, 80), st.integers(1, 80), CLASSES, st.booleans(), st.integers(1, 10**4))
@settings(max_examples=40)
def test_the_error_falls_and_is_convex(
    d: int, r: int, head_class: HeadClass, skip: bool, heads: int
) -> None:
    assume(r <= d)
    for step in (1, 1 + heads // 3):
        left, middle, right = (error(d, r, heads + i * step, head_class, skip) for i in range(3))
        assert right.lo <= middle.hi
        assert middle.lo <= left.hi
        assert left.hi + right.hi >= 2 * middle.lo
        assert left.hi <= Fraction(1, 2)
        assert right.lo >= 0


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
@pytest.mark.parametrize("skip", [False, True])
def test_the_error_falls_strictly_from_no_head_on(head_class: HeadClass, skip: bool) -> None:
    errors = [error(9, 2, heads, head_class, skip) for heads in range(30)]
    assert all(after.hi < before.lo for before, after in pairwise(errors))
    # Exact differences grow: convex also across H = 0.
    drops = [before.lo - after.hi for before, after in pairwise(errors)]
    assert all(later <= earlier + Fraction(1, 10**30) for earlier, later in pairwise(drops))


def test_errors_without_heads() -> None:
    for name in HEAD_CLASSES:
        assert error(8, 2, 0, name) == Enclosure(Fraction(1), Fraction(1))
    # A y alone: E|f|^2 = 1 less half the degree-1 energy; rational at d = 3.
    assert Fraction(1) - Fraction(3, 8) in error(3, 1, 0, skip=True)
    assert error(3, 1, 0, skip=True).width < Fraction(1, 10**40)


@given(st.integers(3, 60), st.integers(1, 59), CLASSES, st.booleans(), EPS, EPS)
@settings(max_examples=40)
def test_how_the_count_moves_with_the_problem(
    d: int, r: int, head_class: HeadClass, skip: bool, eps: Fraction, other: Fraction
) -> None:
    assume(r <= d)
    here = least(d, r, eps, head_class, skip)
    if other >= eps:
        assert least(d, r, other, head_class, skip) <= here
    else:
        assert least(d, r, other, head_class, skip) >= here
    if r < d:
        assert least(d, r + 1, eps, head_class, skip) <= here
    assert least(d + 1, r, eps, head_class, skip) >= here


@given(st.integers(3, 80), st.integers(1, 80), st.booleans(), EPS, st.integers(1, 10**5))
@settings(max_examples=40)
def test_classes_are_ordered(d: int, r: int, skip: bool, eps: Fraction, heads: int) -> None:
    assume(r <= d)
    counts = [least(d, r, eps, name, skip) for name in HEAD_CLASSES]
    assert counts == sorted(counts, reverse=True)
    errors = [error(d, r, heads, name, skip) for name in HEAD_CLASSES]
    assert errors[0].hi >= errors[1].lo
    assert errors[1].hi >= errors[2].lo


@given(st.integers(3, 60), st.integers(1, 60), CLASSES, EPS, st.integers(1, 10**4))
@settings(max_examples=40)
def test_a_free_residual_never_raises_the_bound(
    d: int, r: int, head_class: HeadClass, eps: Fraction, heads: int
) -> None:
    assume(r <= d)
    assert least(d, r, eps, head_class, skip=True) <= least(d, r, eps, head_class)
    assert error(d, r, heads, head_class, skip=True).lo <= error(d, r, heads, head_class).hi


# --- the parts of a bound ------------------------------------------------------


@given(st.integers(3, 80), st.integers(1, 80), CLASSES, st.booleans(), st.integers(1, 10**6))
@settings(max_examples=40)
def test_an_explanation_adds_up(
    d: int, r: int, head_class: HeadClass, skip: bool, heads: int
) -> None:
    assume(r <= d)
    problem = Problem.of(d, r, head_class=head_class, skip=skip)
    parts = explanation(problem, heads, degrees=10)
    assert parts.total == error(d, r, heads, head_class, skip)
    low = sum(share.share.lo for share in parts.shares) + parts.beyond.lo
    high = sum(share.share.hi for share in parts.shares) + parts.beyond.hi
    assert low <= parts.total.hi
    assert parts.total.lo <= high
    assert high - low <= parts.total.width + Fraction(1, 10**30)
    assert [share.degree for share in parts.shares] == list(range(3 if skip else 1, 20, 2))
    for share in parts.shares:
        assert share.dimension == harmonic_dimension(parts.capacity.D, share.degree)
        assert 0 <= share.share.lo <= share.energy.hi <= Fraction(1, 2)


def test_an_explanation_in_the_highest_dimension() -> None:
    parts = explanation(Problem.of(10**6, 5), 7)
    # H6: half of 2/pi, the limit of E_1.
    assert float(parts.shares[0].energy.lo) == pytest.approx(1 / math.pi, rel=1e-5)
