"""`constants`: what T1 supports in the published forms, as a sheet and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from boundcheck.bounds.supported_constants import SupportedConstant
from boundcheck.formatting import json_int, significant_text
from boundcheck.sheets import NUMBER_STYLE, Cell, Sheet, SheetFormat


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
