"""Bounds side by side: lower ones never above upper ones, and samples never below."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundcheck.bounds.registry import all_bounds, bound_named
from boundcheck.comparison import compare
from boundcheck.evaluation import beside_bound
from boundcheck.montecarlo import measured_error
from boundcheck.network import Layer, Network
from boundcheck.problem import HEAD_CLASSES, Problem
from boundcheck.sampling import SampleStream
from boundcheck.values import Enclosure, Numeric, Value

QUESTIONS = st.tuples(st.integers(3, 80), st.integers(1, 80), st.booleans()).filter(
    lambda q: q[1] <= q[0]
)


def most(value: Value) -> float:
    """The largest that an upper bound may be."""
    if isinstance(value, Enclosure):
        return float(value.hi)
    assert isinstance(value, Numeric)
    return value.value + value.error_estimate


@settings(max_examples=40, deadline=None)
@given(QUESTIONS, st.integers(1, 10**6), st.sampled_from(HEAD_CLASSES))
def test_lower_bounds_stay_below_upper_bounds(
    question: tuple[int, int, bool], heads: int, head_class: str
) -> None:
    d, r, skip = question
    problem = Problem.of(d, r, head_class=head_class, skip=skip)
    lower = bound_named("T1s" if skip else "T1").error(problem, heads)
    assert isinstance(lower, Enclosure)
    for bound in all_bounds():
        # T2 has weights of any kind: it speaks of the scalar and, with sums 1, the others.
        if bound.direction == "lower" or bound.depth != 1 or bound.why_not(problem):
            continue
        if bound.rank(problem) > r:
            continue
        assert float(lower.lo) <= most(bound.error(problem, heads)) + 1e-12, bound.id


@settings(max_examples=25, deadline=None)
@given(QUESTIONS, st.fractions(Fraction(1, 20), Fraction(2, 5), max_denominator=200))
def test_needed_heads_stay_below_sufficient_heads(
    question: tuple[int, int, bool], eps: Fraction
) -> None:
    d, r, skip = question
    rows = compare(Problem.of(d, r, eps, skip=skip))
    needed = max(
        row.count.heads or 0 for row in rows if row.direction == "lower" and row.kind == "certified"
    )
    for row in rows:
        one_layer = row.direction == "upper" and row.depth == 1 and row.rank <= r
        if one_layer and row.count.heads is not None:
            assert row.count.heads >= needed, row.id


@pytest.mark.parametrize("d", [3, 4, 8, 64])
@pytest.mark.parametrize("heads", [1, 2, 3, 100, 10**4])
def test_t2_meets_t1_scalar_at_rank_one(d: int, heads: int) -> None:
    # THEORY: T2 at r = 1 is exactly T1 scalar.
    problem = Problem.of(d, 1, head_class="scalar")
    lower, upper = (bound_named(i).error(problem, heads) for i in ("T1", "T2"))
    assert isinstance(lower, Enclosure)
    assert isinstance(upper, Enclosure)
    assert lower.lo <= upper.hi
    assert upper.hi - lower.lo <= Fraction(1, 10**9)


def test_two_layers_beat_one() -> None:
    # Majority voting at depth 2 reaches what T1 excludes in one layer.
    rows = {row.id: row for row in compare(Problem.of(64, 4, "0.1"), head_classes=["standard"])}
    assert (rows["U4"].count.heads or 0) < (rows["T1"].count.heads or 0)


@settings(max_examples=12, deadline=None)
@given(
    st.integers(3, 8),
    st.integers(1, 3),
    st.integers(1, 6),
    st.sampled_from(["hardmax", "softmax"]),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_sampled_layers_stay_above_their_bound(
    d: int, r: int, heads: int, scores: str, full: bool, residual: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    r = min(r, d)
    shape = (heads, d, d) if full else (heads,)
    layer = Layer(
        Q=rng.normal(size=(heads, d, r)),
        K=rng.normal(size=(heads, d, r)),
        values=rng.normal(size=shape) / heads,
        scores="hardmax" if scores == "hardmax" else "softmax",
        inverse_temperature=3.0,
        residual=residual,
    )
    network = Network(layers=(layer,), d=d, points=2)
    assert network.head_class == ("standard" if full else "scalar")
    problem = Problem.of(d, r, head_class=network.head_class, skip=residual)
    bound = bound_named("T1s" if residual else "T1").error(problem, heads)
    assert isinstance(bound, Enclosure)
    measured = measured_error(network, SampleStream(seed % 1000, d), samples=4096)
    assert beside_bound(measured, bound) != "violated"


def test_parameters_count_queries_and_keys() -> None:
    (row, *_) = compare(Problem.of(64, 4, "0.1"), head_classes=["standard"])
    assert row.parameters == 2 * 78614 * 4 * 64
