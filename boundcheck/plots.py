"""The figure of `boundcheck plot`: what is excluded, and what suffices.

matplotlib and numpy are loaded at module level: import this module where it
is used. Nothing of matplotlib's global state is changed: no pyplot, and
rcParams only inside a context.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from boundcheck.curves import HeadCurves, Role
from boundcheck.errors import InputError
from boundcheck.figure_layout import (
    COLUMN_WIDTH,
    DESCENT,
    FONT,
    GROUND,
    LABEL_SIZE,
    LEADING,
    MATH_FONT,
    TICK_SIZE,
    Layout,
    layout,
)
from boundcheck.files import atomic_write, writable_path

if TYPE_CHECKING:
    from matplotlib.typing import RcKeyType

_DOTS_PER_INCH = 300
_FORMATS = {".png": "png", ".pdf": "pdf", ".svg": "svg"}

_AXIS_SIZE = 8.0

#: Everything that decides how the figure looks, whatever the user's rcParams say.
_STYLE: dict[RcKeyType, object] = {
    "font.family": FONT,
    "mathtext.fontset": MATH_FONT,
    "pdf.fonttype": 42,
    "ps.fonttype": 42,
    "svg.fonttype": "path",
    "svg.hashsalt": "boundcheck",
    "axes.linewidth": 0.5,
    "text.hinting": "no_autohint",
}


@dataclass(frozen=True, slots=True)
class Stroke:
    """How a curve is drawn: colour, width in points, dashes (on, off, ...)."""

    color: str
    width: float
    dashes: tuple[float, ...] = ()


_STROKES: dict[Role, Stroke] = {
    "excluded": Stroke("#333333", 0.5),
    "one layer": Stroke("#0b3c8c", 1.3),
    "arbitrary scores": Stroke("#0b3c8c", 0.8, (4, 1.5, 1, 1.5)),
    "two layers": Stroke("#b8420f", 1.3),
    "full rank": Stroke("#000000", 1.3),
    "budget": Stroke("#000000", 0.8, (4, 2)),
    "published": Stroke("#555555", 0.7, (1, 1.5)),
}
_SHADES = {"scalar": "#f0f0f0", "standard": "#e3e3e3", "generalized": "#d6d6d6"}


def figure_format(path: str | os.PathLike[str]) -> str:
    """The format that a file name asks for: "png", "pdf" or "svg".

    Raises
    ------
    InputError
        For another suffix.

    Examples
    --------
    >>> figure_format("heads.PDF")
    'pdf'
    """
    form = _FORMATS.get(Path(path).suffix.lower())
    if form is None:
        raise InputError("output", os.fspath(path), "a file name that ends in .png, .pdf or .svg")
    return form


def draw(curves: HeadCurves, path: str | os.PathLike[str], *, width: float = COLUMN_WIDTH) -> Path:
    """Write the figure to path, all of it or nothing; the same bytes for the same curves.

    Parameters
    ----------
    curves : HeadCurves
    path : path-like
        Ends in .png, .pdf or .svg.
    width : float
        Inches; 3.4 is one column of a two-column paper.

    Returns
    -------
    Path
        Where the file is, links followed.

    Raises
    ------
    InputError
        If the suffix is another one or path cannot be written.
    """
    form = figure_format(path)
    target = writable_path(path)
    atomic_write(path, figure_bytes(curves, form, width=width))
    return target


def figure_bytes(curves: HeadCurves, form: str, *, width: float = COLUMN_WIDTH) -> bytes:
    """The figure as the content of a "png", "pdf" or "svg" file."""
    metadata: dict[str, dict[str, str | None]] = {
        "png": {"Software": None},
        "pdf": {"Creator": None, "Producer": None, "CreationDate": None},
        "svg": {"Creator": None, "Date": None, "Format": None, "Type": None},
    }
    content = BytesIO()
    with _style():
        figure = _painted(layout(curves, width=width))
        figure.savefig(content, format=form, dpi=_DOTS_PER_INCH, metadata=metadata[form])
    return content.getvalue()


@contextmanager
def _style() -> Iterator[None]:
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


# --- painting -------------------------------------------------------------


def _painted(plan: Layout) -> Figure:
    """The figure; call it inside the style."""
    full_width, full_height = plan.figure
    left, bottom, width, height = plan.axes
    figure = Figure(figsize=(full_width / 72, full_height / 72))
    FigureCanvasAgg(figure)
    axes = figure.add_axes(
        (left / full_width, bottom / full_height, width / full_width, height / full_height)
    )
    axes.set(xlim=(0, width), ylim=(0, height))
    for line in plan.lines:
        if line.curve.head_class is not None:
            axes.fill_between(
                line.x, line.y, GROUND, color=_SHADES[line.curve.head_class], linewidth=0
            )
    for line in plan.lines:
        stroke = _STROKES[line.curve.role]
        axes.plot(
            line.x,
            line.y,
            color=stroke.color,
            linewidth=stroke.width,
            linestyle=(0, stroke.dashes) if stroke.dashes else "-",
            solid_joinstyle="round",
        )
    for placed in plan.labels:
        color = _STROKES["excluded"].color
        for line in plan.lines:
            if line.name == placed.label.name:
                color = _STROKES[line.curve.role].color
        if placed.leader is not None:
            x0, y0, x1, y1 = placed.leader
            axes.plot([x0, x1], [y0, y1], color=color, linewidth=0.4)
            axes.plot([x1], [y1], "o", color=color, markersize=1.6, markeredgewidth=0)
        for i, text in enumerate(reversed(placed.size.lines)):
            axes.text(
                placed.x,
                placed.y + DESCENT + i * LEADING,
                text,
                size=LABEL_SIZE,
                color=color,
                va="baseline",
            )
    _paint_axes(axes, plan)
    return figure


def _paint_axes(axes: Axes, plan: Layout) -> None:
    for axis, ticks in ((axes.xaxis, plan.x_ticks), (axes.yaxis, plan.y_ticks)):
        major = [tick for tick in ticks if tick.text]
        axis.set_ticks([tick.at for tick in major], [tick.text for tick in major])
        axis.set_ticks([tick.at for tick in ticks if not tick.text], minor=True)
    axes.tick_params(labelsize=TICK_SIZE, width=0.5, length=2.5, pad=2)
    axes.tick_params(which="minor", width=0.4, length=1.5)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlabel(plan.x_title, size=_AXIS_SIZE, labelpad=2)
    axes.set_ylabel("heads $H$", size=_AXIS_SIZE, labelpad=2)
    axes.set_title(plan.heading, size=_AXIS_SIZE, loc="left", pad=3)
