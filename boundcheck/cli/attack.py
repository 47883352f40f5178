"""``boundcheck attack``: heads optimised to beat the lower bounds (U5)."""

from __future__ import annotations

import os
import re
import sys
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from boundcheck.cli import options
from boundcheck.cli.output import json_text
from boundcheck.errors import InputError
from boundcheck.values import Numeric, Statistical

if TYPE_CHECKING:
    from boundcheck.attack.search import Best, Search

BUDGET = "60s"
#: Heads up to which one thread is enough.
_FEW_HEADS = 256
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600}


def attack(
    d: Annotated[str, typer.Option("--d", help="Embedding dimension, from 2.")],
    r: options.Rank,
    heads: Annotated[str, typer.Option("--heads", help="Heads of the layer.")],
    scores: Annotated[
        str, typer.Option("--scores", help="hardmax, softmax or arbitrary.")
    ] = "hardmax",
    head_class: Annotated[
        str, typer.Option("--head-class", help="scalar or standard: values a I or any matrices.")
    ] = "standard",
    budget: Annotated[
        str | None,
        typer.Option("--budget", help=f"Time, as 60s or 2m; {BUDGET} without --starts."),
    ] = None,
    starts: Annotated[
        str | None,
        typer.Option("--starts", help="How many starts: the same seed gives the same answer."),
    ] = None,
    seed: options.Seed = "0",
    as_json: options.Json = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="Write the best heads: .npz or .safetensors."),
    ] = None,
) -> None:
    """Try to beat the lower bounds: optimise heads from many starts, show the gaps."""
    from boundcheck.problem import whole_number

    H = whole_number(heads, "heads", "a whole number from 1", 1)
    if H <= _FEW_HEADS:
        _on_one_thread()
    from boundcheck.attack.objectives import objective
    from boundcheck.attack.report import Report
    from boundcheck.attack.search import Search

    if budget is None and starts is None:
        budget = BUDGET
    count = None
    if starts is not None:
        count = whole_number(starts, "starts", "a whole number from 1", 1)
    time_limit = None if budget is None else seconds_given(budget)
    number = options.seed_number(seed)
    what = objective(
        whole_number(d, "d", "a whole number from 2", 2),
        whole_number(r, "r", "a whole number from 1 to d", 1),
        H,
        scores=scores,
        head_class=head_class,
        seed=number,
    )
    if output is not None:
        _check_output(output)
    search = Search(what, number, budget=time_limit, starts=count)
    interrupted = _interrupted(search)
    best = search.best
    if best is None:
        raise KeyboardInterrupt
    if output is not None:
        _write(output, search, best)
    error, cut = _fresh_error(best, number)
    if error is None:
        raise KeyboardInterrupt
    report = Report(search, best, error, scores, head_class, interrupted or cut)
    sys.stdout.write(json_text(report.json()) if as_json else report.text())
    if report.verdict == "violated":
        print(report.alarm(), file=sys.stderr)
    if report.interrupted:
        raise KeyboardInterrupt
    if report.verdict == "violated":
        raise typer.Exit(1)


def _on_one_thread() -> None:
    """Let OpenBLAS start one thread, where NumPy is not loaded yet and the user set no number.

    Matrices of few heads are so small that two threads wait for each other more than they
    compute: on a busy machine a search makes a third of the starts.
    """
    if "numpy" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def seconds_given(text: str) -> float:
    """The seconds that a text such as 60s, 2m or 1.5h stands for.

    Raises
    ------
    InputError
        If it is no such text, or stands for no time at all.

    Examples
    --------
    >>> seconds_given("60s"), seconds_given("1.5m")
    (60.0, 90.0)
    """
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smh]?)", text.strip(), re.ASCII)
    seconds = Fraction(found[1]) * _UNITS[found[2]] if found else Fraction(0)
    if not seconds:
        raise InputError("budget", text, "a time above 0, as 60s, 2m or 1h")
    return float(seconds)


def _check_output(path: str) -> None:
    from boundcheck.array_files import SUFFIXES
    from boundcheck.files import writable_path

    if not path.endswith(SUFFIXES):
        raise InputError("output", path, "a name that ends in .npz or .safetensors")
    writable_path(path)


def _interrupted(search: Search) -> bool:
    """Run the search; whether the user cut it short."""
    import time

    from boundcheck.cli.progress import Bar

    shown = 0.0

    def show(search: Search) -> None:
        nonlocal shown
        now = time.monotonic()
        if now - shown < 0.2 or search.best is None:
            return
        shown = now
        label = f"start {search.started}, best error {search.best.error:.6f}"
        if search.budget is not None:
            bar.update(round(min(search.seconds, search.budget)), round(search.budget), label)
        else:
            bar.update(search.started - 1, search.starts, label)

    search.notify = show
    with Bar("attack") as bar:
        try:
            search.run()
        except KeyboardInterrupt:
            return True
    return False


def _fresh_error(best: Best, seed: int) -> tuple[Numeric | Statistical | None, bool]:
    """The error measured, as far as it got, and whether the user cut that short."""
    from boundcheck.attack.outcome import fresh_errors

    last = None
    try:
        for error in fresh_errors(best, seed):
            last = error
    except KeyboardInterrupt:
        return last, True
    return last, False


def _write(path: str, search: Search, best: Best) -> None:
    from dataclasses import replace

    from boundcheck.attack.arbitrary_heads import write_arbitrary_heads
    from boundcheck.network import Network
    from boundcheck.weights_io import write_network

    heads = best.heads
    if isinstance(heads, Network):
        details: dict[str, float | int | str] = {"seed": str(search.seed), "start": search.started}
        if best.objective.exact:
            details["error"] = best.error
        write_network(path, replace(heads, statement="U5", details=details))
    else:
        write_arbitrary_heads(path, heads)
    print(f"wrote {path}", file=sys.stderr)
