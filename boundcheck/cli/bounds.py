"""``boundcheck bounds``: every bound that applies to one question."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from boundcheck.cli import options
from boundcheck.cli.output import emit, json_text
from boundcheck.errors import InputError


def bounds(
    d: options.Dimension,
    r: options.Rank,
    eps: options.Eps = None,
    heads: options.Heads = None,
    head_class: options.Classes = None,
    skip: options.Skip = False,
    explain: Annotated[
        bool, typer.Option("--explain", help="Add what each degree contributes to the lower bound.")
    ] = False,
    form: Annotated[
        str, typer.Option("--format", help="text, markdown, latex, csv, html or json.")
    ] = "text",
    as_json: options.Json = False,
    output: options.Output = None,
) -> None:
    """Every bound on the heads needed for an error, or on the error of some heads."""
    from boundcheck.bounds.lower import explanation
    from boundcheck.bounds.registry import left_out_bounds
    from boundcheck.bounds_report import (
        bounds_sheet,
        explanation_json,
        explanation_sheet,
        problem_json,
        row_json,
    )
    from boundcheck.comparison import compare
    from boundcheck.problem import Problem, whole_number
    from boundcheck.sheets import format_named

    kind = format_named(form, as_json)
    problem = Problem.of(d, r, eps, skip=skip)
    classes = options.head_classes(head_class)
    if (eps is None) == (heads is None):
        given = "both" if eps is not None else "neither"
        allowed = "one of --eps (how many heads?) and --heads (what error?)"
        raise InputError("eps, heads", given, allowed)
    count = None
    if heads is not None:
        count = whole_number(heads, "heads", "a whole number, 0 or more", 0)
    if left_out_bounds():
        names = ", ".join(left_out_bounds())
        print(f"boundcheck: without python-flint, {names} are left out", file=sys.stderr)
    rows = compare(problem, head_classes=classes, heads=count)

    parts = None
    if explain:
        shown = "standard" if "standard" in classes else classes[0]
        lower = next(row for row in rows if row.kind == "certified" and row.head_class == shown)
        # For a question with eps: the largest count that is excluded.
        at = max(1, (lower.count.heads or 1) - (count is None))
        parts = explanation(problem.of_class(shown), at)
        problem = problem.of_class(shown)

    if kind == "json":
        found: dict[str, Any] = {
            "problem": problem_json(problem),
            "bounds": [row_json(row) for row in rows],
        }
        if parts is not None:
            found["explanation"] = explanation_json(parts)
        emit(json_text(found), output)
        return
    sheets = [bounds_sheet(problem, rows, kind)]
    if parts is not None:
        # A CSV file holds one table: the one that was asked for on top.
        added = explanation_sheet(problem, parts, kind)
        sheets = [added] if kind == "csv" else [*sheets, added]
    emit("\n".join(sheet.render(kind) for sheet in sheets), output)
