"""The errors that the attack minimises: against samples, finite differences and closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boundcheck.attack.arbitrary_heads import ArbitraryHeads
from boundcheck.attack.arbitrary_matrices import ArbitraryMatrices
from boundcheck.attack.arbitrary_scalars import ArbitraryScalars
from boundcheck.attack.hardmax import Hardmax
from boundcheck.attack.hardmax_rank_one import MatrixHardmaxRankOne, ScalarHardmaxRankOne
from boundcheck.attack.objective import Objective
from boundcheck.attack.objectives import objective
from boundcheck.attack.rank_one_moments import target_moments
from boundcheck.attack.ridge_layer import RidgeLayer
from boundcheck.attack.sign_moments import sign_moments
from boundcheck.attack.softmax import Softmax
from boundcheck.attention import apply_network
from boundcheck.bounds.arbitrary_scores import arbitrary_scores_error_infimum
from boundcheck.bounds.lower import T1
from boundcheck.constructions.arbitrary_scores import arbitrary_score_layer
from boundcheck.constructions.rank_one_error import angles, target_correlation
from boundcheck.frames import unit_rows
from boundcheck.montecarlo import measured_error
from boundcheck.network import Network
from boundcheck.problem import HEAD_CLASSES, Problem
from boundcheck.sampling import SampleStream
from boundcheck.targets import nearest_neighbor


def sampled(
    kind: type[Hardmax] | type[Softmax], d: int, r: int, H: int, matrices: bool
) -> Objective:
    return kind(d, r, H, matrices, SampleStream(1, d))


EXACT: list[Objective] = [
    *(kind(d, H) for kind in (ScalarHardmaxRankOne, MatrixHardmaxRankOne) for d in (2, 3, 8)
      for H in (1, 4)),
    ArbitraryMatrices(2, 1, 1),
    ArbitraryMatrices(3, 1, 3),
    ArbitraryMatrices(4, 2, 2),
    ArbitraryMatrices(5, 1, 2),
]  # fmt: skip
SAMPLED = [
    sampled(kind, d, r, H, matrices)
    for kind in (Hardmax, Softmax)
    for matrices in (False, True)
    for d, r, H in ((3, 2, 3), (5, 2, 1), (4, 3, 2))
]


@pytest.mark.parametrize("what", [*EXACT, *SAMPLED, sampled(Softmax, 3, 1, 2, True)], ids=repr)
def test_gradient_is_the_slope_of_the_error(what: Objective) -> None:
    rng = np.random.default_rng(0)
    at, along = what.start(rng), what.start(rng)
    step = 1e-6

    def error(t: float) -> float:
        moved = tuple(A + t * B for A, B in zip(at, along, strict=True))
        return what.error_and_gradient(moved)[0]

    _, gradient = what.error_and_gradient(at)
    slope = sum(float(np.sum(A * B)) for A, B in zip(gradient, along, strict=True))
    measured = (error(step) - error(-step)) / (2 * step)
    assert abs(slope) > 1e-4
    assert slope == pytest.approx(measured, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("what", EXACT, ids=repr)
def test_exact_error_is_what_samples_of_the_layer_show(what: Objective) -> None:
    start = what.start(np.random.default_rng(1))
    error, _ = what.error_and_gradient(start)
    heads = what.heads(start)
    layer = RidgeLayer(heads).apply if isinstance(heads, ArbitraryHeads) else heads
    measured = measured_error(layer, SampleStream(5, what.shapes[0][1]), samples=50_000)
    assert abs(measured.mean - error) < 6 * measured.std_error + what.error_estimate(start)
    assert measured.std_error < 0.01


@pytest.mark.parametrize("matrices", [False, True])
def test_softmax_error_is_that_of_its_sample(matrices: bool) -> None:
    # The network itself on the same samples; matrices see z only on average.
    what = Softmax(4, 2, 3, matrices, SampleStream(1, 4))
    start = what.start(np.random.default_rng(2))
    network = what.heads(start)
    X, y = what.stream.take(0, what.samples)
    error = np.sum((nearest_neighbor(X, y) - apply_network(network, X, y)) ** 2, axis=1).mean()
    assert what.error_and_gradient(start)[0] == pytest.approx(
        error, abs=0.01 if matrices else 1e-12
    )


@pytest.mark.parametrize("matrices", [False, True])
def test_hardmax_error_is_that_of_its_queries(matrices: bool) -> None:
    # The network on the same queries, each with points of its own, again and again.
    what = Hardmax(4, 2, 3, matrices, SampleStream(1, 4))
    start = what.start(np.random.default_rng(3))
    network = what.heads(start)
    _, y = what.stream.take(0, what.queries)
    many = np.tile(y, (40, 1))
    X, _ = SampleStream(2, 4).take(0, len(many))
    squares = np.sum((nearest_neighbor(X, many) - apply_network(network, X, many)) ** 2, axis=1)
    error = what.error_and_gradient(start)[0]
    assert abs(error - squares.mean()) < 6 * squares.std() / math.sqrt(len(many)) < 0.02


def test_best_values_are_no_worse_than_others() -> None:
    rng = np.random.default_rng(4)
    for kind in (ScalarHardmaxRankOne, MatrixHardmaxRankOne):
        what: Objective = kind(5, 3)
        start = what.start(rng)
        network = what.heads(start)
        assert isinstance(network, Network)
        V = network.layers[0].values
        X, y = SampleStream(0, 5).take(0, 200_000)
        outputs = apply_network(network, X, y)
        f = nearest_neighbor(X, y)
        # At least squares the error of a multiple of the layer is least at 1.
        factor = np.sum(outputs * f) / np.sum(outputs**2)
        assert factor == pytest.approx(1, abs=0.03)
        assert V.ndim == (1 if kind is ScalarHardmaxRankOne else 3)


@given(d=st.integers(2, 6), seed=st.integers(0, 2**32))
@settings(max_examples=25, deadline=None)
def test_matrices_do_at_least_as_well_as_scalars(d: int, seed: int) -> None:
    start = ScalarHardmaxRankOne(d, 4).start(np.random.default_rng(seed))
    scalar, _ = ScalarHardmaxRankOne(d, 4).error_and_gradient(start)
    matrix, _ = MatrixHardmaxRankOne(d, 4).error_and_gradient(start)
    assert 0 < matrix <= scalar + 1e-9


@pytest.mark.parametrize("d", [2, 3, 5, 16])
def test_traces_of_moments_are_k1_and_k2(d: int) -> None:
    rng = np.random.default_rng(d)
    q, k = (unit_rows(rng.standard_normal((4, d))) for _ in range(2))
    b = target_correlation(d, np.sum(q * k, axis=1))
    assert np.trace(target_moments(q, k), axis1=1, axis2=2) == pytest.approx(b, abs=1e-12)
    traces = np.einsum("hagb,ab->hg", sign_moments(k[None], np.ones((1, 4, 4))), np.eye(d))
    assert traces == pytest.approx(2 / math.pi * angles(k, k), abs=1e-12)


@pytest.mark.parametrize("d", [2, 3, 5])
@pytest.mark.parametrize("apart", [0.0, 1e-8, 1e-3, 0.02])
@pytest.mark.parametrize("side", [1, -1])
def test_moments_near_equal_maps(d: int, apart: float, side: int) -> None:
    # For q = k from E|c| sqrt(1-c^2), two Beta integrals; nearby, continuity.
    k = unit_rows(np.random.default_rng(0).standard_normal((1, d)))
    off = unit_rows(np.random.default_rng(1).standard_normal((1, d)))
    q = side * unit_rows(k + apart * off)
    m1 = 2 * math.gamma(d / 2) / (d * math.sqrt(math.pi) * math.gamma((d - 1) / 2))
    b = target_correlation(d, np.array([1.0]))[0]
    kk = np.outer(k[0], k[0])
    m = m1 / (d - 1)
    expected = side * (b * np.eye(d) + 2 / math.pi * ((m1 + m) * kk - m * np.eye(d))) / d
    assert target_moments(q, k)[0] == pytest.approx(expected, abs=2 * apart + 1e-10)


@pytest.mark.parametrize(("d", "r", "H"), [(3, 1, 2), (4, 1, 3), (6, 2, 2), (8, 3, 1)])
def test_matrices_that_are_the_identity_give_t2(d: int, r: int, H: int) -> None:
    # Another program for the same projection, degree by degree.
    what = ArbitraryMatrices(d, r, H)
    K, _ = what.start(np.random.default_rng(0))
    error, _ = what.error_and_gradient((K, np.broadcast_to(np.eye(d), (H, d, d)).copy()))
    assert error == pytest.approx(arbitrary_score_layer(K, degree=what.degree).error, abs=1e-7)


@pytest.mark.parametrize("d", [3, 4, 5, 8])
@pytest.mark.parametrize("H", [1, 2, 3, 8])
def test_scalar_optimum_is_t2_to_one_in_a_million(d: int, H: int) -> None:
    what = ArbitraryScalars(d, 1, H)
    error, _ = what.error_and_gradient(what.start(np.random.default_rng(0)))
    infimum = arbitrary_scores_error_infimum(d, 1, H)
    assert float(infimum.lo) <= error < float(infimum.hi) + 1e-6


@given(
    d=st.integers(3, 7),
    H=st.integers(1, 6),
    scores=st.sampled_from(["hardmax", "arbitrary"]),
    head_class=st.sampled_from(["scalar", "standard"]),
    seed=st.integers(0, 2**32),
)
@settings(max_examples=40, deadline=None)
def test_no_heads_go_below_t1(d: int, H: int, scores: str, head_class: str, seed: int) -> None:
    what = objective(d, 1, H, scores=scores, head_class=head_class, seed=seed)
    start = what.start(np.random.default_rng(seed))
    for _ in range(3):
        error, gradient = what.error_and_gradient(start)
        found = what.heads(start).head_class
        for bounded in HEAD_CLASSES[HEAD_CLASSES.index(found) :]:
            bound = T1().error(Problem.of(d, 1, head_class=bounded), H)
            assert error + what.error_estimate(start) > bound.lo
        start = tuple(A - 0.5 * G for A, G in zip(start, gradient, strict=True))
