"""``boundcheck constants``: what T1 supports in the published asymptotic forms."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from boundcheck.cli import options
from boundcheck.cli.output import emit, json_text
from boundcheck.errors import InputError


def constants(
    d: Annotated[str | None, typer.Option("--d", help="Dimensions of the grid; 32,64,128.")] = None,
    r: Annotated[str | None, typer.Option("--r", help="Ranks of the grid; 1,2,4,8.")] = None,
    eps: Annotated[
        str | None,
        typer.Option("--eps", help="Squared errors of the grid; 0.2,0.1,0.05,0.02,0.01,0.005."),
    ] = None,
    head_class: options.Classes = "standard",
    form: Annotated[
        str, typer.Option("--format", help="text, markdown, latex, csv, html or json.")
    ] = "text",
    as_json: options.Json = False,
    output: options.Output = None,
) -> None:
    """The largest constants at which the published forms (T5) stay below T1 on a grid."""
    from boundcheck.bounds.supported_constants import DEFAULT_GRID, supported_constants
    from boundcheck.cli.progress import tracked
    from boundcheck.constants_report import constant_json, constants_sheet
    from boundcheck.problem import MAX_DIMENSION, whole_number
    from boundcheck.sheets import format_named

    kind = format_named(form, as_json)
    allowed = f"a whole number from 3 to {MAX_DIMENSION}"
    ds = DEFAULT_GRID.ds
    if d is not None:
        ds = [whole_number(x, "d", allowed, 3, MAX_DIMENSION) for x in options.listed(d, "d")]
    rs = DEFAULT_GRID.rs
    if r is not None:
        rs = [whole_number(x, "r", "a whole number from 1", 1) for x in options.listed(r, "r")]
    if min(rs) > max(ds):
        raise InputError("r", min(rs), f"a whole number from 1 to d = {max(ds)}")
    epss = DEFAULT_GRID.epss if eps is None else options.listed(eps, "eps")
    classes = options.head_classes(head_class)
    found = [
        constant
        for one in tracked(classes, "constants")
        for constant in supported_constants(ds, rs, epss, one)
    ]
    if kind == "json":
        grid: dict[str, Any] = {"d": list(ds), "r": list(rs), "eps": list(epss)}
        emit(json_text({"grid": grid, "constants": [constant_json(c) for c in found]}), output)
        return
    emit(constants_sheet(found, kind).render(kind), output)
