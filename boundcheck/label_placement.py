"""Where the labels of a figure go: beside their curves, on nothing else.

Every label gets a list of places with a cost; the labels then choose in turn,
and again, until none finds a better place among the others. All lengths are
points (1/72 inch) from the lower left corner of the axes. numpy is loaded at
module level: import this module where it is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.int64]

#: White space around a label's box, to curves and to other labels.
CLEARANCE = 1.5
#: Places lie on a grid of this width and height, or of so many columns and rows.
_STEP = (4.0, 2.0)
_GRID = (60, 100)
#: A label this close to its curve needs no leader line.
_NEAR = 5.0
#: Space around a label in a region beyond which more does not help.
_ROOM = 14.0
#: Costs, where one point of distance between label and curve costs one.
_LEADER_COST = 28.0
_CROSSING_COST = 8.0
_AMBIGUITY_COST = 12.0
_SHADED_COST = 8.0
_OUTSIDE_COST = 30.0
_SECOND_SIZE_COST = 4.0
_CROWDING_COST = 6.0
_APART_COST = 0.1
_CONFLICT_COST = 1e4
#: Labels choose again at most so often.
_ROUNDS = 4


@dataclass(frozen=True, slots=True)
class Size:
    """One way to set a label: its lines of text and the box they fill."""

    lines: tuple[str, ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Label:
    """A label to place.

    Attributes
    ----------
    name : str
        Of the label, and of the curve that it names if it names one.
    sizes : tuple of Size
        Ways to set it, the best one first.
    targets : ndarray, shape (m, 2)
        Points of the curve or region that it names.
    pointed : bool
        Whether a leader line leads to one of them in any case.
    inside : tuple of two arrays, optional
        Lower and upper edge of the region in which the label goes if it fits,
        at 0, 1, 2, ... across the axes; else a leader line leads to the region.
    lowest : float
        The label keeps above this height.
    family : str
        Labels of one family keep together.
    """

    name: str
    sizes: tuple[Size, ...]
    targets: Array
    pointed: bool = False
    inside: tuple[Array, Array] | None = None
    lowest: float = 0.0
    family: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """A label at its place.

    Attributes
    ----------
    label : Label
    size : Size
    x, y : float
        Lower left corner of its box.
    leader : tuple of float or None
        x and y of the start beside the box, x and y of the end on the curve.
    """

    label: Label
    size: Size
    x: float
    y: float
    leader: tuple[float, float, float, float] | None

    @property
    def box(self) -> tuple[float, float, float, float]:
        """Left, bottom, right, top."""
        return self.x, self.y, self.x + self.size.width, self.y + self.size.height


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Where one label can go.

    Attributes
    ----------
    boxes : ndarray, shape (n, 4)
        Left, bottom, right, top.
    leaders : ndarray, shape (n, 4)
        x and y of both ends; nan where there is none.
    cost : ndarray, shape (n,)
    sizes : tuple of Size, one for each place
    """

    boxes: Array
    leaders: Array
    cost: Array
    sizes: tuple[Size, ...]

    def placed(self, label: Label, i: int) -> Placed:
        """The label at its place number i."""
        x, y = map(float, self.boxes[i, :2])
        a, b, c, d = map(float, self.leaders[i])
        return Placed(label, self.sizes[i], x, y, None if np.isnan(a) else (a, b, c, d))


def placed_labels(board: Board, labels: Sequence[Label]) -> list[Placed]:
    """All labels that have any place, each at the cheapest one among the others.

    The first labels choose first; or those of regions do, or choose last,
    where that serves all of them better.
    """
    places = {i: found for i, label in enumerate(labels) if (found := board.places(label))}
    regions = [i for i in places if labels[i].inside is not None]
    others = [i for i in places if labels[i].inside is None]
    orders = list(places), [*regions, *others], [*others, *regions]
    choices = [_choice(labels, {i: places[i] for i in order}) for order in orders]
    chosen, _ = min(choices, key=lambda choice: choice[1])
    return [places[i].placed(labels[i], k) for i, k in sorted(chosen.items())]


def _choice(labels: Sequence[Label], places: dict[int, Places]) -> tuple[dict[int, int], float]:
    """The place that each label takes, in this order and again, and what all of them cost."""
    chosen: dict[int, int] = {}
    costs: dict[int, float] = {}
    for _ in range(_ROUNDS):
        before = dict(chosen)
        for i, options in places.items():
            cost = options.cost.copy()
            for j, k in chosen.items():
                if j != i:
                    cost += _cost_beside(options, places[j].boxes[k], places[j].leaders[k])
                    if labels[i].family and labels[i].family == labels[j].family:
                        cost += _APART_COST * _box_gaps(options.boxes, places[j].boxes[k])
            chosen[i] = int(np.argmin(cost))
            costs[i] = float(cost[chosen[i]])
        if chosen == before:
            break
    return chosen, sum(costs.values())


def _cost_beside(places: Places, box: Array, leader: Array) -> Array:
    """What each place costs beside another label with its leader line."""
    gap = _box_gaps(places.boxes, box)
    conflict = gap < 2 * CLEARANCE
    if not np.isnan(leader[0]):
        conflict |= _line_gaps(places.boxes, leader) < CLEARANCE
    led = np.flatnonzero(~np.isnan(places.leaders[:, 0]))
    lines = places.leaders[led]
    s = np.linspace(0, 1, 25)[:, np.newaxis]
    x, y = (lines[:, k] + s * (lines[:, k + 2] - lines[:, k]) for k in (0, 1))
    left, bottom, right, top = box
    c = CLEARANCE
    hit = (x > left - c) & (x < right + c) & (y > bottom - c) & (y < top + c)
    conflict[led] |= hit.any(axis=0)
    if not np.isnan(leader[0]):
        conflict[led] |= _cross(lines, leader)
    cost: Array = _CROWDING_COST * np.maximum(0, 1 - gap / 8) + _CONFLICT_COST * conflict
    return cost


class Board:
    """The axes with their curves.

    Parameters
    ----------
    width, height : float
        Of the axes.
    curves : dict
        Dots of each curve by name; no label covers any.
    shade : tuple of two arrays, optional
        Lower and upper edge of a shaded region at 0, 1, 2, ... across the axes;
        labels that do not belong there keep out where they can.
    """

    def __init__(
        self,
        width: float,
        height: float,
        curves: dict[str, Array],
        shade: tuple[Array, Array] | None = None,
    ) -> None:
        self.width, self.height = width, height
        self.curves = {name: dots for name, dots in curves.items() if len(dots)}
        rows, columns = int(np.ceil(height)) + 1, int(np.ceil(width)) + 1
        # One bit for each curve, in cells of one point.
        self._bits = np.zeros((rows, columns), dtype=np.int64)
        for k, dots in enumerate(self.curves.values()):
            at = np.floor(dots).astype(int)
            self._bits[at[:, 1], at[:, 0]] |= 1 << k
        self._occupied = _summed(self._bits > 0)
        y = np.arange(rows)[:, np.newaxis]
        shaded = (
            np.zeros((rows, columns), bool)
            if shade is None
            else ((y >= shade[0]) & (y <= shade[1]))
        )
        self._shaded = _summed(shaded)

    def places(self, label: Label) -> Places | None:
        """Every place where the label covers no curve; None if there is none."""
        found = [
            self._places(label, size, _SECOND_SIZE_COST * rank)
            for rank, size in enumerate(label.sizes)
        ]
        boxes, leaders, cost = (np.concatenate(parts) for parts in zip(*found, strict=True))
        if not len(cost):
            return None
        sizes = tuple(size for size, part in zip(label.sizes, found, strict=True) for _ in part[2])
        return Places(boxes, leaders, cost, sizes)

    def _places(self, label: Label, size: Size, cost: float) -> tuple[Array, Array, Array]:
        boxes = self._free_boxes(size, label.lowest)
        none = np.empty((0, 4))
        if label.inside is not None:
            fits = _fits(boxes, label.inside)
            inner, boxes = boxes[fits], boxes[~fits]
            inside = inner, np.full_like(inner, np.nan), cost + self._tightness(inner)
        else:
            inside = none, none, np.empty(0)
        # A leader that ends on the frame could not be seen.
        targets = label.targets
        visible = _frame_distance(targets, self.width, self.height) > 3
        targets = targets[visible] if visible.any() else targets
        if not len(targets) or not len(boxes):
            return inside
        beside = self._beside(label, boxes, targets)
        if label.inside is not None:
            cost += _OUTSIDE_COST
        return (
            np.concatenate([inside[0], boxes]),
            np.concatenate([inside[1], beside[0]]),
            np.concatenate([inside[2], cost + beside[1]]),
        )

    def _beside(self, label: Label, boxes: Array, targets: Array) -> tuple[Array, Array]:
        """Leaders and costs of a label outside the region that it may lie in."""
        distance, nearest = _distances(boxes, targets)
        pointed = label.pointed or label.inside is not None
        led = np.full(len(boxes), True) if pointed else distance > _NEAR
        leaders = _leaders(boxes, targets[nearest])
        leaders[~led] = np.nan
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        cost = distance + _SHADED_COST * _count(self._shaded, boxes) / area
        cost[led] += _LEADER_COST + 3 * np.maximum(0, _NEAR - distance[led])
        cost[led] += _CROSSING_COST * self._crossings(leaders[led], label.name)
        others = [dots for name, dots in self.curves.items() if name != label.name]
        if others and not led.all():
            # Closer to another curve than to its own, it would name that one.
            other, _ = _distances(boxes[~led], np.concatenate(others))
            cost[~led] += _AMBIGUITY_COST * np.maximum(0, 1 - (other - distance[~led]) / 4)
        return leaders, cost

    def _free_boxes(self, size: Size, lowest: float) -> Array:
        c = CLEARANCE
        across, up = (
            max(step, length / count)
            for step, length, count in zip(_STEP, (self.width, self.height), _GRID, strict=True)
        )
        x = np.arange(c, self.width - size.width - c, across)
        y = np.arange(lowest + c, self.height - size.height - c, up)
        x, y = (grid.ravel() for grid in np.meshgrid(x, y))
        boxes = np.column_stack([x, y, x + size.width, y + size.height])
        free: Array = boxes[_count(self._occupied, boxes + np.array([-c, -c, c, c])) == 0]
        return free

    def _tightness(self, boxes: Array) -> Array:
        """How much room the boxes lack, to curves and to the left side of the frame."""
        room = np.minimum(boxes[:, 0], _ROOM)
        if self.curves and len(boxes):
            room = np.minimum(room, _distances(boxes, np.concatenate([*self.curves.values()]))[0])
        tightness: Array = (_ROOM - room) / 2
        return tightness

    def _crossings(self, leaders: Array, own: str) -> Array:
        """How many curves, other than its own, each leader line meets before its end."""
        s = np.linspace(0, 0.97, 60)[:, np.newaxis]
        x, y = (leaders[:, k] + s * (leaders[:, k + 2] - leaders[:, k]) for k in (0, 1))
        rows, columns = self._bits.shape
        at_x = np.clip(np.floor(x).astype(int), 0, columns - 2)
        at_y = np.clip(np.floor(y).astype(int), 0, rows - 1)
        met = np.bitwise_or.reduce(self._bits[at_y, at_x] | self._bits[at_y, at_x + 1], axis=0)
        crossed = np.zeros(len(leaders))
        for k, name in enumerate(self.curves):
            crossed += (met >> k & 1) * (name != own)
        return crossed


# --- geometry -------------------------------------------------------------


def dots_along(x: Array, y: Array, width: float, height: float) -> Array:
    """Points at most one apart along a polyline, those inside the axes.

    Parameters
    ----------
    x, y : ndarray
        Corners; nan interrupts the line.
    width, height : float
        Of the axes.

    Returns
    -------
    ndarray, shape (m, 2)

    Examples
    --------
    >>> dots_along(np.array([0.0, 2.0]), np.array([0.0, 0.0]), 10, 10).tolist()
    [[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]
    """
    pieces = [np.empty((0, 2))]
    for x0, y0, x1, y1 in zip(x, y, x[1:], y[1:], strict=False):
        # Far outside nothing has to be dotted.
        if not np.isfinite([y0, y1]).all() or min(y0, y1) > height or max(y0, y1) < 0:
            continue
        start, stop = _clipped_share(y0, y1, height)
        length = np.hypot(x1 - x0, y1 - y0) * (stop - start)
        s = np.linspace(start, stop, int(np.ceil(length)) + 1)
        pieces.append(np.column_stack([x0 + s * (x1 - x0), y0 + s * (y1 - y0)]))
    dots = np.concatenate(pieces)
    visible: Array = dots[(dots >= 0).all(axis=1) & (dots <= (width, height)).all(axis=1)]
    return visible


def _clipped_share(y0: float, y1: float, height: float) -> tuple[float, float]:
    """The part of a segment, as shares of it, where y lies in [0, height]."""
    if y0 == y1:
        return 0.0, 1.0
    first, last = sorted(((0.0 - y0) / (y1 - y0), (height - y0) / (y1 - y0)))
    return max(0.0, first), min(1.0, last)


def nearest_points(a: Array, b: Array) -> Index:
    """For each point of a the index of the nearest one of b."""
    across, up = (a[:, np.newaxis, k] - b[np.newaxis, :, k] for k in (0, 1))
    nearest: Index = (across**2 + up**2).argmin(axis=1)
    return nearest


def _frame_distance(points: Array, width: float, height: float) -> Array:
    x, y = points.T
    distance: Array = np.minimum.reduce([x, width - x, height - y])
    return distance


def _distances(boxes: Array, dots: Array) -> tuple[Array, Index]:
    """From each box to the nearest dot, and which one that is."""
    every = max(1, len(dots) // 300)
    x, y = dots[::every].T
    across = np.maximum(boxes[:, :1] - x, x - boxes[:, 2:3])
    up = np.maximum(boxes[:, 1:2] - y, y - boxes[:, 3:])
    np.maximum(across, 0, out=across)
    np.maximum(up, 0, out=up)
    square = across**2 + up**2
    nearest = square.argmin(axis=1)
    return np.sqrt(square[np.arange(len(boxes)), nearest]), every * nearest


def _leaders(boxes: Array, ends: Array) -> Array:
    """From the middle of the side of the box that faces the end, a point off."""
    left, bottom, right, top = boxes.T
    x, y = ends.T
    middle = (bottom + top) / 2
    below = (left <= x) & (x <= right)
    start_x = np.where(below, x, np.where(x > right, right + 1, left - 1))
    start_y = np.where(below, np.where(y > middle, top, bottom), middle)
    return np.column_stack([start_x, start_y, x, y])


def _line_gaps(boxes: Array, leader: Array) -> Array:
    """Distance from each box to a leader line."""
    s = np.linspace(0, 1, 40)[:, np.newaxis]
    return _distances(boxes, leader[:2] + s * (leader[2:] - leader[:2]))[0]


def _box_gaps(boxes: Array, box: Array) -> Array:
    """Distance from each box to another one."""
    across = np.maximum(0, np.maximum(box[0] - boxes[:, 2], boxes[:, 0] - box[2]))
    up = np.maximum(0, np.maximum(box[1] - boxes[:, 3], boxes[:, 1] - box[3]))
    gaps: Array = np.hypot(across, up)
    return gaps


def _cross(lines: Array, line: Array) -> NDArray[np.bool_]:
    """Whether each line crosses another one."""

    def side(px: Array, py: Array, ax: Array, ay: Array, bx: Array, by: Array) -> Array:
        turn: Array = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
        return turn

    a, b, c, d = lines.T
    e, f, g, h = line
    crosses: NDArray[np.bool_] = (side(a, b, e, f, g, h) * side(c, d, e, f, g, h) < 0) & (
        side(e, f, a, b, c, d) * side(g, h, a, b, c, d) < 0
    )
    return crosses


def _fits(boxes: Array, region: tuple[Array, Array]) -> NDArray[np.bool_]:
    """Whether each box lies between the lower and upper edge of the region."""
    fits = np.zeros(len(boxes), dtype=bool)
    for left in np.unique(boxes[:, 0]):
        here = np.flatnonzero(boxes[:, 0] == left)
        _, bottom, right, top = boxes[here].T
        span = slice(int(left), int(right[0]) + 2)
        fits[here] = (bottom >= region[0][span].max() + CLEARANCE) & (
            top <= region[1][span].min() - CLEARANCE
        )
    return fits


def _summed(raster: NDArray[np.bool_]) -> Index:
    """Sums over all rectangles that start at the lower left corner."""
    table: Index = np.pad(raster.astype(np.int64).cumsum(0).cumsum(1), ((1, 0), (1, 0)))
    return table


def _count(table: Index, boxes: Array) -> Array:
    """How many set cells of the raster each box touches."""
    rows, columns = table.shape
    cells = np.floor(boxes).astype(int)
    left, right = (np.clip(cells[:, k] + k // 2, 0, columns - 1) for k in (0, 2))
    low, high = (np.clip(cells[:, k] + k // 3, 0, rows - 1) for k in (1, 3))
    count = table[high, right] - table[low, right] - table[high, left] + table[low, left]
    counts: Array = count.astype(float)
    return counts
