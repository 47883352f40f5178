"""``boundcheck evaluate``: the measured error of a file of heads, and what to think of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from boundcheck.cli import options
from boundcheck.cli.backend import BackendName
from boundcheck.cli.output import emit, json_text
from boundcheck.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from boundcheck.evaluation import Evaluation
    from boundcheck.network import Network
    from boundcheck.sampling import Law
    from boundcheck.values import Statistical

SAMPLES = 100_000


def evaluate(
    file: Annotated[str, typer.Argument(help="Heads as .npz or .safetensors.")],
    samples: Annotated[
        str | None, typer.Option("--samples", help=f"How many; {SAMPLES} without --precision.")
    ] = None,
    precision: Annotated[
        str | None, typer.Option("--precision", help="Stop at this standard error.")
    ] = None,
    law: Annotated[str, typer.Option("--law", help="Points: orthonormal or iid.")] = "orthonormal",
    seed: options.Seed = "0",
    memory_cap: options.MemoryCap = "1GiB",
    backend: BackendName = None,
    as_json: options.Json = False,
    output: options.Output = None,
) -> None:
    """Measure the error of heads, and compare it with its prediction and the lower bounds."""
    from boundcheck.backend import namespace_named
    from boundcheck.evaluation import evaluation
    from boundcheck.montecarlo import error_estimates
    from boundcheck.network import converted
    from boundcheck.problem import exact_fraction, whole_number
    from boundcheck.sampling import SampleStream
    from boundcheck.weights_io import read_network

    count = None
    if samples is not None:
        count = whole_number(samples, "samples", "a whole number from 2", 2)
    error = None
    if precision is not None:
        allowed = "a positive number"
        error = options.positive_float(exact_fraction(precision, "precision", allowed), "precision")
    cap = options.bytes_given(memory_cap)
    xp, _ = namespace_named(backend)
    network = read_network(file)
    laws: dict[str, Law] = {"orthonormal": "orthonormal", "iid": "iid"}
    if law not in laws:
        raise InputError("law", law, " or ".join(laws))
    dtype = options.dtype_named(str(network.layers[0].Q.dtype))
    number = options.seed_number(seed)
    stream = SampleStream(number, network.d, network.points, laws[law], dtype=dtype)
    if count is None and error is None:
        count = SAMPLES
    estimates = error_estimates(
        converted(network, xp), stream, samples=count, precision=error, memory_cap=cap
    )
    measured, interrupted = _last(estimates, count, error)
    found = evaluation(network, measured)
    if as_json:
        emit(json_text(_json(network, found)), output)
    else:
        emit(_text(file, network, found), output)
    if interrupted:
        raise KeyboardInterrupt
    if found.verdict != "consistent":
        raise typer.Exit(1 if found.verdict == "violated" else 3)


def _last(
    estimates: Iterator[Statistical], samples: int | None, precision: float | None
) -> tuple[Statistical, bool]:
    """The last estimate, and whether the user cut the work short."""
    from boundcheck.cli.progress import Bar

    last: Statistical | None = None
    with Bar("samples", total=samples) as bar:
        try:
            for last in estimates:
                needed = samples
                if precision is not None and last.std_error > 0:
                    needed = int(last.samples * (last.std_error / precision) ** 2)
                    needed = needed if samples is None else min(needed, samples)
                bar.update(last.samples, total=needed)
        except KeyboardInterrupt:
            if last is None:
                raise
            return last, True
    assert last is not None
    return last, False


def _json(network: Network, found: Evaluation) -> dict[str, Any]:
    from boundcheck.bounds_report import error_json
    from boundcheck.cli.construct import description
    from boundcheck.evaluation import SHOWN_SIGMAS

    low, high = found.measured.interval(SHOWN_SIGMAS)
    shown: dict[str, Any] = {
        "network": description(network),
        "error": {
            "mean": found.measured.mean,
            "std_error": found.measured.std_error,
            "ci_low": max(0.0, low),
            "ci_high": high,
            "samples": found.measured.samples,
            "seed": found.measured.seed,
        },
        "predicted": None,
        "bounds": [
            {
                "id": bound.id,
                "direction": "lower",
                "kind": "certified",
                "head_class": bound.head_class,
                "verdict": bound.verdict,
                **error_json(bound.error, "lower"),
            }
            for bound in found.bounds
        ],
        "verdict": found.verdict,
    }
    if found.predicted is not None:
        shown["predicted"] = {
            "id": found.predicted.id,
            "kind": found.predicted.error.kind,
            "of_these_heads": found.predicted.of_these_heads,
            **error_json(found.predicted.error, "upper"),
        }
    if found.remark is not None:
        shown["remark"] = found.remark
    return shown


def _text(file: str, network: Network, found: Evaluation) -> str:
    from boundcheck.evaluation import SHOWN_SIGMAS, SIGMAS
    from boundcheck.formatting import error_text

    measured = found.measured
    low, high = measured.interval(SHOWN_SIGMAS)
    ranks = "/".join(str(layer.r) for layer in network.layers)
    heads = "head" if network.heads == 1 else "heads"
    layers = "layer" if network.depth == 1 else "layers"
    lines = [
        f"{file}: {network.heads} {network.head_class} {heads} of rank {ranks}, "
        f"d = {network.d}, {network.depth} {layers}",
        f"measured   {measured.mean:.6f} +- {(high - low) / 2:.6f} (95 %, "
        f"{measured.samples} samples, seed {measured.seed})",
    ]
    if found.predicted is not None:
        what = "" if found.predicted.of_these_heads else ", the mean over draws of the heads"
        text = error_text(found.predicted.error, "upper")
        lines.append(f"predicted  {text} ({found.predicted.id}{what})")
    for bound in found.bounds:
        text = error_text(bound.error, "lower")
        lines.append(
            f"at least   {text} ({bound.id}, {bound.head_class} heads, certified): {bound.verdict}"
        )
    if found.remark is not None:
        lines.append(f"at least   no lower bound applies: {found.remark}")
    lines.append(f"verdict    {found.verdict} (at {SIGMAS:g} standard errors)")
    return "\n".join(lines) + "\n"
