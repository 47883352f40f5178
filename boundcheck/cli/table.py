"""``boundcheck table``: head counts over a grid, as a paper's table."""

from __future__ import annotations

from typing import Annotated

import typer

from boundcheck.cli import options
from boundcheck.cli.output import emit, json_text
from boundcheck.errors import InputError


def table(
    d: Annotated[str, typer.Option("--d", help="Dimensions, as 16,32,64.")],
    r: Annotated[str, typer.Option("--r", help="Ranks, as 1,2,4.")],
    eps: Annotated[str, typer.Option("--eps", help="Squared errors, as 0.2,0.1,1/20.")],
    bound: Annotated[
        str | None,
        typer.Option("--bound", help="Ids of the bounds shown, as T1,U3; T1 (T1s with --skip)."),
    ] = None,
    head_class: options.OneClass = "standard",
    skip: options.Skip = False,
    form: Annotated[
        str, typer.Option("--format", help="text, latex, markdown, csv, json or html.")
    ] = "text",
    as_json: options.Json = False,
    output: options.Output = None,
) -> None:
    """Heads over a grid: rows (d, r), a column for each eps."""
    from boundcheck.bounds.registry import bound_named, lower_bound_id
    from boundcheck.cli.progress import tracked
    from boundcheck.problem import Problem
    from boundcheck.sheets import format_named
    from boundcheck.table_report import TableCell, table_cells, table_sheet

    kind = format_named(form, as_json)
    ids = options.listed(bound, "bound") if bound is not None else [lower_bound_id(skip)]
    chosen = [bound_named(bound_id) for bound_id in ids]
    problems = [
        Problem.of(one_d, one_r, one_eps, head_class=head_class, skip=skip)
        for one_d in options.listed(d, "d")
        for one_r in options.listed(r, "r")
        for one_eps in options.listed(eps, "eps")
    ]
    for one in chosen:
        reasons = [one.why_not(problem) for problem in problems]
        if all(reasons):
            raise InputError("bound", one.id, f"a bound that applies; here {reasons[0]}")
    cells: list[TableCell] = []

    def text() -> str:
        if kind == "json":
            return json_text({"rows": [cell.as_json() for cell in cells]})
        return table_sheet(cells, kind).render(kind)

    try:
        for problem in tracked(problems, "table"):
            cells += table_cells([problem], chosen)
    except KeyboardInterrupt:
        if cells and output is None:
            emit(text(), None)
        raise
    emit(text(), output)
