"""Where everything in the figure goes, in points: scales, ticks, labels.

numpy and matplotlib's font metrics are loaded at module level: import this
module where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import ceil, floor, log10

import numpy as np
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from boundcheck.curves import Curve, HeadCurves, Place, Role
from boundcheck.label_placement import (
    Array,
    Board,
    Label,
    Placed,
    Size,
    dots_along,
    nearest_points,
    placed_labels,
)

#: Inches: one column of a two-column paper.
COLUMN_WIDTH = 3.4
FONT = "STIXGeneral"
MATH_FONT = "stix"
#: Points.
LABEL_SIZE = 7.0
TICK_SIZE = 7.0
LEADING = 1.12 * LABEL_SIZE
#: Baseline of the last line above the lower edge of a label's box.
DESCENT = 0.22 * LABEL_SIZE
#: Height of the line of one head: room for a label below it.
GROUND = 10.0
#: Bands narrower than this are named together, since nobody sees two.
_NARROW_BAND = 1.5
#: Curves that the figure is high enough for.
_WHOLE: tuple[Role, ...] = ("two layers", "full rank", "budget")
#: Labels in the order in which they choose their places.
_NAMED: tuple[Role, ...] = (
    "budget",
    "full rank",
    "two layers",
    "one layer",
    "arbitrary scores",
    "published",
)


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick at a distance along its axis; without text it is a minor one."""

    at: float
    text: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A curve and its corners."""

    curve: Curve
    x: Array
    y: Array

    @property
    def name(self) -> str:
        """Role, and class where there is one."""
        return self.curve.head_class or self.curve.role


@dataclass(frozen=True, slots=True)
class _Scale:
    """From log10 of places and heads to points."""

    first: float
    last: float
    decades: float
    width: float
    height: float

    def across(self, place: Place) -> float:
        return (_log10(place) - self.first) / (self.last - self.first) * self.width

    def up(self, log10_heads: float) -> float:
        return GROUND + log10_heads / self.decades * (self.height - GROUND - 2)


@dataclass(frozen=True, slots=True)
class Layout:
    """Where everything goes, in points; lines and labels from the axes' lower left corner.

    Attributes
    ----------
    figure, axes : tuple of float
        Width and height of the figure; left, bottom, width and height of the axes.
    lines : list of Line
    labels : list of Placed
    x_ticks, y_ticks : list of Tick
    x_title, heading : str
    """

    figure: tuple[float, float]
    axes: tuple[float, float, float, float]
    lines: list[Line]
    labels: list[Placed]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    x_title: str
    heading: str


def layout(curves: HeadCurves, *, width: float = COLUMN_WIDTH) -> Layout:
    """Positions of all lines, ticks and labels of the figure."""
    # Wide figures need not be as high in proportion.
    full_width, full_height = 72 * width, 72 * min(0.84 * width, 1.5 + 0.4 * width)
    decades = _decades(curves)
    y_values = _y_tick_values(decades)
    left = 16 + max(text_width(text, TICK_SIZE) for _, text in y_values)
    x_values = _x_tick_values(curves)
    widest = max(text_width(text, TICK_SIZE) for _, text in x_values)
    bottom, right, above = 25.0, widest / 2 + 2, 12.0
    axes = left, bottom, full_width - left - right, full_height - bottom - above
    scale = _Scale(_log10(curves.first), _log10(curves.last), decades, axes[2], axes[3])
    shown = [curve for curve in curves.curves if _shows(curve)]
    lines = [
        Line(
            curve,
            np.array([scale.across(place) for place in curve.places]),
            np.array([np.nan if v is None else scale.up(v) for v in curve.log10_heads]),
        )
        for curve in shown
    ]
    return Layout(
        (full_width, full_height),
        axes,
        lines,
        _labels(curves, lines, axes[2], axes[3]),
        _x_ticks(x_values, scale),
        [Tick(scale.up(v), text) for v, text in y_values],
        {"eps": r"squared error $\varepsilon$", "r": "rank $r$ of each head", "d": "dimension $d$"}[
            curves.against
        ],
        _heading(curves),
    )


def _shows(curve: Curve) -> bool:
    """Whether it says anything: a published form of less than ten heads does not."""
    return curve.role != "published" or max(count or 0 for count in curve.heads) >= 10


def _log10(x: Place) -> float:
    return log10(x.numerator) - log10(x.denominator)


def _decades(curves: HeadCurves) -> float:
    """The height of the figure.

    Over eps, counts explode to the left: every curve is seen over the right
    half, two layers and the budget everywhere, and the lower bounds everywhere
    if that takes at most half as much again.
    """
    first, last = _log10(curves.first), _log10(curves.last)
    middle = first if curves.against != "eps" else (first + last) / 2
    half = full = 1.0
    for curve in curves.curves:
        if curve.role == "published":
            continue
        known = [
            (_log10(place), height)
            for place, height in zip(curve.places, curve.log10_heads, strict=True)
            if height is not None
        ]
        x, y = np.array(known).T
        left = first if curve.role in _WHOLE else middle
        shown = [*y[x >= left], *np.interp([left], x, y)]
        half = max(half, *shown)
        if curve.role == "excluded":
            full = max(full, *y)
    return 1.03 * float(full if half < full < 1.5 * half else half)


def _y_tick_values(decades: float) -> list[tuple[float, str]]:
    """log10 of the head counts that get a tick, and their text."""
    if decades < 2.2:
        shown = (1, 2, 5, 10, 20, 50, 100)
        return [
            (log10(n), str(n) if n in shown else "")
            for k in (1, 10, 100)
            for n in range(k, 10 * k, k)
            if log10(n) <= decades
        ]
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if decades / s < 7)
    small = {0: "1", 1: "10"}
    return [
        (float(k), small.get(k, f"$10^{{{k}}}$") if k % step == 0 else "")
        for k in range(0, floor(decades) + 1, max(1, step // 5))
    ]


def _x_tick_values(curves: HeadCurves) -> list[tuple[Place, str]]:
    """The places that get a tick, the most important ones first, and their text."""
    if curves.against == "eps":
        return _eps_ticks(Fraction(curves.first), Fraction(curves.last))
    first, last = int(curves.first), int(curves.last)
    powers = [2**k for k in range(last.bit_length()) if first <= 2**k]
    return [(place, str(place)) for place in dict.fromkeys((*powers, first, last))]


def _x_ticks(values: list[tuple[Place, str]], scale: _Scale) -> list[Tick]:
    ticks: list[Tick] = []
    for value, text in values:
        at, half = scale.across(value), text_width(text, TICK_SIZE) / 2 + 2
        crowded = any(
            abs(at - tick.at) < half + text_width(tick.text, TICK_SIZE) / 2
            for tick in ticks
            if tick.text
        )
        ticks.append(Tick(at, "" if crowded else text))
    return ticks


def _eps_ticks(first: Fraction, last: Fraction) -> list[tuple[Place, str]]:
    low, high = floor(_log10(first)), floor(_log10(last))
    powers = [Fraction(10) ** k for k in range(low, high + 1)]
    if high - low > 12:
        powers = powers[:: (high - low) // 6]
    digits = (1, 2, 5, 3, 4, 6, 7, 8, 9) if high - low < 3 else (1,)
    values = [digit * power for digit in digits for power in powers]
    shown = {digit * power for digit in (1, 2, 5) for power in powers} | {first, last}
    order = dict.fromkeys((*values[: 3 * len(powers)], first, last, *values))
    return [
        (value, _decimal(value) if value in shown else "")
        for value in order
        if first <= value <= last
    ]


def _decimal(x: Fraction) -> str:
    """A short decimal, or a power of ten."""
    exponent = floor(_log10(x) + 1e-9)
    if exponent >= -4:
        return f"{float(x):.4g}"
    mantissa = float(x / Fraction(10) ** exponent)
    power = f"10^{{{exponent}}}"
    return f"${power}$" if mantissa == 1 else rf"${mantissa:.3g}\cdot {power}$"


def _heading(curves: HeadCurves) -> str:
    problem = curves.problem
    parts = [
        text
        for name, text in (
            ("d", f"$d={problem.d}$"),
            ("r", f"$r={problem.r}$"),
            ("eps", rf"$\varepsilon={problem.eps_text}$"),
        )
        if name != curves.against
    ]
    return ", ".join(parts) + (", with a free $Ay$" if problem.skip else "")


def text_width(text: str, size: float) -> float:
    """Points from the left to the right end of a line of text."""
    return _measured(text, size)[0]


def _measured(text: str, size: float) -> tuple[float, float, float]:
    # Outlines know nothing of the resolution, so every format gets the same layout.
    font = FontProperties(family=FONT, size=size, math_fontfamily=MATH_FONT)
    width, height, descent = text_to_path.get_text_width_height_descent(
        text, font, ismath="$" in text
    )
    return width, height, descent


# --- labels ---------------------------------------------------------------


def _labels(curves: HeadCurves, lines: list[Line], width: float, height: float) -> list[Placed]:
    dots = {line.name: dots_along(line.x, line.y, width, height) for line in lines}
    columns = np.arange(ceil(width) + 1)
    ground = np.full(len(columns), GROUND)
    edges = {
        line.name: np.minimum(height, np.interp(columns, line.x, line.y))
        for line in lines
        if line.curve.role == "excluded"
    }
    # Regions high enough to be seen, the largest one first.
    edges = {name: edge for name, edge in edges.items() if edge.max() > GROUND + _NARROW_BAND}
    excluded, classes = [], []
    if edges:
        inner = (ground, list(edges.values())[-1])
        ids = ", ".join(curves.of_role("excluded")[0].main_ids)
        texts = [(f"excluded in one layer ({ids})",), ("excluded", f"in one layer ({ids})")]
        region = (ground, next(iter(edges.values())))
        excluded = [Label("excluded", _sizes(texts), _middle(inner), inside=region, lowest=GROUND)]
        classes = _class_labels({name: dots[name] for name in edges}, inner)
    board = Board(width, height, dots, (ground, next(iter(edges.values()))) if edges else None)
    roles = [
        Label(role, _sizes(_texts(curve)), dots[role], lowest=0 if role in _WHOLE else GROUND)
        for role in _NAMED
        for curve in curves.of_role(role)
        if role in dots
    ]
    published = [label for label in roles if label.name == "published"]
    roles = [label for label in roles if label.name != "published"]
    return placed_labels(board, [*roles[:2], *excluded, *roles[2:], *classes, *published])


def _class_labels(boundaries: dict[str, Array], inner: tuple[Array, Array]) -> list[Label]:
    """A label for each band between the boundaries, the outer one first."""
    names: list[str] = []
    labels = []
    for (name, outer), (_, following) in pairwise(boundaries.items()):
        names.append(name)
        gaps, middles = _band(outer, following)
        if np.quantile(gaps, 0.9) > _NARROW_BAND:
            labels.append(_class_label(names, middles[gaps > 0.6 * gaps.max()]))
            names = []
    name, boundary = list(boundaries.items())[-1]
    return [*labels, _class_label([*names, name], _inside(boundary, inner))]


def _inside(boundary: Array, region: tuple[Array, Array]) -> Array:
    """Points of the innermost region beside its boundary."""
    below = np.maximum((boundary[:, 1] + GROUND) / 2, boundary[:, 1] - 3)
    points = np.column_stack([boundary[:, 0] - 2, below])
    points = points[points[:, 0] > 0]
    column = np.floor(points[:, 0]).astype(int)
    depth = np.minimum(points[:, 1] - region[0][column], region[1][column] - points[:, 1])
    inside: Array = points[depth > 0.5]
    return inside


def _class_label(names: list[str], points: Array) -> Label:
    text = ", ".join(names)
    return Label(text, _sizes([(text,)]), points, pointed=True, lowest=GROUND, family="classes")


def _band(outer: Array, inner: Array) -> tuple[Array, Array]:
    """For dots of the outer line their distance to the inner one and the points halfway."""
    # Enough dots for any place of a label's leader; the table of distances stays small.
    outer, inner = (line[:: max(1, len(line) // 600)] for line in (outer, inner))
    nearest = inner[nearest_points(outer, inner)]
    return np.hypot(*(outer - nearest).T), (outer + nearest) / 2


def _middle(region: tuple[Array, Array]) -> Array:
    """Points halfway up the region where it is high."""
    low, high = region
    columns = np.flatnonzero(high - low >= 0.8 * (high - low).max())
    return np.column_stack([columns, (low + high)[columns] / 2])


def _texts(curve: Curve) -> list[tuple[str, ...]]:
    """Ways to break the label of a curve into lines."""
    ids = ", ".join(curve.main_ids)
    match curve.role:
        case "one layer":
            return [(f"one layer suffices ({ids})",), ("one layer", f"suffices ({ids})")]
        case "two layers":
            return [(f"two layers suffice ({ids})",), ("two layers", f"suffice ({ids})")]
        case "arbitrary scores":
            return [
                ("arbitrary scores", f"suffice ({ids})"),
                (f"arbitrary scores suffice ({ids})",),
                ("arbitrary", "scores", f"suffice ({ids})"),
            ]
        case "full rank":
            return [(f"one full-rank head ({ids})",)]
        case "budget":
            counts = set(curve.heads)
            count = f"={curve.heads[0]}" if len(counts) == 1 else ""
            return [(rf"usual budget $\lceil d/r\rceil{count}$",)]
        case _:
            return [
                (f"published form ({ids}), constants 1",),
                ("published form", f"({ids}), constants 1"),
            ]


def _sizes(texts: list[tuple[str, ...]]) -> tuple[Size, ...]:
    # Ascenders and descenders of the font take 0.9 of its size.
    return tuple(
        Size(
            lines,
            max(text_width(text, LABEL_SIZE) for text in lines),
            0.9 * LABEL_SIZE + LEADING * (len(lines) - 1),
        )
        for lines in texts
    )
