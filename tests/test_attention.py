"""Batched attention against plain loops, its invariances, its ties and its memory."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from dataclasses import replace
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from boundcheck.attention import apply_layer, apply_network, attend
from boundcheck.errors import InputError
from boundcheck.layer import Layer
from boundcheck.network import Network, converted
from boundcheck.score_weights import hardmax, softmax
from boundcheck.targets import nearest_neighbor

Floats = NDArray[np.float64]
SEEDS = st.integers(0, 2**32 - 1)
VALUES = ("equal", "scalar", "shared", "matrices")


# ---- the definition, head by head and sample by sample


def loop_weights(layer: Layer, X: Floats, q: Floats) -> Floats:
    """(H, N) for one sample, from the definition in THEORY.md's section 0."""
    phi = np.zeros((layer.heads, len(X)))
    for h in range(layer.heads):
        scores = [float((layer.Q[h].T @ q) @ (layer.K[h].T @ x)) for x in X]
        if layer.scores == "hardmax":
            phi[h, scores.index(max(scores))] = 1
        else:
            powers = [np.exp(layer.inverse_temperature * (s - max(scores))) for s in scores]
            phi[h] = np.asarray(powers) / sum(powers)
    return phi


def loop_layer(layer: Layer, X: Floats, q: Floats) -> Floats:
    phi = loop_weights(layer, X, q)
    out = q.copy() if layer.residual else np.zeros_like(q)
    for h in range(layer.heads):
        V = layer.values[h]
        if layer.values.ndim == 1:
            V = V * (np.eye(layer.m) if layer.matrix is None else layer.matrix)
        out = out + V @ sum(phi[h, i] * X[i] for i in range(len(X)))
    return out


def loop_network(network: Network, X: Floats, y: Floats) -> Floats:
    rows = []
    for points, query in zip(X, y, strict=True):
        tokens, q = points, query
        if network.positions:
            tokens = np.hstack([points, np.eye(network.points)])
            q = np.concatenate([query, np.zeros(network.points)])
        for layer in network.layers:
            q = loop_layer(layer, tokens, q)
        rows.append(q[: network.d])
    return np.asarray(rows)


# ---- random networks and samples


def random_layer(rng: np.random.Generator, H: int, m: int, r: int, kind: str, **rest: Any) -> Layer:
    Q = rng.standard_normal((H, m, r))
    values = {
        "equal": np.full(H, 1 / H),
        "scalar": rng.standard_normal(H) / H,
        "shared": rng.standard_normal(H) / H,
        "matrices": rng.standard_normal((H, m, m)) / H,
    }[kind]
    matrix = rng.standard_normal((m, m)) if kind == "shared" else None
    K = Q if rng.integers(2) else rng.standard_normal((H, m, r))
    return Layer(Q=Q, K=K, values=values, matrix=matrix, **rest)


def random_samples(rng: np.random.Generator, batch: int, n: int, d: int) -> tuple[Floats, Floats]:
    return rng.standard_normal((batch, n, d)), rng.standard_normal((batch, d))


def orthogonal(rng: np.random.Generator, d: int) -> Floats:
    Q: Floats = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return Q


@st.composite
def networks(
    draw: st.DrawFn, scores: tuple[str, ...] = ("hardmax", "softmax"), most_layers: int = 3
) -> Network:
    rng = np.random.default_rng(draw(SEEDS))
    d, n = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    positions = draw(st.booleans())
    layers = [
        random_layer(
            rng,
            draw(st.integers(1, 9)),
            d + n if positions else d,
            draw(st.integers(1, d)),
            draw(st.sampled_from(VALUES)),
            scores=draw(st.sampled_from(scores)),
            inverse_temperature=draw(st.sampled_from([0.5, 1.0, 4.0])),
            residual=draw(st.booleans()),
        )
        for _ in range(draw(st.integers(1, most_layers)))
    ]
    return Network(layers=tuple(layers), d=d, points=n, positions=positions)


@settings(deadline=None, max_examples=60)
@given(networks(), SEEDS)
def test_every_kind_of_network_gives_what_the_loops_give(network: Network, seed: int) -> None:
    X, y = random_samples(np.random.default_rng(seed), 7, network.points, network.d)
    expected = loop_network(network, X, y)
    np.testing.assert_allclose(apply_network(network, X, y), expected, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=15)
@given(networks(), SEEDS)
def test_the_strict_array_api_gives_the_same(network: Network, seed: int) -> None:
    X, y = random_samples(np.random.default_rng(seed), 7, network.points, network.d)
    strict = array_api_strict.asarray
    out = apply_network(converted(network, array_api_strict), strict(X), strict(y))
    assert type(out) is type(strict(X))
    np.testing.assert_allclose(np.asarray(out), apply_network(network, X, y), atol=1e-11)


def test_full_rank_hardmax_is_the_nearest_neighbour() -> None:
    # U1, against the target itself.
    X, y = random_samples(np.random.default_rng(1), 500, 4, 5)
    identity = np.eye(5)[None]
    full = Network(layers=(Layer(Q=identity, K=identity, values=np.ones(1)),), d=5, points=4)
    np.testing.assert_array_equal(apply_network(full, X, y), nearest_neighbor(X, y))


def test_many_heads_against_whole_arrays() -> None:
    # Enough heads and samples for several blocks of both; expected by einsum over everything.
    rng = np.random.default_rng(2)
    X, y = random_samples(rng, 1100, 3, 4)
    for kind in VALUES:
        layer = random_layer(rng, 300, 4, 2, kind)
        queries = np.einsum("bm,hmr->bhr", y, layer.Q)
        scores = np.einsum("bhr,hmr,bnm->bhn", queries, layer.K, X, optimize=True)
        pooled = np.einsum("bhn,bnm->bhm", np.eye(3)[np.argmax(scores, axis=2)], X, optimize=True)
        if layer.values.ndim == 3:
            expected = np.einsum("hij,bhj->bi", layer.values, pooled, optimize=True)
        else:
            expected = np.einsum("h,bhj->bj", layer.values, pooled)
            expected = expected if layer.matrix is None else expected @ layer.matrix.T
        np.testing.assert_allclose(apply_layer(layer, X, y), expected, atol=1e-10)


def test_no_sample_gives_no_output() -> None:
    layer = random_layer(np.random.default_rng(3), 3, 4, 2, "scalar")
    assert apply_layer(layer, np.zeros((0, 2, 4)), np.zeros((0, 4))).shape == (0, 4)


def test_one_point_has_all_the_weight() -> None:
    rng = np.random.default_rng(4)
    X, y = random_samples(rng, 5, 1, 4)
    for scores in ("hardmax", "softmax"):
        layer = random_layer(rng, 3, 4, 2, "scalar", scores=scores)
        expected = np.sum(layer.values) * X[:, 0, :]
        np.testing.assert_allclose(apply_layer(layer, X, y), expected, atol=1e-12)


# ---- invariances


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 4), st.sampled_from(VALUES), st.sampled_from(["hardmax", "softmax"]))
def test_rotating_everything_rotates_the_output(seed: int, n: int, kind: str, scores: str) -> None:
    rng = np.random.default_rng(seed)
    X, y = random_samples(rng, 20, n, 5)
    layer = random_layer(rng, 6, 5, 2, kind, scores=scores, residual=True)
    R = orthogonal(rng, 5)
    values = layer.values
    turned = replace(
        layer,
        Q=np.einsum("ij,hjr->hir", R, layer.Q),
        K=np.einsum("ij,hjr->hir", R, layer.K),
        values=R @ values @ R.T if values.ndim == 3 else values,
        matrix=None if layer.matrix is None else R @ layer.matrix @ R.T,
    )
    expected = apply_layer(layer, X, y) @ R.T
    np.testing.assert_allclose(apply_layer(turned, X @ R.T, y @ R.T), expected, atol=1e-10)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.permutations(range(4)), st.sampled_from(["hardmax", "softmax"]))
def test_permuting_the_points_permutes_the_weights(seed: int, order: Any, scores: str) -> None:
    # Values that read the positions show each point's weight; the points' sum does not change.
    rng = np.random.default_rng(seed)
    X, y = random_samples(rng, 20, 4, 3)
    e = np.broadcast_to(np.eye(4), (20, 4, 4))
    q = np.hstack([y, np.zeros((20, 4))])
    Q = rng.standard_normal((5, 7, 2))
    Q[:, 3:, :] = 0
    layer = Layer(Q=Q, K=Q, values=rng.standard_normal(5), scores=scores)  # type: ignore[arg-type]
    before = apply_layer(layer, np.concatenate([X, e], axis=2), q)
    after = apply_layer(layer, np.concatenate([X[:, order, :], e], axis=2), q)
    np.testing.assert_allclose(after[:, :3], before[:, :3], atol=1e-11)
    np.testing.assert_allclose(after[:, 3:], before[:, 3:][:, order], atol=1e-11)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 4), st.floats(1e-6, 1e6), st.sampled_from(["float32", "float64"]))
def test_scaling_queries_or_keys_changes_no_hardmax(
    seed: int, n: int, scale: float, dtype: str
) -> None:
    rng = np.random.default_rng(seed)
    X, y = (a.astype(dtype) for a in random_samples(rng, 20, n, 5))
    layer = random_layer(rng, 6, 5, 1, "scalar")
    layer = converted(Network(layers=(layer,), d=5, points=n), np, dtype).layers[0]
    # Powers of two change no digit, so nothing can move at all.
    power = layer.Q.dtype.type(2.0 ** round(np.log2(scale)))
    out = apply_layer(layer, X, y)
    np.testing.assert_array_equal(apply_layer(replace(layer, Q=layer.Q * power), X, y), out)
    np.testing.assert_array_equal(apply_layer(replace(layer, K=layer.K * power), X, y), out)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 4), st.floats(1e-3, 1e3))
def test_any_scale_changes_no_hardmax_of_clear_scores(seed: int, n: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    X, y = random_samples(rng, 20, n, 5)
    layer = random_layer(rng, 6, 5, 3, "matrices")
    out = apply_layer(layer, X, y)
    for changed in (replace(layer, Q=scale * layer.Q), replace(layer, K=scale * layer.K)):
        np.testing.assert_allclose(apply_layer(changed, X, y), out, atol=1e-12)


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 4))
def test_softmax_tends_to_hardmax(seed: int, n: int) -> None:
    # All but the largest weight are at most exp(-beta gap), so the outputs differ by at most
    # sum_h |a_h| 2 (N-1) exp(-beta gap) max|x_i|; the gap is found by the loops.
    rng = np.random.default_rng(seed)
    X, y = random_samples(rng, 10, n, 5)
    hard = random_layer(rng, 4, 5, 2, "scalar")
    limit = apply_layer(hard, X, y)
    gaps = np.empty(10)
    for b in range(10):
        scores = np.einsum("hmr,m,hkr,nk->hn", hard.Q, y[b], hard.K, X[b], optimize=True)
        two = np.sort(scores, axis=1)[:, -2:]
        gaps[b] = np.min(two[:, 1] - two[:, 0])
    size = 2 * (n - 1) * np.sum(np.abs(hard.values)) * np.max(np.linalg.norm(X, axis=2))
    for beta in (1.0, 30.0, 1e3, 1e6):
        soft = apply_layer(replace(hard, scores="softmax", inverse_temperature=beta), X, y)
        away = np.linalg.norm(soft - limit, axis=1)
        assert np.all(away <= size * np.exp(-beta * gaps) + 1e-12)


@settings(deadline=None, max_examples=30)
@given(networks(scores=("softmax",), most_layers=1), SEEDS)
def test_float32_agrees_with_float64_and_stays_float32(network: Network, seed: int) -> None:
    X, y = random_samples(np.random.default_rng(seed), 20, network.points, network.d)
    double = apply_network(network, X, y)
    single = apply_network(converted(network, np, "float32"), X.astype("f4"), y.astype("f4"))
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    np.testing.assert_allclose(single, double, atol=1e-3 * (1 + np.abs(double).max()))


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(2, 4), st.sampled_from(VALUES))
def test_float32_hardmax_agrees_where_scores_are_clear(seed: int, n: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    X, y = random_samples(rng, 40, n, 5)
    network = Network(layers=(random_layer(rng, 6, 5, 2, kind),), d=5, points=n)
    layer = network.layers[0]
    scores = np.einsum("bm,hmr,hkr,bnk->bhn", y, layer.Q, layer.K, X, optimize=True)
    two = np.sort(scores, axis=2)[:, :, -2:]
    clear = np.min(two[:, :, 1] - two[:, :, 0], axis=1) > 1e-3
    single = apply_network(converted(network, np, "float32"), X.astype("f4"), y.astype("f4"))
    double = apply_network(network, X, y)
    np.testing.assert_allclose(single[clear], double[clear], atol=1e-4)
    assert clear.any()


@settings(deadline=None, max_examples=20)
@given(networks(), SEEDS)
def test_block_sizes_change_nothing(network: Network, seed: int) -> None:
    X, y = random_samples(np.random.default_rng(seed), 30, network.points, network.d)
    least = least_cap(network, X, y)
    whole = apply_network(network, X, y)
    for cap in (least, least + 2**13, least + 2**16):
        np.testing.assert_allclose(apply_network(network, X, y, memory_cap=cap), whole, atol=1e-10)


# ---- ties


@pytest.mark.parametrize("xp", [np, array_api_strict])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("n", [2, 3, 5])
def test_the_lowest_index_wins_a_tie(xp: Any, dtype: str, n: int) -> None:
    # With a query of zeros, equal points, or a head of zeros all scores are equal.
    rng = np.random.default_rng(5)
    Q = rng.standard_normal((40, 6, 2))
    layer = Layer(Q=Q, K=Q, values=np.ones(40))
    network = converted(Network(layers=(layer,), d=6, points=n), xp, dtype)
    read = replace(network.layers[0], matrix=xp.eye(6, dtype=getattr(xp, dtype)))
    X = rng.standard_normal((8, n, 6))
    zeros = np.zeros((8, 6))

    def out(layer: Layer, X: Floats, y: Floats) -> Floats:
        arrays = [xp.asarray(a.astype(dtype)) for a in (X, y)]
        return np.asarray(apply_layer(layer, *arrays))

    first = 40 * X[:, 0, :].astype(dtype)
    np.testing.assert_array_equal(out(network.layers[0], X, zeros), first)
    np.testing.assert_array_equal(out(read, X, zeros), first)
    # Equal points with marks that no score sees.
    marked = np.repeat(X[:, :1, :], n, axis=1)
    marked[:, :, 5] = np.arange(n)
    blind = Q.copy()
    blind[:, 5, :] = 0
    blind_layer = Layer(Q=blind, K=blind, values=np.ones(40))
    blind_layer = converted(Network(layers=(blind_layer,), d=6, points=n), xp, dtype).layers[0]
    assert np.all(out(blind_layer, marked, X[:, 1, :])[:, 5] == 0)


def test_hardmax_of_equal_logits_on_both_libraries() -> None:
    logits = np.asarray([[[1.0, 3, 3, 2], [0, 0, 0, 0], [-np.inf, -np.inf, -1, -1]]])
    expected = [[[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]]]
    np.testing.assert_array_equal(hardmax(logits), expected)
    np.testing.assert_array_equal(np.asarray(hardmax(array_api_strict.asarray(logits))), expected)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("votes", [2, 6, 10, 30, 98, 1000])
def test_equal_votes_stay_an_exact_tie(dtype: str, votes: int) -> None:
    # 1/H is not a binary fraction for most of these H, and sums of it depend on their order.
    rng = np.random.default_rng(6)
    d = 3
    U = np.zeros((votes, d + 2, 1))
    U[:, :d, 0] = rng.standard_normal((votes, d))
    marks = np.diag([0.0] * d + [1.0, 1.0])
    points = np.diag([1.0] * d + [0.0, 0.0])
    compare = np.zeros((1, d + 2, 1))
    compare[0, d:, 0] = 1, -1
    voting = Layer(Q=U, K=U, values=np.full(votes, 1 / votes), matrix=marks, residual=True)
    reading = Layer(Q=compare, K=compare, values=np.ones(1), matrix=points)
    network = Network(layers=(voting, reading), d=d, points=2, positions=True)
    network = converted(network, np, dtype)
    X, y = (a.astype(dtype) for a in random_samples(rng, 4000, 2, d))
    # Votes counted as whole numbers, in the same dtype as their signs are found in.
    heads = network.layers[0].Q[:, :d, 0]
    right = (y @ heads.T) * ((X[:, 0, :] - X[:, 1, :]) @ heads.T) >= 0
    count = np.count_nonzero(right, axis=1)
    ties = 2 * count == votes
    assert ties.any()
    winner = np.where(2 * count >= votes, 0, 1)
    np.testing.assert_array_equal(apply_network(network, X, y), X[np.arange(len(X)), winner])


# ---- numbers at the edge


def test_logits_of_ten_thousand_do_not_overflow_in_float32() -> None:
    tiny = float(np.finfo(np.float32).tiny)
    logits = np.asarray([[[1e4, -1e4, 1e4 - 1]]], dtype=np.float32)
    weights = softmax(logits)
    assert weights.dtype == np.float32
    np.testing.assert_allclose(weights[0, 0], [1 / (1 + np.exp(-1)), 0, 1 / (1 + np.e)], rtol=1e-6)
    identity = np.eye(3, dtype=np.float32)[None]
    for n in (2, 3):
        hot = Layer(
            Q=identity,
            K=identity,
            values=np.ones(1, np.float32),
            scores="softmax",
            inverse_temperature=1e4,
        )
        X = np.eye(3, dtype=np.float32)[None, :n]
        for sign in (1, -1):
            q = np.asarray([[0, sign, 0]], dtype=np.float32)
            others = X[:, 0] if n == 2 else (X[:, 0] + X[:, 2]) / 2
            expected = X[:, 1] if sign == 1 else others
            np.testing.assert_allclose(apply_layer(hot, X, q), expected, atol=tiny)


@pytest.mark.parametrize("weigh", [softmax, hardmax])
def test_logits_that_leave_nothing_are_refused(weigh: Any) -> None:
    logits = np.zeros((2, 3, 2))
    logits[1, 2, :] = -np.inf
    with pytest.raises(InputError, match="all minus infinity"):
        weigh(logits)
    for bad in (np.nan, np.inf):
        logits[1, 2, :] = 0, bad
        with pytest.raises(InputError, match="nan or plus infinity"):
            weigh(logits)
    with pytest.raises(InputError, match=r"shape \(2,\)"):
        weigh(np.zeros(2))
    # One point left is fine.
    logits[1, 2, :] = -np.inf, -5
    np.testing.assert_array_equal(weigh(logits)[1, 2], [0, 1])


def test_scores_that_could_overflow_are_refused() -> None:
    rng = np.random.default_rng(7)
    big = (1e20 * rng.standard_normal((3, 4, 2))).astype(np.float32)
    layer = Layer(Q=big, K=big, values=np.ones(3, np.float32))
    X, y = (a.astype(np.float32) for a in random_samples(rng, 5, 2, 4))
    with pytest.raises(InputError, match="could overflow"):
        apply_layer(layer, X, y)
    # The same heads are fine in float64.
    layer = converted(Network(layers=(layer,), d=4, points=2), np, "float64").layers[0]
    assert np.all(np.isfinite(apply_layer(layer, X.astype("f8"), y.astype("f8"))))


# ---- user-supplied weights


@settings(deadline=None, max_examples=30)
@given(SEEDS, st.integers(1, 5), st.integers(1, 9), st.sampled_from(VALUES))
def test_attend_sums_any_weights(seed: int, n: int, H: int, kind: str) -> None:
    rng = np.random.default_rng(seed)
    X, _ = random_samples(rng, 30, n, 4)
    weights = rng.standard_normal((30, H, n))
    layer = random_layer(rng, H, 4, 1, kind)
    maps = layer.values if layer.values.ndim == 3 else layer.values[:, None, None] * np.eye(4)
    maps = maps if layer.matrix is None else layer.values[:, None, None] * layer.matrix
    expected = np.einsum("hij,bhn,bnj->bi", maps, weights, X)
    out = attend(weights, X, layer.values, layer.matrix)
    np.testing.assert_allclose(out, expected, atol=1e-10)
    strict = [
        None if a is None else array_api_strict.asarray(a)
        for a in (weights, X, layer.values, layer.matrix)
    ]
    np.testing.assert_allclose(np.asarray(attend(*strict)), expected, atol=1e-10)


@pytest.mark.parametrize("scores", ["hardmax", "softmax"])
def test_attend_with_a_layers_weights_is_the_layer(scores: str) -> None:
    rng = np.random.default_rng(8)
    X, y = random_samples(rng, 6, 3, 4)
    layer = random_layer(rng, 5, 4, 2, "matrices", scores=scores)
    weights = np.stack([loop_weights(layer, *sample) for sample in zip(X, y, strict=True)])
    np.testing.assert_allclose(
        attend(weights, X, layer.values), apply_layer(layer, X, y), atol=1e-11
    )


def test_attend_refuses_what_does_not_fit() -> None:
    X, ones = np.ones((2, 3, 4)), np.ones(5)
    with pytest.raises(InputError, match="weights, X"):
        attend(np.ones((2, 5, 2)), X, ones)
    with pytest.raises(InputError, match="values: got"):
        attend(np.ones((2, 4, 3)), X, ones)
    with pytest.raises(InputError, match="weights: got 'nan"):
        attend(np.full((2, 5, 3), np.nan), X, ones)
    with pytest.raises(InputError, match="heads: got 0"):
        attend(np.ones((2, 0, 3)), X, np.ones(0))
    with pytest.raises(InputError, match="weights: got float32"):
        attend(np.ones((2, 5, 3), np.float32), X, ones)


# ---- memory


def least_cap(network: Network, X: Floats, y: Floats) -> int:
    """The smallest cap that the refusal of a cap of one byte names."""
    with pytest.raises(InputError, match="memory-cap: got 1, allowed: at least") as refusal:
        apply_network(network, X, y, memory_cap=1)
    return int(refusal.value.allowed.split()[2])


def peak_bytes(network: Network, X: Any, y: Any, memory_cap: int) -> int:
    apply_network(network, X[:1], y[:1])  # imports and caches do not count
    tracemalloc.start()
    try:
        apply_network(network, X, y, memory_cap=memory_cap)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["scalar", "matrices"])
@pytest.mark.parametrize("scores", ["hardmax", "softmax"])
@pytest.mark.parametrize(
    ("H", "m", "r", "n", "batch"),
    [(500, 8, 1, 2, 100), (60, 8, 4, 2, 100), (60, 8, 4, 6, 100), (2, 40, 40, 12, 60)],
)
def test_the_memory_cap_is_kept(
    kind: str, scores: str, H: int, m: int, r: int, n: int, batch: int
) -> None:
    rng = np.random.default_rng(9)
    layer = random_layer(rng, H, m, r, kind, scores=scores, residual=True)
    network = Network(layers=(layer, layer), d=m, points=n)
    X, y = random_samples(rng, batch, n, m)
    least = least_cap(network, X, y)
    with pytest.raises(InputError, match="memory-cap"):
        apply_network(network, X, y, memory_cap=least - 1)
    for cap in (least + 2**16, least + 2**20, 2**30):
        assert peak_bytes(network, X, y, cap) <= cap
    # One sample and one head at a time are slow; a few samples show that the least is enough.
    least = least_cap(network, X[:2], y[:2])
    assert peak_bytes(network, X[:2], y[:2], least) <= least


def test_large_blocks_are_within_the_cap(monkeypatch: pytest.MonkeyPatch) -> None:
    # On a GPU blocks are as large as the cap allows; here NumPy takes the same ones.
    rng = np.random.default_rng(14)
    layer = random_layer(rng, 3000, 8, 2, "shared", scores="softmax")
    network = Network(layers=(layer,), d=8, points=3)
    X, y = random_samples(rng, 500, 3, 8)
    expected = apply_network(network, X, y)
    monkeypatch.setattr("boundcheck.attention.is_cupy", lambda xp: True)
    for cap in (2**21, 2**25):
        peak = peak_bytes(network, X, y, cap)
        assert cap / 4 < peak <= cap
    np.testing.assert_allclose(apply_network(network, X, y), expected, atol=1e-11)


def test_positions_are_within_the_cap() -> None:
    rng = np.random.default_rng(10)
    n = 40
    layer = random_layer(rng, 50, 3 + n, 2, "shared", residual=True)
    network = Network(layers=(layer,), d=3, points=n, positions=True)
    X, y = random_samples(rng, 300, n, 3)
    cap = least_cap(network, X, y) + 2**18
    assert peak_bytes(network, X, y, cap) <= cap


@pytest.mark.parametrize("cap", [0, -1, 2.5, "much"])
def test_a_cap_that_is_no_number_of_bytes_is_refused(cap: Any) -> None:
    layer = random_layer(np.random.default_rng(11), 3, 4, 2, "scalar")
    with pytest.raises(InputError, match="memory-cap"):
        apply_layer(layer, np.ones((1, 2, 4)), np.ones((1, 4)), memory_cap=cap)


LARGE = """
import resource
import numpy as np
from boundcheck.attention import apply_network
from boundcheck.network import Layer, Network

rng = np.random.default_rng(0)
Q = rng.standard_normal((65536, 64, 1))
X = rng.standard_normal((512, 2, 64))
y = rng.standard_normal((512, 64))
values = rng.standard_normal(65536)
network = Network(layers=(Layer(Q=Q, K=Q, values=values),), d=64, points=2)
apply_network(network, X[:8], y[:8])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
out = apply_network(network, X, y)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
few = slice(500, 512)
first = (y[few] @ Q[:, :, 0].T) * ((X[few, 0] - X[few, 1]) @ Q[:, :, 0].T) >= 0
expected = (first @ values)[:, None] * X[few, 0] + (~first @ values)[:, None] * X[few, 1]
print(1024 * (after - before), np.abs(out[few] - expected).max())
"""


def test_a_batch_of_512_with_65536_heads_runs_within_the_cap() -> None:
    # The peak is the process's, as the system counts it. All scores at once, with the products
    # they come from, would take 1 GiB for the difference alone.
    run = subprocess.run(
        [sys.executable, "-c", LARGE], capture_output=True, text=True, check=True, timeout=300
    )
    grown, error = run.stdout.split()
    assert int(grown) <= 2**30
    assert float(error) < 1e-9


# ---- bad samples


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        (np.ones((5, 2, 3)), np.ones((5, 4)), r"X: got 'shape \(5, 2, 3\)'"),
        (np.ones((5, 3, 4)), np.ones((5, 4)), r"allowed: shape \(batch, 2, 4\)"),
        (np.ones((5, 2, 4)), np.ones((4, 4)), r"y: got 'shape \(4, 4\)'"),
        (np.ones((2, 4)), np.ones((5, 4)), "X: got"),
        (np.full((5, 2, 4), np.nan), np.ones((5, 4)), "X: got 'nan"),
        (np.ones((5, 2, 4)), np.full((5, 4), np.inf), "y: got 'nan"),
        (np.ones((5, 2, 4), np.float32), np.ones((5, 4)), "X: got float32"),
        (np.ones((5, 2, 4)), array_api_strict.ones((5, 4)), "arrays of one library"),
    ],
)
def test_samples_that_do_not_fit_are_refused(X: Any, y: Any, message: str) -> None:
    layer = random_layer(np.random.default_rng(12), 3, 4, 2, "scalar")
    with pytest.raises(InputError, match=message) as refusal:
        apply_network(Network(layers=(layer,), d=4, points=2), X, y)
    assert "\n" not in str(refusal.value)
