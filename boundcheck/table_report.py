"""`table`: head counts over a grid, as a paper's table and as JSON to keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from boundcheck.bounds.base import Bound
from boundcheck.bounds_report import count_cell
from boundcheck.formatting import json_int
from boundcheck.problem import Problem
from boundcheck.sheets import Cell, Sheet, SheetFormat
from boundcheck.values import HeadCount

#: In a table, head counts with more digits are shortened.
TABLE_DIGITS = 9


@dataclass(frozen=True, slots=True)
class TableCell:
    """One bound's head count at one grid point."""

    problem: Problem
    bound: Bound
    count: HeadCount
    applies: bool = True

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
            cells.append(TableCell(problem, bound, count, applies=reason is None))
    return cells


def table_sheet(cells: Sequence[TableCell], form: SheetFormat) -> Sheet:
    """A paper's table: rows (d, r) and bound, a column for each eps; CSV is one line a cell."""
    if form == "csv":
        header = ["d", "r", "eps", "id", "direction", "kind", "depth", "head_class", "heads"]
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
        counts = [_count(found.get(eps), form) for eps in columns]
        rows.append((*label, *counts))
    math = form == "latex"
    names = ["$d$", "$r$"] if math else ["d", "r"]
    eps_names = [_eps_name(eps, math) for eps in columns]
    header_cells = [Cell(name, ready=True) for name in (*names, *(["bound"] if several else []))]
    header_cells += [Cell(name, ready=True) for name in eps_names]
    return Sheet(tuple(header_cells), tuple(rows), _table_caption(cells), _table_notes(cells))


def _count(cell: TableCell | None, form: SheetFormat) -> Cell:
    if cell is None or not cell.applies:
        # Not asked yet when the work was interrupted, or not a question for this bound.
        return Cell("" if cell is None else "n/a", right=True)
    return count_cell(cell.count, cell.bound.direction, form, TABLE_DIGITS)


def _table_caption(cells: Sequence[TableCell]) -> str:
    parts = []
    for bound in dict.fromkeys(cell.bound for cell in cells):
        says = "at least so many heads" if bound.direction == "lower" else "so many heads suffice"
        head_class = cells[0].problem.head_class
        parts.append(f"{bound.id}: {says} ({bound.name}, {bound.kind}, {head_class} class)")
    return "; ".join(parts) + "."


def _eps_name(text: str, math: bool) -> str:
    if not math:
        return f"eps = {text}"
    mantissa, _, exponent = text.lower().partition("e")
    if not exponent:
        return rf"$\varepsilon = {text}$"
    power = f"10^{{{int(exponent)}}}"
    if mantissa != "1":
        power = rf"{mantissa} \times {power}"
    return rf"$\varepsilon = {power}$"


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
