"""``boundcheck plot``: heads against eps, r or d, as a figure."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from boundcheck.cli import options
from boundcheck.cli.output import json_text
from boundcheck.errors import InputError


def plot(
    d: options.Dimension,
    r: options.Rank,
    against: Annotated[str, typer.Option("--against", help="What varies: eps, r or d.")] = "eps",
    eps: Annotated[
        str | None,
        typer.Option("--eps", help="The range, as 0.02,0.4; against r or d one value, 0.1."),
    ] = None,
    skip: options.Skip = False,
    width: Annotated[
        str | None, typer.Option("--width", help="Inches, 3 to 14; 3.4 is one column of two.")
    ] = None,
    as_json: options.Json = False,
    output: Annotated[
        str | None,
        typer.Option("--output", "-o", help="File ending in .png, .pdf or .svg."),
    ] = None,
) -> None:
    """Draw the heads that are excluded and those that suffice."""
    from boundcheck.cli.progress import tracked
    from boundcheck.curves import EPS_RANGE, heads_curves
    from boundcheck.curves_report import curves_json
    from boundcheck.files import writable_path

    # matplotlib reads this variable when it is loaded, and fails on a backend that is
    # not installed, as a notebook's; the figure is drawn without any.
    chosen = os.environ.pop("MPLBACKEND", None)
    try:
        from boundcheck.plots import draw, figure_format
    finally:
        if chosen is not None:
            os.environ["MPLBACKEND"] = chosen
    target = output or f"heads-d{d.strip()}-r{r.strip()}-against-{against}.png"
    inches = _width(width)
    figure_format(target)
    one, several = eps, EPS_RANGE
    if against == "eps" and eps is not None:
        ends = options.listed(eps, "eps")
        if len(ends) != 2:
            raise InputError("eps", eps, "a range such as 0.02,0.4 where eps varies")
        one, several = None, (ends[0], ends[1])
    if output is not None:
        writable_path(output)
    curves = heads_curves(
        d, r, against=against, eps=one, eps_range=several, skip=skip, track=tracked
    )
    path = draw(curves, target) if inches is None else draw(curves, target, width=inches)
    if as_json:
        sys.stdout.write(json_text(curves_json(curves, str(path))))
    else:
        print(f"wrote {path}")
    if against == "eps" and curves.problem.r >= curves.problem.d - 1:
        print("boundcheck: r >= d-1: the method gives no or almost no bound", file=sys.stderr)


def _width(text: str | None) -> float | None:
    if text is None:
        return None
    from boundcheck.problem import exact_fraction

    allowed = "inches from 3 to 14"
    inches = float(exact_fraction(text, "width", allowed))
    if not 3 <= inches <= 14:
        raise InputError("width", text, allowed)
    return inches
