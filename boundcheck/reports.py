"""`bounds` and `table`: the same answers as sheets to read and as JSON to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from boundcheck.bounds.base import Bound
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

if TYPE_CHECKING:
    from boundcheck.bounds.supported_constants import SupportedConstant
    from boundcheck.curves import HeadCurves

#: In a table, head counts with more digits are shortened.
TABLE_DIGITS = 9


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
    style = NUMBER_STYLE[form] or "plain"

    def number(n: int, direction: Direction) -> Cell:
        return count_cell(HeadCount(n), direction, form)

    def fraction(x: Enclosure) -> Cell:
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


@dataclass(frozen=True, slots=True)
class TableCell:
    """One bound's head count at one grid point."""

    problem: Problem
    bound: Bound
    count: HeadCount

    def as_json(self) -> dict[str, Any]:
        """The cell, as `table --json` shows it."""
        heads = self.count.heads
        found = {
            "d": self.problem.d,
            "r": self.problem.r,
            "eps": self.problem.eps_text,
            "id": self.bound.id,
            "direction": self.bound.direction,
            "kind": self.bound.kind,
            "depth": self.bound.depth,
            "head_class": self.problem.head_class,
            "heads": None if heads is None else json_int(heads),
        }
        if self.count.reason is not None:
            found["reason"] = self.count.reason
        return found


def table_cells(problems: Sequence[Problem], bounds: Sequence[Bound]) -> list[TableCell]:
    """The head count of each bound at each problem, problems outermost.

    Where a bound does not apply, its count is None with the reason.
    """
    cells = []
    for problem in problems:
        for bound in bounds:
            reason = bound.why_not(problem)
            count = HeadCount(None, reason) if reason else bound.heads(problem)
            cells.append(TableCell(problem, bound, count))
    return cells


def table_sheet(cells: Sequence[TableCell], form: SheetFormat) -> Sheet:
    """A paper's table: rows (d, r) and bound, a column for each eps; CSV is one line a cell."""
    if form == "csv":
        header = "d,r,eps,id,direction,kind,depth,head_class,heads".split(",")
        lines = tuple(
            (
                *(Cell(str(cell.as_json()[name])) for name in header[:-1]),
                count_cell(cell.count, cell.bound.direction, form),
            )
            for cell in cells
        )
        return Sheet(tuple(Cell(name) for name in header), lines)
    columns = list(dict.fromkeys(cell.problem.eps_text for cell in cells))
    ids = list(dict.fromkeys(cell.bound.id for cell in cells))
    several = len(ids) > 1
    table: dict[tuple[int, int, str], dict[str, TableCell]] = {}
    for cell in cells:
        key = (cell.problem.d, cell.problem.r, cell.bound.id)
        table.setdefault(key, {})[cell.problem.eps_text] = cell
    rows = []
    for (d, r, bound_id), found in table.items():
        label = [Cell(str(d), right=True), Cell(str(r), right=True)]
        if several:
            label.append(Cell(bound_id))
        counts = [
            count_cell(found[eps].count, found[eps].bound.direction, form, TABLE_DIGITS)
            for eps in columns
        ]
        rows.append((*label, *counts))
    math = form == "latex"
    names = ["$d$", "$r$"] if math else ["d", "r"]
    eps_names = [rf"$\varepsilon = {_eps_latex(eps)}$" if math else f"eps = {eps}" for eps in columns]
    header_cells = [Cell(name, ready=True) for name in (*names, *(["bound"] if several else []))]
    header_cells += [Cell(name, ready=True) for name in eps_names]
    return Sheet(tuple(header_cells), tuple(rows), _table_caption(cells), _table_notes(cells))


def _table_caption(cells: Sequence[TableCell]) -> str:
    parts = []
    for bound in dict.fromkeys(cell.bound for cell in cells):
        says = "at least so many heads" if bound.direction == "lower" else "so many heads suffice"
        head_class = cells[0].problem.head_class
        parts.append(f"{bound.id}: {says} ({bound.name}, {bound.kind}, {head_class} class)")
    return "; ".join(parts) + "."


def _eps_latex(text: str) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    if not exponent:
        return text
    power = f"10^{{{int(exponent)}}}"
    return power if mantissa == "1" else rf"{mantissa} \times {power}"


def _table_notes(cells: Sequence[TableCell]) -> tuple[str, ...]:
    found: dict[str, list[str]] = {}
    for cell in cells:
        if cell.count.reason:
            where = f"d={cell.problem.d} r={cell.problem.r} eps={cell.problem.eps_text}"
            found.setdefault(f"{cell.bound.id}: {cell.count.reason}", []).append(where)
    return tuple(
        f"{reason} [{'; '.join(places[:3])}{', ...' if len(places) > 3 else ''}]"
        for reason, places in found.items()
    )


def constant_json(found: SupportedConstant) -> dict[str, Any]:
    """One constant, as `constants --json` shows it."""
    shown: dict[str, Any] = {
        "id": found.id,
        "form": found.form,
        "symbol": found.symbol,
        "head_class": found.head_class,
        "constant": found.constant,
    }
    if found.limiting is not None:
        cell = found.limiting
        shown["limiting"] = {"d": cell.d, "r": cell.r, "eps": cell.eps_text}
        shown["heads"] = None if found.heads is None else json_int(found.heads)
    if found.reason is not None:
        shown["reason"] = found.reason
    return shown


def constants_sheet(constants: Sequence[SupportedConstant], form: SheetFormat) -> Sheet:
    """One line for each constant that T1 supports."""
    style = NUMBER_STYLE[form]
    lines = []
    for found in constants:
        cell, value = found.limiting, found.constant
        if value is None:
            text = "" if style is None else "no limit"
        elif style is None:
            text = repr(value)
        else:
            text = significant_text(Fraction(value), 4, "down", style)
        where = "" if cell is None else f"d={cell.d} r={cell.r} eps={cell.eps_text}"
        lines.append(
            (
                Cell(found.id),
                Cell(found.form),
                Cell(found.symbol),
                Cell(found.head_class),
                Cell(text, ready=value is not None, right=True),
                Cell(where),
            )
        )
    header = ("id", "form", "constant", "head_class" if style is None else "class", "value")
    grid = constants[0].grid
    dimensions, ranks = (",".join(map(str, values)) for values in (grid.ds, grid.rs))
    caption = (
        f"Largest constants at which the published forms stay below T1 on the grid "
        f"d={dimensions} r={ranks} eps={','.join(grid.epss)}; T1 proves the form there, "
        "and elsewhere this says nothing."
    )
    notes = tuple(dict.fromkeys(f"{c.id}: {c.reason}" for c in constants if c.reason))
    return Sheet(
        tuple(Cell(label) for label in (*header, "limited by")), tuple(lines), caption, notes
    )


def curves_json(curves: HeadCurves, path: str) -> dict[str, Any]:
    """The figure's data, as `plot --json` shows it; places are exact decimals or fractions."""
    return {
        "file": path,
        "problem": problem_json(curves.problem),
        "against": curves.against,
        "curves": [
            {
                "role": curve.role,
                "ids": list(curve.ids),
                "head_class": curve.head_class,
                curves.against: [str(place) for place in curve.places],
                "heads": [None if n is None else json_int(n) for n in curve.heads],
            }
            for curve in curves.curves
        ],
    }
