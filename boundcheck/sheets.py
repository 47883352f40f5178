"""A table of text cells in the formats people paste: text, Markdown, LaTeX, CSV, HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from boundcheck.errors import InputError
from boundcheck.formatting import Style, latex_escape, markdown_escape

SheetFormat = Literal["text", "markdown", "latex", "csv", "html"]

#: How numbers are written in each format; None for every digit.
NUMBER_STYLE: dict[SheetFormat, Style | None] = {
    "text": "unicode",
    "markdown": "markdown",
    "latex": "latex",
    "csv": None,
    "html": "markdown",
}


_FORMATS: tuple[SheetFormat | Literal["json"], ...] = (*get_args(SheetFormat), "json")


def format_named(name: str, as_json: bool) -> SheetFormat | Literal["json"]:
    """The format of that name, "json" if that is asked for beside it.

    Raises
    ------
    InputError
        For an unknown one.
    """
    if as_json:
        return "json"
    for known in _FORMATS:
        if name == known:
            return known
    raise InputError("format", name, ", ".join(_FORMATS))


@dataclass(frozen=True, slots=True)
class Cell:
    """Text to print; ``ready`` if it is already in the markup of the format."""

    text: str
    ready: bool = False
    right: bool = False


@dataclass(frozen=True, slots=True)
class Sheet:
    """Header, rows of cells, a caption above and notes below."""

    header: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()

    def render(self, form: SheetFormat) -> str:
        """The sheet as text that ends in a line break.

        Examples
        --------
        >>> sheet = Sheet((Cell("d"), Cell("heads")), ((Cell("64"), Cell("7")),))
        >>> print(sheet.render("csv"), end="")
        d,heads
        64,7
        """
        match form:
            case "latex":
                return _latex(self)
            case "html":
                return _html(self)
            case "csv":
                return _csv(self)
            case "text" | "markdown":
                return _plain(self, form)


def _alignment(sheet: Sheet) -> list[bool]:
    columns = range(len(sheet.header))
    return [any(row[i].right for row in sheet.rows) for i in columns]


def _plain(sheet: Sheet, form: Literal["text", "markdown"]) -> str:
    from tabulate import tabulate

    def shown(cell: Cell) -> str:
        if form == "text" or cell.ready:
            return cell.text
        return markdown_escape(cell.text)

    table = tabulate(
        [[shown(cell) for cell in row] for row in sheet.rows],
        headers=[shown(cell) for cell in sheet.header],
        tablefmt="pipe" if form == "markdown" else "simple",
        colalign=["right" if right else "left" for right in _alignment(sheet)],
        disable_numparse=True,
    )
    notes = [markdown_escape(note) if form == "markdown" else note for note in sheet.notes]
    if form == "markdown":
        notes = [f"- {note}" for note in notes]
    caption = markdown_escape(sheet.caption) if form == "markdown" else sheet.caption
    parts = [caption, table, "\n".join(notes)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _csv(sheet: Sheet) -> str:
    import csv
    import io

    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(cell.text for cell in sheet.header)
    writer.writerows([cell.text for cell in row] for row in sheet.rows)
    return out.getvalue()


def _latex(sheet: Sheet) -> str:
    def line(row: tuple[Cell, ...]) -> str:
        cells = (cell.text if cell.ready else latex_escape(cell.text) for cell in row)
        return "  " + " & ".join(cells) + r" \\"

    columns = "".join("r" if right else "l" for right in _alignment(sheet))
    lines = ["% needs \\usepackage{booktabs}"]
    # A note is a comment: the table itself stays as narrow as its numbers.
    lines += [f"% {' '.join(text.split())}" for text in (sheet.caption, *sheet.notes) if text]
    lines += [rf"\begin{{tabular}}{{{columns}}}", r"  \toprule", line(sheet.header)]
    lines += [r"  \midrule", *(line(row) for row in sheet.rows), r"  \bottomrule"]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"


def _html(sheet: Sheet) -> str:
    from html import escape

    def line(row: tuple[Cell, ...], tag: str) -> str:
        cells = []
        for cell, right in zip(row, _alignment(sheet), strict=True):
            style = ' style="text-align:right"' if right else ""
            text = cell.text if cell.ready else escape(cell.text)
            cells.append(f"<{tag}{style}>{text}</{tag}>")
        return "<tr>" + "".join(cells) + "</tr>"

    lines = ["<table>"]
    if sheet.caption:
        lines.append(f"<caption>{escape(sheet.caption)}</caption>")
    lines += ["<thead>", line(sheet.header, "th"), "</thead>", "<tbody>"]
    lines += [*(line(row, "td") for row in sheet.rows), "</tbody>", "</table>"]
    lines += [f"<p>{escape(note)}</p>" for note in sheet.notes]
    return "\n".join(lines) + "\n"
