"""K1 and K2 in closed form, the best weights, and heads in the plane."""

from __future__ import annotations

import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from boundcheck.attention import apply_network
from boundcheck.constructions.best_weights import best_weight_heads, best_weights
from boundcheck.constructions.conjugate_gradients import GramMatrix, gram_solution
from boundcheck.constructions.planar import planar_heads
from boundcheck.constructions.rank_one_error import (
    angles,
    head_correlations,
    rank_one_error,
    rank_one_error_and_gradient,
    target_correlation,
    target_correlation_slope,
    target_correlations,
    unit_heads,
    upper_blocks,
)
from boundcheck.errors import InputError
from boundcheck.network import Layer, Network
from boundcheck.quadrature import sphere_expectation
from boundcheck.sampling import SampleStream
from boundcheck.targets import nearest_neighbor

Array = NDArray[np.float64]


def random_heads(d: int, heads: int, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return unit_heads(rng.normal(size=(heads, d)), rng.normal(size=(heads, d)))


def layer_of(Q: Array, K: Array, values: Array) -> Network:
    layer = Layer(Q=Q[:, :, None], K=K[:, :, None], values=values)
    return Network(layers=(layer,), d=Q.shape[1], points=2)


def sampled_error(network: Network, samples: int) -> tuple[float, float]:
    X, y = SampleStream(0, network.d).take(0, samples)
    difference = apply_network(network, X, y) - nearest_neighbor(X, y)
    squares = np.vecdot(difference, difference)
    return float(squares.mean()), float(squares.std()) / math.sqrt(samples)


# K2


def series(d: int, s: Array, degree: int) -> tuple[Array, float]:
    """K2's sum up to that degree, and what the later ones can add: |lambda_l| E_l each, H3."""
    first = math.lgamma(d / 2) - math.lgamma((d - 1) / 2)
    sign = 2 / math.sqrt(math.pi) * math.exp(first) / (d - 1)
    energy, energies = d * sign**2, 0.0
    total = np.zeros_like(s)
    previous, current = np.ones_like(s), s
    for l in range(1, degree + 1):
        if l % 2:
            total += sign * energy * current
            energies += energy
            ratio = (2 * l + d + 2) * (l + d - 1) * (l + d - 2)
            energy *= ratio / ((2 * l + d - 2) * (l + 1) * (l + 2)) * (l / (l + d)) ** 2
            sign *= -l / (l + d)
        previous, current = current, ((2 * l + d - 2) * s * current - l * previous) / (l + d - 2)
    return total, abs(sign) * (1 - energies)


@pytest.mark.parametrize(
    ("d", "degree", "truncation"),
    [(2, 2001, 1e-6), (3, 2001, 1e-8), (4, 4001, 1e-10), (8, 1001, 1e-12), (64, 101, 1e-20)],
)
def test_target_correlation_is_the_series(d: int, degree: int, truncation: float) -> None:
    s = np.concatenate([[0, 1e-9, 1, -1, 0.999999], np.linspace(-1, 1, 37)])
    expected, rest = series(d, s, degree)
    assert rest < truncation
    assert np.allclose(target_correlation(d, s), expected, rtol=0, atol=rest + 1e-14)


def test_target_correlation_in_the_plane() -> None:
    # The series is that of a parabola: sum (-1)^k cos((2k+1)t)/(2k+1)^3 = pi/8 (pi^2/4 - t^2).
    s = np.linspace(0, 1, 101)
    expected = 0.5 - 2 * (np.arccos(s) / math.pi) ** 2
    assert np.allclose(target_correlation(2, s), expected, rtol=0, atol=3e-15)
    assert np.allclose(target_correlation(2, -s), -expected, rtol=0, atol=3e-15)


@pytest.mark.parametrize("d", [2, 3, 7, 100, 10**6])
def test_target_correlation_of_equal_maps(d: int) -> None:
    # s = 1: E[sign<x,y> sign<k,x> sign<k,y>] = (2/pi) E arcsin|t| by quadrature on the sphere.
    expected = sphere_expectation(lambda t: 2 / math.pi * np.arcsin(np.abs(t)), d)
    found = float(target_correlation(d, np.array([1.0]))[0])
    assert found == pytest.approx(expected.value, rel=1e-12)


@pytest.mark.parametrize("d", [2, 3, 10, 1000])
def test_slope_of_the_target_correlation(d: int) -> None:
    # Integrated over an interval by Gauss-Legendre.
    nodes, weights = np.polynomial.legendre.leggauss(30)
    for low, high in [(0.2, 0.7), (-0.4, -0.1), (0.9, 1.0)]:
        s = low + (high - low) * (1 + nodes) / 2
        rise = (high - low) / 2 * float(weights @ target_correlation_slope(d, s))
        ends = target_correlation(d, np.array([low, high]))
        assert rise == pytest.approx(float(ends[1] - ends[0]), rel=1e-10)


# K1


def test_angles_of_nearly_parallel_rows() -> None:
    # In the plane the angles are known: arcsin of the cosine of delta is pi/2 - delta.
    delta = np.array([0.0, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.5])
    A = np.array([[1.0, 0.0]])
    B = np.stack([np.cos(delta), np.sin(delta)], axis=1)
    assert np.allclose(angles(A, B)[0], math.pi / 2 - delta, rtol=0, atol=1e-15)
    assert np.allclose(angles(A, -B)[0], delta - math.pi / 2, rtol=0, atol=1e-15)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 700))
def test_blocks_cover_the_upper_triangle_once(heads: int) -> None:
    seen = np.zeros((heads, heads), dtype=int)
    for rows, columns in upper_blocks(heads):
        seen[rows, columns] += 1
    upper = np.triu(np.ones_like(seen))
    assert np.array_equal(seen * upper, upper)
    # Below the diagonal there are only the square blocks on it.
    assert np.array_equal(seen * (1 - upper), (seen * upper).T * (1 - upper) * seen)


@pytest.mark.parametrize(("d", "heads"), [(3, 5), (8, 20)])
def test_error_is_what_samples_show(d: int, heads: int) -> None:
    Q, K = random_heads(d, heads)
    values = np.random.default_rng(1).normal(size=heads) / heads
    mean, std_error = sampled_error(layer_of(Q, K, values), 200_000)
    assert abs(mean - rank_one_error(Q, K, values)) < 6 * std_error < 0.02


def test_lengths_do_not_matter() -> None:
    Q, K = random_heads(4, 6)
    values = np.full(6, 0.2)
    scaled = rank_one_error(3 * Q, 1e-5 * K, values)
    assert scaled == pytest.approx(rank_one_error(Q, K, values), rel=1e-13)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 9), st.integers(1, 12), st.integers(0, 2**32))
def test_gradient(d: int, heads: int, seed: int) -> None:
    # Central differences along random directions.
    rng = np.random.default_rng(seed)
    at = [rng.normal(size=(heads, d)), rng.normal(size=(heads, d)), rng.normal(size=heads)]
    error, *gradient = rank_one_error_and_gradient(*at)
    assert error == pytest.approx(rank_one_error(*at), rel=1e-12)
    for i, slope in enumerate(gradient):
        step = 1e-6 * rng.normal(size=at[i].shape)
        ahead, behind = list(at), list(at)
        ahead[i], behind[i] = at[i] + step, at[i] - step
        rise = rank_one_error(*ahead) - rank_one_error(*behind)
        size = float(np.sum(np.abs(slope * step))) + 1e-9
        assert abs(rise / 2 - float(np.sum(slope * step))) < 1e-3 * size


def test_gradient_in_many_blocks() -> None:
    # More heads than one block has, against the gradient of the heads' matrix as a whole.
    d, heads = 5, 600
    Q, K = random_heads(d, heads)
    a = np.random.default_rng(2).normal(size=heads) / heads
    _, by_Q, _, by_values = rank_one_error_and_gradient(Q, K, a)
    G, E = Q @ Q.T, K @ K.T
    C = (2 / math.pi) ** 2 * np.arcsin(np.clip(G, -1, 1)) * np.arcsin(np.clip(E, -1, 1))
    b = target_correlation(d, np.vecdot(Q, K))
    assert np.allclose(by_values, C @ a - b - (1 - a.sum()), atol=1e-7)
    np.fill_diagonal(G, 0.0)
    pulls = (2 / math.pi) ** 2 * np.outer(a, a) * np.arcsin(np.clip(E, -1, 1)) / np.sqrt(1 - G**2)
    np.fill_diagonal(pulls, 0.0)
    raw = pulls @ Q - (a * target_correlation_slope(d, np.vecdot(Q, K)))[:, None] * K
    raw -= np.vecdot(raw, Q)[:, None] * Q
    assert np.allclose(by_Q, raw, atol=1e-10)


# The best weights


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 12), st.integers(1, 40), st.integers(0, 2**32))
def test_other_weights_are_worse(d: int, heads: int, seed: int) -> None:
    Q, K = random_heads(d, heads, seed)
    best = best_weights(Q, K)
    least = rank_one_error(Q, K, best)
    assert 0 < least <= 15 / 16  # one head: 1 - (1 + b)^2 / 4, and |b| <= 1/2
    other = best + 0.01 * np.random.default_rng(seed).normal(size=heads)
    assert rank_one_error(Q, K, other) > least


@pytest.mark.parametrize(("d", "heads"), [(2, 60), (3, 300), (6, 700)])
@pytest.mark.parametrize("memory", [0, 2**20, 2**30])
def test_conjugate_gradients_find_the_same_error(d: int, heads: int, memory: int) -> None:
    # 700 heads are enough for the part of degree (1, 1) to be solved exactly at d = 6.
    Q, K = random_heads(d, heads)
    exact = best_weights(Q, K)
    target = 1 + target_correlations(Q, K)
    found = gram_solution(GramMatrix(Q, K, memory), target)
    least = rank_one_error(Q, K, exact)
    assert least - 1e-13 < rank_one_error(Q, K, found) < least + 1e-11


def test_gram_matrix_product() -> None:
    Q, K = random_heads(5, 600)
    whole = slice(0, 600)
    C = np.vstack([head_correlations(Q, K, slice(i, i + 1), whole) for i in range(600)])
    vector = np.random.default_rng(0).normal(size=600)
    for memory in (0, 2**19, 2**30):
        matrix = GramMatrix(Q, K, memory)
        for _ in range(2):  # the second time from the blocks kept
            assert np.allclose(matrix @ vector, C @ vector + vector.sum(), atol=1e-11)


@pytest.mark.parametrize("memory_cap", [2**20, 2**30])
def test_dependent_heads(memory_cap: int) -> None:
    # Repeated, reversed and opposite heads add nothing that fewer of them cannot do:
    # (q, k), (-q, -k) are one head, and all (q, -k) differ by the sum alone.
    Q, K = random_heads(4, 10)
    with_pair = np.vstack([Q, Q[:1]]), np.vstack([K, -K[:1]])
    least = rank_one_error(*with_pair, best_weights(*with_pair))
    many = np.vstack([Q, Q, -Q, Q]), np.vstack([K, K, -K, -K])
    found = rank_one_error(*many, best_weights(*many, memory_cap=memory_cap))
    assert found == pytest.approx(least, abs=1e-11)


@pytest.mark.parametrize(
    ("d", "heads", "draws", "low", "high"),
    [
        (10, 1, 400, 0.745, 0.755),
        (10, 512, 4, 0.23, 0.25),
        (10, 1024, 2, 0.19, 0.21),
        (30, 64, 20, 0.49, 0.51),
        (30, 1024, 2, 0.38, 0.40),
    ],
)
def test_mean_errors(d: int, heads: int, draws: int, low: float, high: float) -> None:
    # THEORY's value, .39 at d = 30, H = 1024, and the known means .75, .24, .20, .50, each
    # to one unit of the last digit; draws spread by 0.003 at H = 512.
    errors = [float(best_weight_heads(d, heads, seed).details["error"]) for seed in range(draws)]
    assert low < float(np.mean(errors)) < high


def test_error_in_the_details() -> None:
    network = best_weight_heads(6, 50, 3)
    mean, std_error = sampled_error(network, 100_000)
    assert abs(mean - float(network.details["error"])) < 6 * std_error < 0.02
    assert (network.statement, network.heads, network.rank) == ("K1", 50, 1)
    assert network.head_class == "scalar"


def test_fewer_heads_are_the_first_of_more() -> None:
    few, more = best_weight_heads(5, 7, 1), best_weight_heads(5, 20, 1)
    assert np.array_equal(few.layers[0].Q, more.layers[0].Q[:7])
    assert np.array_equal(few.layers[0].K, more.layers[0].K[:7])
    assert float(more.details["error"]) < float(few.details["error"])
    single = best_weight_heads(5, 7, 1, dtype="float32").layers[0]
    assert np.array_equal(single.values, few.layers[0].values.astype(np.float32))


@pytest.mark.parametrize("memory_cap", [2**26 + 8 * 3000**2, 2**26 + 2**24])
def test_memory_cap_is_kept(memory_cap: int) -> None:
    # By Cholesky factorisation with the one, by conjugate gradients with the other.
    Q, K = random_heads(20, 3000)
    best_weights(Q[:50], K[:50])  # what is imported only once does not count
    tracemalloc.start()
    try:
        best_weights(Q, K, memory_cap=memory_cap)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert 2**22 < peak < memory_cap


@pytest.mark.slow
def test_plateau() -> None:
    # THEORY's (1 - E_1)/2 = .165 is where weights of degree (1, 1) alone would end; with
    # 16384 heads the matrix exceeds the default memory cap.
    error = float(best_weight_heads(10, 16384, 0).details["error"])
    energy = 10 * sphere_expectation(np.abs, 10).value ** 2  # E_1 = d (E|t|)^2
    assert abs(error - (1 - energy) / 2) < 0.003


@pytest.mark.parametrize(
    ("Q", "K", "values", "message"),
    [
        (np.ones((2, 3)), np.ones((3, 2)), np.ones(2), "Q, K: got 'shapes"),
        (np.zeros((2, 3)), np.ones((2, 3)), np.ones(2), "Q: got 'a row that is zero"),
        (np.ones((2, 3)), np.full((2, 3), np.nan), np.ones(2), "K: got 'a row that is zero"),
        (np.ones((2, 3)), np.ones((2, 3)), np.ones(3), "values: got 'shape"),
        (np.ones((0, 3)), np.ones((0, 3)), np.ones(0), "Q, K: got 'shapes"),
    ],
)
def test_bad_heads(Q: Any, K: Any, values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        rank_one_error(Q, K, values)


# The plane


@pytest.mark.parametrize("heads", [1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 31])
def test_planar_error(heads: int) -> None:
    error = float(planar_heads(heads).details["error"])
    n = heads // 2
    # Closed forms: the row sums of C, a circulant matrix with entries (1 - 2j/H)^2 for q = k,
    # are H/3 + 2/(3H); for q and k nearly perpendicular they are 2/n. By hand.
    cells = (1 / n - 1 / (4 * n * n)) / 2 if n else 1.0
    if heads <= 5:
        assert error == pytest.approx(1 - 27 * heads**2 / (16 * (2 * heads**2 + 1)), abs=1e-13)
        assert error < cells
    elif heads % 2:
        assert error == pytest.approx(cells, abs=1e-13)
    else:
        # Above what the x-part alone needs, and at most that with all weights equal.
        assert cells < error < 1 / heads - 1 / (4 * heads**2)
    assert heads < 6 or error < 1 / (heads - 1)


@pytest.mark.parametrize("heads", [3, 8, 21])
def test_planar_error_by_sampling(heads: int) -> None:
    network = planar_heads(heads)
    mean, std_error = sampled_error(network, 100_000)
    assert abs(mean - float(network.details["error"])) < 6 * std_error < 0.02
    assert (network.d, network.heads, network.rank) == (2, heads, 1)


@pytest.mark.parametrize("heads", [2, 6, 8])
def test_random_directions_in_the_plane_are_worse(heads: int) -> None:
    spaced = float(planar_heads(heads).details["error"])
    drawn = [float(best_weight_heads(2, heads, seed).details["error"]) for seed in range(30)]
    assert spaced < min(drawn)
