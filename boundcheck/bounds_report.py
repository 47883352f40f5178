"""`bounds`: every bound on one question, as a sheet to read and as JSON to keep."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from boundcheck.bounds.lower import Explanation
from boundcheck.comparison import Row
from boundcheck.formatting import (
    SAFE,
    digits,
    enclosure_json,
    error_text,
    heads_text,
    json_int,
    safe_float,
    significant_text,
)
from boundcheck.problem import Problem
from boundcheck.sheets import NUMBER_STYLE, Cell, Sheet, SheetFormat
from boundcheck.values import Direction, Enclosure, HeadCount, Numeric, Value


def problem_json(problem: Problem) -> dict[str, Any]:
    """The question, as `bounds --json` shows it."""
    return {
        "d": problem.d,
        "r": problem.r,
        "points": problem.points,
        "target": problem.target,
        "eps": problem.eps_text or None,
        "skip": problem.skip,
    }


def error_json(value: Value | None, direction: Direction) -> dict[str, Any]:
    """``error``, rounded to the safe side, and what backs it."""
    match value:
        case None:
            return {"error": None}
        case Enclosure():
            end = value.lo if direction == "lower" else value.hi
            return {
                "error": safe_float(end, "down" if direction == "lower" else "up"),
                "error_enclosure": enclosure_json(value),
            }
        case Numeric():
            safe = value.value + value.error_estimate * (1 if direction == "upper" else -1)
            return {"error": max(safe, 0.0), "error_estimate": value.error_estimate}
        case _:
            return {"error": value.value, "constants": dict(value.constants)}


def row_json(row: Row) -> dict[str, Any]:
    """One bound, as `bounds --json` shows it."""
    heads, parameters = row.count.heads, row.parameters
    found: dict[str, Any] = {
        "id": row.id,
        "name": row.name,
        "direction": row.direction,
        "kind": row.kind,
        "head_class": row.head_class,
        "depth": row.depth,
        "scores": row.scores,
        "rank": row.rank,
        "heads": None if heads is None else json_int(heads),
        "parameters": None if parameters is None else json_int(parameters),
        **error_json(row.error, row.direction),
    }
    if row.count.reason is not None:
        found["reason"] = row.count.reason
    if not row.count.sharp:
        found["sharp"] = False
    return found


def explanation_json(parts: Explanation) -> dict[str, Any]:
    """The lower bound degree by degree."""
    return {
        "heads": json_int(parts.heads),
        "sphere_dimension": parts.capacity.D,
        "degrees": [
            {
                "degree": share.degree,
                "dimension": json_int(share.dimension),
                "capacity_of_one_head": json_int(share.capacity),
                "energy": enclosure_json(share.energy),
                "share": enclosure_json(share.share),
            }
            for share in parts.shares
        ],
        "beyond": enclosure_json(parts.beyond),
        "total": enclosure_json(parts.total),
    }


def bounds_sheet(problem: Problem, rows: Sequence[Row], form: SheetFormat) -> Sheet:
    """One line for each bound."""
    labels = "bound,what,heads are,kind,class,depth,scores,rank,heads,parameters,error"
    if form == "csv":
        labels = "id,name,direction,kind,head_class,depth,scores,rank,heads,parameters,error"
    lines = tuple(_bound_cells(row, form) for row in rows)
    header = tuple(Cell(label) for label in labels.split(","))
    notes = [f"{row.id} ({row.head_class}): {row.count.reason}" for row in rows if row.count.reason]
    if form != "csv":
        notes.append("parameters: heads x rank x d, once for queries and once for keys")
    return Sheet(header, lines, _question(problem, rows), tuple(dict.fromkeys(notes)))


def _question(problem: Problem, rows: Sequence[Row]) -> str:
    skip = ", with A y added for free" if problem.skip else ""
    if problem.eps is not None:
        return (
            f"Heads of rank {problem.r} for squared error {problem.eps_text} "
            f"at d = {problem.d}{skip}:"
        )
    heads = heads_text(rows[0].count.heads or 0, "upper", "unicode") if rows else "0"
    return f"Squared error of {heads} heads of rank {problem.r} at d = {problem.d}{skip}:"


def _bound_cells(row: Row, form: SheetFormat) -> tuple[Cell, ...]:
    says = {"lower": "at least", "upper": "enough"}[row.direction]
    if row.kind == "published":
        says = "about"
    csv = form == "csv"
    parameters = HeadCount(row.parameters, row.count.reason, row.count.sharp)
    return (
        Cell(row.id),
        Cell(row.name),
        Cell(row.direction if csv else says),
        Cell("published form" if row.kind == "published" and not csv else row.kind),
        Cell(row.head_class),
        Cell(str(row.depth), right=True),
        Cell(row.scores),
        Cell(str(row.rank), right=True),
        count_cell(row.count, row.direction, form),
        count_cell(parameters, row.direction, form),
        _error_cell(row.error, row.direction, form),
    )


def count_cell(
    count: HeadCount, direction: Direction, form: SheetFormat, most_digits: int = 15
) -> Cell:
    """A head count: every digit in CSV, shortened to the safe side elsewhere."""
    style = NUMBER_STYLE[form]
    if count.heads is None:
        return Cell("" if form == "csv" else "not reached", right=True)
    if style is None:
        return Cell(digits(count.heads), right=True)
    text = heads_text(count.heads, direction, style, most_digits=most_digits)
    return Cell(text, ready=True, right=True)


def _error_cell(value: Value | None, direction: Direction, form: SheetFormat) -> Cell:
    if value is None:
        return Cell("" if form == "csv" else "-", right=True)
    style = NUMBER_STYLE[form]
    if style is None:
        return Cell(repr(error_json(value, direction)["error"]), right=True)
    return Cell(error_text(value, direction, style), ready=True, right=True)


def explanation_sheet(problem: Problem, parts: Explanation, form: SheetFormat) -> Sheet:
    """The lower bound degree by degree, one line each."""
    style = NUMBER_STYLE[form]

    def number(n: int, direction: Direction) -> Cell:
        return count_cell(HeadCount(n), direction, form)

    def fraction(x: Enclosure) -> Cell:
        if style is None:
            return Cell(repr(safe_float(x.lo, "down")), right=True)
        return Cell(significant_text(x.lo, 6, SAFE["lower"], style), ready=True, right=True)

    header = ("degree", "N(D,l)", "m(l) of one head", "E_l/2", "adds to the error")
    empty = Cell("")
    lines = [
        (
            Cell(str(share.degree), right=True),
            number(share.dimension, "lower"),
            number(share.capacity, "upper"),
            fraction(share.energy),
            fraction(share.share),
        )
        for share in parts.shares
    ]
    lines.append((Cell("beyond", right=True), empty, empty, empty, fraction(parts.beyond)))
    lines.append((Cell("total", right=True), empty, empty, empty, fraction(parts.total)))
    heads = heads_text(parts.heads, "upper", "unicode")
    caption = (
        f"The lower bound with {heads} {problem.head_class} heads of rank {problem.r}, degree by "
        f"degree (D = {parts.capacity.D}, each value rounded down):"
    )
    return Sheet(tuple(Cell(label) for label in header), tuple(lines), caption)
