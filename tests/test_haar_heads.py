"""U3r against THEORY's values, scipy's quadrature and sampled layers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from boundcheck.bounds.base import MAX_HEADS
from boundcheck.bounds.haar_heads import (
    U3r,
    advantage_moments,
    haar_heads_error,
    haar_heads_error_curve,
    haar_heads_error_limit,
)
from boundcheck.problem import Problem


@pytest.mark.parametrize(("r", "expected"), [(1, 0.2227), (4, 0.1840), (16, 0.1563)])
def test_theory_values(r: int, expected: float) -> None:
    found = haar_heads_error(64, r, 1024)
    assert abs(found.value - expected) < 1e-4
    assert found.error_estimate < 1e-10


@pytest.mark.parametrize("d", [3, 8, 65, 1000, 10**6])
def test_moments_of_rank_one(d: int) -> None:
    # Closed form: E arcsin|t| and E arcsin(t)^2 by Gauss-Legendre in the angle, 400 nodes.
    x, w = special.roots_legendre(400)
    end = min(math.pi / 2, 12 / math.sqrt(d))
    angle = end * (1 + x) / 2
    w = w * np.exp((d - 2) * np.log(np.cos(angle)))
    w /= w.sum()
    found = advantage_moments(d, 1)
    assert found.b == pytest.approx(float(2 / math.pi * angle @ w), rel=1e-9)
    assert found.m == pytest.approx(float((2 / math.pi * angle) ** 2 @ w), rel=1e-9)


def test_moments_of_rank_one_in_three_dimensions() -> None:
    # |t| uniform on [0, 1]: E arcsin = pi/2 - 1, E arcsin^2 = pi^2/4 - 2.
    found = advantage_moments(3, 1)
    assert found.b == pytest.approx(1 - 2 / math.pi, rel=1e-14)
    assert found.m == pytest.approx(1 - 8 / math.pi**2, rel=1e-13)


@pytest.mark.parametrize(("d", "r", "heads"), [(6, 2, 3), (5, 4, 2), (8, 1, 5)])
def test_error_of_sampled_layers(d: int, r: int, heads: int) -> None:
    # E over y and Haar heads of 1/2 (sign<x,y> - A/H sum_h sign<U_h^T x, U_h^T y>)^2: the
    # z-part is exact thanks to the correction heads. A = b/(m + (1-m)/H).
    rng = np.random.default_rng(3)
    count = 60_000
    frames = np.linalg.qr(rng.normal(size=(count, heads, d, r)))[0]
    x = np.eye(d)[0]
    y = rng.normal(size=(count, d))
    votes = np.sign(np.einsum("bhr,bhdr,bd->bh", frames[:, :, 0, :], frames, y))
    moments = advantage_moments(d, r)
    scale = moments.b / (moments.m + (1 - moments.m) / heads)
    errors = 0.5 * (np.sign(y @ x) - scale * votes.mean(axis=1)) ** 2
    found = haar_heads_error(d, r, heads)
    assert abs(errors.mean() - found.value) < 6 * errors.std() / math.sqrt(count)


@pytest.mark.parametrize("d", [3, 4, 9, 40])
def test_the_full_rank_allowed_is_the_best(d: int) -> None:
    # b and b^2/m rise with r; then so does the bound, for every H.
    moments = [advantage_moments(d, r) for r in range(1, d + 1)]
    assert all(low.b < high.b for low, high in pairwise(moments))
    ratios = [found.b**2 / found.m for found in moments]
    assert all(low < high for low, high in pairwise(ratios))


@given(st.integers(3, 200), st.data())
@settings(max_examples=40, deadline=None)
def test_error_falls_in_heads_and_rank(d: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, d - 1))
    heads = data.draw(st.integers(1, 10**12))
    found = haar_heads_error(d, r, heads)
    assert haar_heads_error(d, r, heads + heads // 3 + 1).value < found.value < 0.5
    assert haar_heads_error(d, r + 1, heads).value < found.value
    assert haar_heads_error_limit(d, r).value < found.value + found.error_estimate


@given(st.integers(3, 100), st.data())
@settings(max_examples=30, deadline=None)
def test_heads_are_the_least_that_reach_eps(d: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, d - 1))
    eps = data.draw(st.fractions(Fraction(1, 50), Fraction(49, 100), max_denominator=1000))
    problem = Problem.of(d, r, eps)
    count = U3r().heads(problem)
    if count.heads is None:
        assert count.reason is not None
        assert haar_heads_error(d, r, MAX_HEADS).value > eps - Fraction(1, 10**9)
        return
    found = U3r().error(problem, count.heads)
    assert Fraction(found.value) + Fraction(found.error_estimate) <= eps
    # The closed form solved for H by hand, in floats.
    b, m = advantage_moments(d, r)[:2]
    least = (1 - m) / (b * b / (1 - 2 * float(eps)) - m)
    assert count.heads - 2 == pytest.approx(max(1, math.ceil(least - 1e-6)), rel=1e-9)
    assert U3r().rank(problem) == r


def test_saturation_is_said() -> None:
    count = U3r().heads(Problem.of(64, 4, "0.1"))
    assert count.heads is None
    assert count.reason is not None
    assert count.reason.startswith("saturates at error 0.17")


def test_whole_counts_below_the_construction() -> None:
    problem = Problem.of(64, 4, "0.3")
    errors = [U3r().error(problem, heads).value for heads in range(5)]
    assert errors[:3] == [1.0, 0.5, 0.5]
    assert errors[3] == haar_heads_error(64, 4, 1).value
    assert U3r().error(problem, 10**400).value == pytest.approx(
        haar_heads_error_limit(64, 4).value, abs=1e-12
    )


def test_full_rank_heads_are_exact() -> None:
    problem = Problem.of(9, 9, "0.01")
    assert U3r().heads(problem).heads == 1
    assert U3r().error(problem, 1).value == 0


def test_curve_is_the_error_pointwise() -> None:
    counts = [1, 7, 1000]
    assert haar_heads_error_curve(30, 3, counts) == [haar_heads_error(30, 3, H) for H in counts]
