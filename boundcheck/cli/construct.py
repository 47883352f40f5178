"""``boundcheck construct``: a construction's heads as a file of weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from boundcheck.cli import options
from boundcheck.cli.output import json_text
from boundcheck.errors import InputError

if TYPE_CHECKING:
    from boundcheck.network import Network
    from boundcheck.sampling import Dtype

KINDS = ("full-rank", "majority-vote", "random-features", "planar")
LAWS = ("measure", "haar", "best")


def construct(
    kind: Annotated[str, typer.Argument(help=", ".join(KINDS))],
    output: Annotated[
        str, typer.Option("--output", "-o", help="File ending in .npz or .safetensors.")
    ],
    d: Annotated[str | None, typer.Option("--d", help="Embedding dimension; planar: 2.")] = None,
    r: Annotated[str | None, typer.Option("--r", help="Rank of the random heads; 1.")] = None,
    heads: Annotated[
        str | None,
        typer.Option(
            "--heads", help="Random or voting heads H; the file may hold one or two more."
        ),
    ] = None,
    eps: Annotated[
        str | None,
        typer.Option("--eps", help="full-rank: a softmax head that reaches this error."),
    ] = None,
    beta: Annotated[
        str | None,
        typer.Option("--beta", help="full-rank: a softmax head of this inverse temperature."),
    ] = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="majority-vote: a softmax second layer (U4s).")
    ] = False,
    law: Annotated[
        str | None,
        typer.Option(
            "--law",
            help="random-features: measure (U3, rank 1), haar (U3r), best (best weights, rank 1).",
        ),
    ] = None,
    points: Annotated[
        str | None, typer.Option("--points", help="full-rank hardmax: number of points N; 2.")
    ] = None,
    seed: options.Seed = "0",
    dtype: options.Dtype = "float64",
    as_json: options.Json = False,
) -> None:
    """Write the heads of a construction: full-rank, majority-vote, random-features or planar."""
    from boundcheck.files import writable_path
    from boundcheck.weights_io import write_network

    writable_path(output)
    given = {
        "d": d, "r": r, "heads": heads, "eps": eps, "beta": beta, "soft": soft or None,
        "law": law, "points": points,
    }  # fmt: skip
    network = _constructed(kind, {k: v for k, v in given.items() if v is not None}, seed, dtype)
    write_network(output, network)
    if as_json:
        import sys

        sys.stdout.write(json_text({"file": output, "network": description(network)}))
        return
    count = f"{network.heads} head{'s' if network.heads > 1 else ''}"
    rank = "/".join(str(layer.r) for layer in network.layers)
    print(f"wrote {output}: {network.statement}, {count} of rank {rank}, d = {network.d}")


def description(network: Network) -> dict[str, object]:
    """A network in words and numbers, as `construct --json` and `evaluate --json` show it."""
    return {
        "statement": network.statement,
        "d": network.d,
        "points": network.points,
        "depth": network.depth,
        "heads": network.heads,
        "random_heads": network.random_heads,
        "rank": network.rank,
        "head_class": network.head_class,
        "details": dict(network.details),
    }


#: What each kind understands.
_UNDERSTOOD = {
    "full-rank": {"d", "eps", "beta", "points"},
    "majority-vote": {"d", "r", "heads", "soft"},
    "random-features": {"d", "r", "heads", "law"},
    "planar": {"d", "heads"},
}


def _constructed(kind: str, given: dict[str, object], seed: str, dtype: str) -> Network:
    if kind not in KINDS:
        raise InputError("kind", kind, ", ".join(KINDS))
    for name, value in given.items():
        if name not in _UNDERSTOOD[kind]:
            allowed = ", ".join(sorted(_UNDERSTOOD[kind]))
            raise InputError(name, str(value), f"nothing, since {kind} takes {allowed}")
    numbers = _Numbers(given)
    number, real = options.seed_number(seed), options.dtype_named(dtype)
    match kind:
        case "full-rank":
            return _full_rank(numbers, given, real)
        case "majority-vote":
            return _majority_vote(numbers, given, number, real)
        case "random-features":
            return _random_features(numbers, given, number, real)
        case _:
            from boundcheck.constructions.planar import planar_heads

            if numbers.get("d", 2, 2) != 2:
                raise InputError("d", str(given["d"]), "2, since planar heads live in the plane")
            return planar_heads(numbers.needed("heads"), dtype=real)


class _Numbers:
    """The whole numbers among the options given."""

    def __init__(self, given: dict[str, object]) -> None:
        self.given = given

    def get(self, name: str, default: int, least: int) -> int:
        from boundcheck.problem import whole_number

        if name not in self.given:
            return default
        return whole_number(self.given[name], name, f"a whole number from {least}", least)

    def needed(self, name: str, least: int = 1) -> int:
        if name not in self.given:
            raise InputError(name, "nothing", f"a whole number from {least}")
        return self.get(name, least, least)


def _full_rank(numbers: _Numbers, given: dict[str, object], dtype: Dtype) -> Network:
    from boundcheck.constructions.full_rank import full_rank_hardmax, full_rank_softmax
    from boundcheck.problem import exact_fraction

    d = numbers.needed("d", 2)
    if "eps" not in given and "beta" not in given:
        return full_rank_hardmax(d, points=numbers.get("points", 2, 2), dtype=dtype)
    if numbers.get("points", 2, 2) != 2:
        raise InputError("points", str(given["points"]), "2 for a softmax head")
    if "eps" in given and "beta" in given:
        raise InputError("eps, beta", "both", "one of them")
    if "eps" in given:
        return full_rank_softmax(d, eps=str(given["eps"]), dtype=dtype)
    beta = exact_fraction(str(given["beta"]), "beta", "a positive number")
    return full_rank_softmax(d, options.positive_float(beta, "beta"), dtype=dtype)


def _majority_vote(numbers: _Numbers, given: dict[str, object], seed: int, dtype: Dtype) -> Network:
    from boundcheck.constructions.majority_vote import majority_vote, soft_majority_vote

    make = soft_majority_vote if "soft" in given else majority_vote
    d = numbers.needed("d", 2)
    return make(d, numbers.get("r", 1, 1), numbers.needed("heads"), seed, dtype=dtype)


def _random_features(
    numbers: _Numbers, given: dict[str, object], seed: int, dtype: Dtype
) -> Network:
    from boundcheck.constructions.best_weights import best_weight_heads
    from boundcheck.constructions.random_heads import haar_heads, random_heads

    d, r, heads = numbers.needed("d", 2), numbers.get("r", 1, 1), numbers.needed("heads")
    law = given.get("law", "measure" if r == 1 else "haar")
    if law not in LAWS:
        raise InputError("law", str(law), ", ".join(LAWS))
    if law == "haar":
        return haar_heads(d, r, heads, seed, dtype=dtype)
    if r != 1:
        raise InputError("r", r, f"1 for law {law}")
    make = random_heads if law == "measure" else best_weight_heads
    return make(d, heads, seed, dtype=dtype)
