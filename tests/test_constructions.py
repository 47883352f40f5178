"""The constructions as networks: sampled errors against predictions, and what they promise.

Predictions of random constructions are means over their draws, and one draw differs from the
mean by more than sampling does (at d = 8, r = 1, H = 15 by 0.018). So their sampled errors
are means over many draws with a few samples each, and their standard error comes from the
spread between draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import array_api_strict
import numpy as np
import pytest
from numpy.typing import NDArray

from boundcheck.attention import apply_network
from boundcheck.bounds.full_rank import full_rank_softmax_error
from boundcheck.bounds.haar_heads import haar_heads_error
from boundcheck.bounds.majority_vote import majority_vote_error, soft_vote_error
from boundcheck.bounds.random_heads import random_heads_error_upper_bound
from boundcheck.constructions.full_rank import full_rank_hardmax, full_rank_softmax
from boundcheck.constructions.majority_vote import majority_vote, soft_majority_vote
from boundcheck.constructions.random_heads import haar_heads, random_heads
from boundcheck.constructions.rank_one_error import rank_one_error
from boundcheck.errors import InputError
from boundcheck.network import Network
from boundcheck.sampling import Dtype, Law, SampleStream
from boundcheck.targets import nearest_neighbor

Array = NDArray[Any]
SIGMAS = 6


def squared_errors(network: Network, X: Array, y: Array) -> Array:
    difference = apply_network(network, X, y) - nearest_neighbor(X, y)
    squares: Array = np.vecdot(difference, difference)
    return squares


def sampled_error(network: Network, samples: int, seed: int = 0) -> tuple[float, float]:
    """Mean and standard error for one network."""
    squares = squared_errors(network, *SampleStream(seed, network.d).take(0, samples))
    return float(squares.mean()), float(squares.std()) / math.sqrt(samples)


def error_over_draws(
    make: Callable[[int], Network], draws: int, samples: int, seed: int = 0
) -> tuple[float, float]:
    """Mean and standard error over networks of different seeds, each on samples of its own."""
    means = []
    for i in range(draws):
        network = make(i)
        X, y = SampleStream(seed, network.d).take(i * samples, (i + 1) * samples)
        means.append(float(squared_errors(network, X, y).mean()))
    return float(np.mean(means)), float(np.std(means, ddof=1)) / math.sqrt(draws)


def assert_within(found: tuple[float, float], expected: float, most_std_error: float) -> None:
    mean, std_error = found
    assert 0 < std_error < most_std_error
    assert abs(mean - expected) < SIGMAS * std_error


# U1


@pytest.mark.parametrize(("d", "points", "law"), [(2, 2, "orthonormal"), (8, 5, "iid")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_full_rank_hardmax_is_exact(d: int, points: int, law: Law, dtype: Dtype) -> None:
    network = full_rank_hardmax(d, points=points, dtype=dtype)
    X, y = SampleStream(0, d, points=points, law=law, dtype=dtype).take(0, 2000)
    if dtype == "float64":
        assert np.array_equal(apply_network(network, X, y), nearest_neighbor(X, y))
    else:
        # Rounding may decide between scores that differ by less than it.
        missed = np.any(apply_network(network, X, y) != nearest_neighbor(X, y), axis=1)
        scores = np.sort(np.vecdot(X, y[:, None, :]), axis=1)
        assert ((scores[:, -1] - scores[:, -2])[missed] < 1e-6).all()
    assert (network.statement, network.rank, network.heads) == ("U1", d, 1)


# U2


def test_full_rank_softmax_error() -> None:
    # THEORY's values for d = 8, beta = 10.
    assert_within(sampled_error(full_rank_softmax(8, 10.0), 100_000), 0.05508, 1e-3)
    best = full_rank_softmax(8, 10.0, with_best_value=True)
    assert_within(sampled_error(best, 100_000), 0.0531, 1e-3)


def test_best_value_is_the_least_error_by_sampling() -> None:
    # The quadratic a -> E|f - a g|^2 of samples, from another seed than any test above.
    X, y = SampleStream(5, 8).take(0, 100_000)
    f, g = nearest_neighbor(X, y), apply_network(full_rank_softmax(8, 4.0), X, y)
    products = np.vecdot(g, np.stack([f, g]))
    sampled = products[0].mean() / products[1].mean()
    residuals = products[0] - sampled * products[1]
    std_error = residuals.std() / math.sqrt(len(f)) / products[1].mean()
    best = full_rank_softmax(8, 4.0, with_best_value=True)
    assert abs(sampled - best.layers[0].values[0]) < SIGMAS * std_error < 0.02


@pytest.mark.parametrize("d", [2, 3, 64])
@pytest.mark.parametrize("eps", ["0.3", "1/50"])
def test_softmax_reaches_eps(d: int, eps: str) -> None:
    network = full_rank_softmax(d, eps=eps)
    wanted = 0.3 if eps == "0.3" else 0.02
    error = float(network.details["error"])
    assert (wanted / 3 if d == 2 else wanted * 0.999) < error <= wanted
    mean, std_error = sampled_error(network, 50_000)
    assert abs(mean - error) < SIGMAS * std_error
    beta = network.layers[0].inverse_temperature
    assert full_rank_softmax_error(d, beta).value == error


# U4 and U4s


@pytest.mark.parametrize(
    ("d", "r", "votes", "expected", "soft"),
    [(8, 1, 15, 0.50507, 0.3393), (16, 4, 31, 0.24229, 0.1706)],
)
def test_majority_vote_errors(d: int, r: int, votes: int, expected: float, soft: float) -> None:
    hard = error_over_draws(lambda seed: majority_vote(d, r, votes, seed), 150, 400)
    assert_within(hard, expected, 4e-3)
    mild = error_over_draws(lambda seed: soft_majority_vote(d, r, votes, seed), 150, 400, seed=1)
    assert_within(mild, soft, 4e-3)


@pytest.mark.slow
def test_majority_vote_errors_in_64_dimensions() -> None:
    hard = error_over_draws(lambda seed: majority_vote(64, 4, 51, seed), 200, 500)
    assert_within(hard, 0.39582, 4e-3)
    mild = error_over_draws(lambda seed: soft_majority_vote(64, 4, 51, seed), 200, 500, seed=1)
    assert_within(mild, 0.2713, 4e-3)


def test_soft_vote_error_at_another_temperature() -> None:
    # The error at a given b, so that the scale of the second layer's scores is tested.
    b = 0.05
    found = error_over_draws(
        lambda seed: soft_majority_vote(5, 2, 7, seed, vote_inverse_temperature=b), 150, 300
    )
    expected = soft_vote_error(5, 2, 7, b).value
    assert expected > 1.2 * soft_vote_error(5, 2, 7).value
    assert_within(found, expected, 4e-3)


@pytest.mark.parametrize("votes", [15, 16])
def test_votes_are_counted(votes: int) -> None:
    # The votes one by one, sign<U^T x, U^T y>, in place of two layers of attention.
    d, r, seed = 6, 2, 3
    X, y = SampleStream(0, d).take(0, 3000)
    hard, soft = majority_vote(d, r, votes, seed), soft_majority_vote(d, r, votes, seed)
    U = hard.layers[0].Q[:, :d, :]
    x = X[:, 0] - X[:, 1]
    inner = np.einsum("hdr,bd,her,be->bh", U, x, U, y, optimize=True)
    difference = np.sign(inner).sum(axis=1)
    winner = np.where(difference >= 0, 0, 1)
    assert (difference == 0).any() == (votes % 2 == 0)
    assert np.array_equal(apply_network(hard, X, y), X[np.arange(len(X)), winner])
    b = float(soft.details["vote_inverse_temperature"])
    share = np.tanh(b * difference)[:, None]
    assert np.allclose(
        apply_network(soft, X, y), ((1 + share) * X[:, 0] + (1 - share) * X[:, 1]) / 2, atol=1e-14
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("votes", [6, 98])
def test_the_first_point_wins_tied_votes(votes: int, dtype: Dtype) -> None:
    # Shares of 49/98 have rounding errors that an inexact difference would show.
    network = majority_vote(3, 1, votes, 0, dtype=dtype)
    X, y = SampleStream(0, 3, dtype=dtype).take(0, 4000)
    U = network.layers[0].Q[:, :3, 0]
    for_first = ((X[:, 0] - X[:, 1]) @ U.T) * (y @ U.T) >= 0
    tied = for_first.sum(axis=1) == votes // 2
    assert tied.sum() > 50
    assert np.array_equal(apply_network(network, X, y)[tied], X[tied, 0])


def test_majority_vote_layers() -> None:
    network = majority_vote(8, 3, 5, 0)
    voting, reading = network.layers
    assert (voting.heads, voting.r, reading.heads, reading.r) == (5, 3, 1, 1)
    assert network.positions
    assert voting.residual
    assert not reading.residual
    assert voting.Q is voting.K
    assert (voting.Q[:, 8:, :] == 0).all()
    gram = np.swapaxes(voting.Q, 1, 2) @ voting.Q
    assert np.allclose(gram, np.eye(3))
    assert (network.statement, network.random_heads, network.heads) == ("U4", 5, 6)


def test_full_rank_votes_are_always_right() -> None:
    X, y = SampleStream(0, 4).take(0, 1000)
    assert np.array_equal(apply_network(majority_vote(4, 4, 3, 0), X, y), nearest_neighbor(X, y))
    with pytest.raises(InputError, match=r"r: got 4, allowed: at most 3"):
        soft_majority_vote(4, 4, 3, 0)


def test_majority_vote_in_the_plane() -> None:
    found = error_over_draws(lambda seed: majority_vote(2, 1, 5, seed), 150, 200)
    assert_within(found, majority_vote_error(2, 1, 5).value, 1e-2)


# U3


def test_random_heads_error() -> None:
    # THEORY: .2005 at d = 30, H = 1024, the mean over draws.
    found = error_over_draws(lambda seed: random_heads(30, 1024, seed), 20, 1000)
    assert_within(found, 0.2005, 2e-3)


@pytest.mark.parametrize(("d", "heads", "draws"), [(8, 256, 40), (3, 5, 300)])
def test_random_heads_mean_exact_error(d: int, heads: int, draws: int) -> None:
    # K1 and K2 give the exact error of each draw; U3's certified value is their mean.
    errors = []
    for seed in range(draws):
        layer = random_heads(d, heads, seed).layers[0]
        errors.append(rank_one_error(layer.Q[:, :, 0], layer.K[:, :, 0], layer.values))
    expected = float(random_heads_error_upper_bound(d, heads).hi)
    found = float(np.mean(errors)), float(np.std(errors, ddof=1)) / math.sqrt(draws)
    assert_within(found, expected, 0.02)


@pytest.mark.parametrize("d", [3, 8, 30])
def test_error_of_one_random_head(d: int) -> None:
    # One atom is best for one head, so every draw has the certified error.
    layer = random_heads(d, 1, 0).layers[0]
    exact = rank_one_error(layer.Q[:, :, 0], layer.K[:, :, 0], layer.values)
    certified = random_heads_error_upper_bound(d, 1)
    assert float(certified.lo) - 1e-12 < exact < float(certified.hi) + 1e-12
    assert certified.width < 1e-3


def test_random_heads_angles() -> None:
    network = random_heads(64, 300, seed=1)
    Q, K = (A[:300, :, 0] for A in (network.layers[0].Q, network.layers[0].K))
    assert np.allclose(np.linalg.norm(Q, axis=1), 1)
    assert np.allclose(np.linalg.norm(K, axis=1), 1)
    variation = float(network.details["total_variation"])
    assert np.allclose(np.abs(network.layers[0].values[:300]), variation / 300)


# U3r


def test_haar_heads_error() -> None:
    # THEORY: .1840 at d = 64, r = 4, H = 1024, the mean over draws.
    found = error_over_draws(lambda seed: haar_heads(64, 4, 1024, seed), 10, 1000)
    assert_within(found, 0.1840, 4e-3)


@pytest.mark.parametrize(("d", "r", "heads"), [(6, 2, 3), (5, 4, 2), (2, 1, 4)])
def test_few_haar_heads_errors(d: int, r: int, heads: int) -> None:
    found = error_over_draws(lambda seed: haar_heads(d, r, heads, seed), 150, 300)
    assert_within(found, haar_heads_error(d, r, heads).value, 5e-3)


@pytest.mark.parametrize(
    "network", [random_heads(9, 40, 0), haar_heads(9, 3, 40, 0), random_heads(2, 7, 0)]
)
def test_correction_heads_make_the_sum_component_exact(network: Network) -> None:
    # f is one of two orthonormal points, so <f, x_1 + x_2> = 1.
    X, y = SampleStream(0, network.d).take(0, 500)
    along = np.vecdot(apply_network(network, X, y), X.sum(axis=1))
    assert np.allclose(along, 1, atol=1e-12)
    assert network.heads == int(network.random_heads or 0) + 2


# All of them


MAKERS: list[Callable[[Any, Dtype], Network]] = [
    lambda seed, dtype: majority_vote(7, 2, 9, seed, dtype=dtype),
    lambda seed, dtype: soft_majority_vote(7, 2, 9, seed, dtype=dtype),
    lambda seed, dtype: random_heads(7, 9, seed, dtype=dtype),
    lambda seed, dtype: haar_heads(7, 2, 9, seed, dtype=dtype),
]


def arrays(network: Network) -> list[Array]:
    return [
        array
        for layer in network.layers
        for array in (layer.Q, layer.K, layer.values, layer.matrix)
        if array is not None
    ]


@pytest.mark.parametrize("make", MAKERS)
def test_seeds_decide_the_weights(make: Callable[[Any, Dtype], Network]) -> None:
    one, again, other = make(5, "float64"), make(5, "float64"), make(6, "float64")
    assert all(map(np.array_equal, arrays(one), arrays(again)))
    assert not np.array_equal(arrays(one)[0], arrays(other)[0])
    assert one.details["seed"] == 5
    drawn = make(np.random.default_rng(1), "float64")
    named = make(drawn.details["seed"], "float64")
    assert all(map(np.array_equal, arrays(drawn), arrays(named)))
    rng = np.random.default_rng(1)
    first, second = make(rng, "float64"), make(rng, "float64")
    assert first.details["seed"] != second.details["seed"]


@pytest.mark.parametrize("make", MAKERS)
def test_float32_weights_are_rounded_ones(make: Callable[[Any, Dtype], Network]) -> None:
    single, double = make(5, "float32"), make(5, "float64")
    for a, b in zip(arrays(single), arrays(double), strict=True):
        assert a.dtype == np.float32
        assert np.array_equal(a, b.astype(np.float32))


def test_majority_vote_in_a_strict_library() -> None:
    network = soft_majority_vote(5, 2, 7, 0, xp=array_api_strict)
    usual = soft_majority_vote(5, 2, 7, 0)
    X, y = SampleStream(0, 5).take(0, 50, array_api_strict)
    found = np.asarray(apply_network(network, X, y))
    assert np.allclose(found, apply_network(usual, np.asarray(X), np.asarray(y)), atol=1e-14)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: full_rank_hardmax(1), "d: got 1"),
        (lambda: full_rank_softmax(8), "inverse-temperature, eps"),
        (lambda: full_rank_softmax(8, 1.0, eps="0.1"), "inverse-temperature, eps"),
        (lambda: full_rank_softmax(8, -1.0), "inverse-temperature: got -1.0"),
        (lambda: full_rank_softmax(8, math.nan), "inverse-temperature: got nan"),
        (lambda: full_rank_softmax(8, eps="0.5"), "eps: got 1/2"),
        (lambda: full_rank_softmax(8, eps="1e-400"), "eps: got '1e-400'"),
        (lambda: full_rank_softmax(2, eps="1e-400"), "eps: got '1e-400'"),
        (lambda: majority_vote(8, 9, 5, 0), "r: got 9"),
        (lambda: majority_vote(8, 1, 0, 0), "heads: got 0"),
        (lambda: majority_vote(8, 1, 5, -1), "seed: got -1"),
        (
            lambda: soft_majority_vote(8, 1, 5, 0, vote_inverse_temperature=0.0),
            "vote-inverse-temperature: got 0.0",
        ),
        (lambda: random_heads(8, 0, 0), "heads: got 0"),
        (lambda: haar_heads(8, 0, 5, 0), "r: got 0"),
    ],
)
def test_bad_input(make: Callable[[], Network], message: str) -> None:
    with pytest.raises(InputError, match=message):
        make()
