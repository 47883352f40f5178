"""Weights: what is refused, and what is read off them."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np
import pytest
from numpy.typing import NDArray

from boundcheck.errors import InputError
from boundcheck.layer import Layer, layer_rank
from boundcheck.network import Network, converted

RNG = np.random.default_rng(20)
GOOD = RNG.standard_normal((5, 4, 2))


def layer(**changes: Any) -> Layer:
    given: dict[str, Any] = {"Q": GOOD, "K": GOOD, "values": np.ones(5)}
    return Layer(**{**given, **changes})


def network(*layers: Layer, **changes: Any) -> Network:
    given: dict[str, Any] = {"layers": layers, "d": 4, "points": 2}
    return Network(**{**given, **changes})


def with_entry(array: NDArray[Any], value: float) -> NDArray[Any]:
    changed = array.copy()
    changed.flat[-1] = value
    return changed


BAD_LAYERS: dict[str, tuple[dict[str, Any], str]] = {
    "nan": ({"Q": with_entry(GOOD, np.nan)}, "Q: got 'nan or an infinity'"),
    "inf in K": ({"K": with_entry(GOOD, -np.inf)}, "K: got 'nan or an infinity'"),
    "inf in values": ({"values": with_entry(np.ones(5), np.inf)}, "values: got 'nan or"),
    "nan in matrix": ({"matrix": with_entry(np.eye(4), np.nan)}, "matrix: got 'nan or"),
    "no head": ({"Q": GOOD[:0], "K": GOOD[:0], "values": np.ones(0)}, "heads: got 0"),
    "no column": ({"Q": GOOD[..., :0], "K": GOOD[..., :0]}, "1 <= r <= m"),
    "rank above m": ({"Q": np.ones((5, 4, 5)), "K": np.ones((5, 4, 5))}, "1 <= r <= m"),
    "flat Q": ({"Q": np.ones((4, 2))}, "Q: got 'shape (4, 2)'"),
    "other K": ({"K": GOOD[:4]}, "K: got 'shape (4, 4, 2)'"),
    "other values": ({"values": np.ones(4)}, "values: got 'shape (4,)'"),
    "square values": ({"values": np.ones((5, 4, 3))}, "values: got 'shape (5, 4, 3)'"),
    "matrix beside matrices": (
        {"values": np.ones((5, 4, 4)), "matrix": np.eye(4)},
        "scalars times the matrix",
    ),
    "small matrix": ({"matrix": np.eye(3)}, "matrix: got 'shape (3, 3)'"),
    "ints": ({"Q": np.ones((5, 4, 2), dtype=np.int64)}, "Q: got int64"),
    "half": ({"Q": GOOD.astype(np.float16)}, "Q: got float16"),
    "mixed": ({"K": GOOD.astype(np.float32)}, "K: got float32"),
    "scores": ({"scores": "argmax"}, "scores: got 'argmax'"),
    "cold": ({"inverse_temperature": 0.0}, "inverse-temperature: got 0.0"),
    "nan temperature": ({"inverse_temperature": np.nan}, "inverse-temperature: got nan"),
    "vanishing": ({"Q": GOOD * 1e-160, "K": GOOD * 1e-160}, "Q, K: got"),
    "two libraries": ({"K": array_api_strict.asarray(GOOD)}, "arrays of one library"),
}


@pytest.mark.parametrize("case", BAD_LAYERS)
def test_refused_layer(case: str) -> None:
    changes, message = BAD_LAYERS[case]
    with pytest.raises(InputError) as refusal:
        layer(**changes)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


BAD_NETWORKS: dict[str, tuple[dict[str, Any], str]] = {
    "no layer": ({"layers": ()}, "layers: got 'none'"),
    "d": ({"d": 5}, "layer 1: got"),
    "one point": ({"points": 1}, "points: got 1"),
    "positions": ({"positions": True}, "6 rows"),
    "r above d": ({"d": 3, "points": 2, "positions": True}, "r: got 4"),
    "no random head": ({"random_heads": 0}, "random-heads: got 0"),
    "statement": ({"statement": "U4\nU5"}, "statement: got"),
}


@pytest.mark.parametrize("case", BAD_NETWORKS)
def test_refused_network(case: str) -> None:
    changes, message = BAD_NETWORKS[case]
    wide = np.ones((1, 5, 4))
    first = Layer(Q=wide, K=wide, values=np.ones(1)) if case == "r above d" else layer()
    with pytest.raises(InputError) as refusal:
        network(*([first] if "layers" not in changes else []), **changes)
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_layers_of_two_dtypes_or_libraries_are_refused() -> None:
    single = converted(network(layer()), np, "float32").layers[0]
    with pytest.raises(InputError, match="layer 2: got float32"):
        network(layer(), single)
    strict = converted(network(layer()), array_api_strict).layers[0]
    with pytest.raises(InputError, match="arrays of one library"):
        network(layer(), strict)


def test_rank_is_that_of_the_weights_unless_only_rounding_adds_to_it() -> None:
    # By construction: products of thin matrices have the thin rank.
    def thin(rank: int) -> NDArray[np.float64]:
        return RNG.standard_normal((5, 8, rank)) @ RNG.standard_normal((5, rank, 4))

    full = RNG.standard_normal((5, 8, 4))
    assert layer_rank(layer(Q=full, K=full)) == 4
    assert layer_rank(layer(Q=full, K=thin(2))) == 2
    assert layer_rank(layer(Q=thin(1), K=thin(3))) == 1
    # One head of full rank is enough, whichever it is.
    mixed = np.concatenate([thin(1)[:4], full[:1]])
    assert layer_rank(layer(Q=mixed, K=mixed)) == 4
    # A direction far above rounding counts, however weak.
    weak = thin(2) + 1e-9 * full
    assert layer_rank(layer(Q=weak, K=weak)) == 4
    single = thin(2).astype(np.float32)
    assert layer_rank(layer(Q=single, K=single, values=np.ones(5, np.float32))) == 2


def test_rank_beyond_the_first_heads_counts() -> None:
    heads = np.zeros((1000, 3, 2))
    heads[:, 0, 0] = 1
    heads[-1, 1, 1] = 1
    assert layer_rank(Layer(Q=heads, K=heads, values=np.ones(1000))) == 2


def test_head_class_is_scalar_only_for_exact_multiples_of_the_identity() -> None:
    multiples = np.arange(5.0)[:, None, None] * np.eye(4)
    assert network(layer()).head_class == "scalar"
    assert network(layer(scores="softmax")).head_class == "scalar"
    assert network(layer(values=multiples)).head_class == "scalar"
    assert network(layer(matrix=-2 * np.eye(4))).head_class == "scalar"
    nearly = multiples.copy()
    nearly[3, 0, 1] = 1e-14
    assert network(layer(values=nearly)).head_class == "standard"
    stretched = multiples.copy()
    stretched[4, 3, 3] = np.nextafter(4, 5)
    assert network(layer(values=stretched)).head_class == "standard"
    assert network(layer(matrix=np.ones((4, 4)))).head_class == "standard"


def test_lower_bounds_speak_of_one_layer_that_adds_points_only() -> None:
    assert network(layer()).why_no_lower_bound() is None
    assert network(layer(residual=True)).why_no_lower_bound() is None
    assert "has 2" in str(network(layer(), layer()).why_no_lower_bound())
    # d = 2 points in R^2 with positions: the tokens are in R^4.
    assert network(layer(), d=2, positions=True).why_no_lower_bound() is None
    reads = network(layer(matrix=np.ones((4, 4))), d=2, positions=True)
    assert "positions" in str(reads.why_no_lower_bound())
    # What a value does to the position coordinates of the output is never seen.
    lower = np.eye(4)
    lower[2:, :2] = 7
    assert network(layer(matrix=lower), d=2, positions=True).head_class == "scalar"


def test_counts_and_dimensions() -> None:
    two = network(layer(), layer(), d=2, positions=True, statement="U4", random_heads=5)
    assert (two.heads, two.depth, two.token_dimension) == (10, 2, 4)


@pytest.mark.parametrize("xp", [np, array_api_strict])
def test_converted_keeps_everything_and_shares_keys(xp: Any) -> None:
    given = network(
        layer(scores="softmax", inverse_temperature=3.0, residual=True, matrix=np.eye(4)),
        layer(K=GOOD + 1),
        statement="U3",
        random_heads=3,
        details={"seed": 1},
    )
    moved = converted(given, xp, "float32")
    first, second = moved.layers
    assert first.K is first.Q
    assert second.K is not second.Q
    assert (first.scores, first.inverse_temperature, first.residual) == ("softmax", 3.0, True)
    assert (moved.statement, moved.random_heads, moved.details) == ("U3", 3, {"seed": 1})
    assert first.matrix is not None
    for array in (first.Q, first.values, first.matrix, second.K):
        assert array.dtype == xp.float32
        assert type(array) is type(xp.asarray(1.0))
    back = converted(moved, np, "float64")
    np.testing.assert_array_equal(back.layers[0].Q, GOOD.astype(np.float32))
    assert (moved.rank, moved.head_class) == (2, "scalar")


def test_the_largest_score_bounds_every_score() -> None:
    given = layer(K=GOOD + 1)
    q, x = RNG.uniform(-1, 1, (100, 4)), RNG.uniform(-1, 1, (100, 4))
    scores = np.einsum("bm,hmr,hnr,bn->bh", q, given.Q, given.K, x)
    assert np.abs(scores).max() <= given.largest_score


def test_a_head_of_zeros_is_a_head() -> None:
    zeros = np.zeros((1, 4, 2))
    assert layer_rank(Layer(Q=zeros, K=zeros, values=np.ones(1))) == 1
