"""The curves of the figure: whole heads against eps, r or d, as exact integers.

Nothing here draws. Each point of a curve is a statement by itself; between
points a straight line in logarithms stands for them, to less than a line's
width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import chain, pairwise
from math import ceil, floor, hypot, inf, isqrt, log10
from typing import Literal, get_args

from boundcheck.bounds.base import MAX_HEADS, Bound
from boundcheck.bounds.registry import all_bounds
from boundcheck.errors import InputError
from boundcheck.problem import HEAD_CLASSES, MAX_DIMENSION, HeadClass, Problem
from boundcheck.values import Enclosure, Numeric, Value

Sweep = Literal["eps", "r", "d"]
SWEEPS: tuple[Sweep, ...] = get_args(Sweep)
Role = Literal[
    "excluded", "one layer", "arbitrary scores", "two layers", "full rank", "budget", "published"
]
#: An eps, or an r or d.
Place = Fraction | int
#: Wraps the places that are about to be computed, as a progress bar does.
Track = Callable[[Sequence[Place], str], Iterable[Place]]

EPS_RANGE = ("0.02", "0.4")
EPS_OF_SWEEPS = "0.1"
#: A sweep over dimensions ends here, or at four times the d given.
LARGEST_DIMENSION = 1024

#: Places at the start, as close as the steps of a lower bound lie, since a gap that
#: holds a whole step can look straight at its middle; gaps are halved up to so many
#: times where the curve bends. Other curves start with every fourth place.
_PLACES = 65
_COARSER = 4
_HALVINGS = 5
#: Visible: this share of the figure's height or width.
_VISIBLE = 0.004
#: Up to here every count of an upper bound's curve is computed, and drawn as a step.
_STEPS = 32
#: Significant digits of an eps in between, and of an error.
_EPS_FIGURES = 6
_ERROR_FIGURES = 12


@dataclass(frozen=True, slots=True)
class Curve:
    """Whole heads at several places.

    Attributes
    ----------
    role : str
        What the counts mean: "excluded" (no smaller count is possible in one
        layer), "one layer", "arbitrary scores", "two layers", "full rank" (so
        many heads suffice), "budget" (the usual ceil(d/r)), "published" (an
        asymptotic form with its constants set, which bounds nothing).
    head_class : str or None
        The class that "excluded" speaks of; None elsewhere.
    places : tuple of Fraction or int
        Never falling: eps, r or d. A place comes twice where the count steps.
    heads : tuple of (int or None)
        Exact counts; None where no statement gives one.
    ids : tuple of str
        The statement behind each count; empty for the budget.
    """

    role: Role
    head_class: HeadClass | None
    places: tuple[Place, ...]
    heads: tuple[int | None, ...]
    ids: tuple[str, ...]

    @property
    def main_ids(self) -> tuple[str, ...]:
        """The statements behind at least a tenth of the counts, sorted."""
        named = [bound_id for bound_id in self.ids if bound_id]
        return tuple(sorted(i for i in set(named) if 10 * named.count(i) >= len(named)))

    @property
    def log10_heads(self) -> tuple[float | None, ...]:
        """log10 of the counts, of any size; None where there is no count."""
        return tuple(None if count is None else log10(count) for count in self.heads)


@dataclass(frozen=True, slots=True)
class HeadCurves:
    """All curves of one figure.

    Attributes
    ----------
    problem : Problem
        The question; what varies along the curves has the value given or None.
    against : {"eps", "r", "d"}
        What varies.
    first, last : Fraction or int
        The range of it.
    curves : tuple of Curve
    """

    problem: Problem
    against: Sweep
    first: Place
    last: Place
    curves: tuple[Curve, ...]

    def of_role(self, role: Role) -> list[Curve]:
        """The curves of that role, in order."""
        return [curve for curve in self.curves if curve.role == role]


def _untracked(places: Sequence[Place], label: str) -> Iterable[Place]:
    return places


def heads_curves(
    d: int | str,
    r: int | str,
    *,
    against: str = "eps",
    eps: Fraction | float | str | None = None,
    eps_range: tuple[Fraction | str, Fraction | str] = EPS_RANGE,
    skip: bool = False,
    track: Track = _untracked,
) -> HeadCurves:
    """Heads against eps, r or d under every bound that the figure shows.

    Parameters
    ----------
    d, r : int or str
        As in `Problem.of`. Against "r", ranks go from 1 to d and r is only
        checked; against "d", dimensions go from max(8, r) to max(1024, 4 d).
    against : {"eps", "r", "d"}
    eps : Fraction, float or str, optional
        For the sweeps over r and d; 0.1 by default.
    eps_range : pair
        First and last eps, increasing, in (0, 1/2).
    skip : bool
        Whether the layer may add A y for free: T1s in place of T1.
    track : callable, optional
        Called with places to compute and a label; yields the places.

    Returns
    -------
    HeadCurves
        Statements of the same role are merged to the best of them: the largest
        lower bound, the fewest heads that suffice.

    Raises
    ------
    InputError
        For a value outside these ranges, or an ``eps`` given where eps varies.

    Examples
    --------
    >>> curves = heads_curves(16, 1, eps_range=("0.1", "0.3"))
    >>> excluded = curves.of_role("excluded")[1]
    >>> excluded.head_class, excluded.main_ids, excluded.heads[0]
    ('standard', ('T1',), 2618)
    """
    sweep = _sweep_named(against)
    if sweep == "eps":
        if eps is not None:
            raise InputError("eps", str(eps), "no single value, since eps runs over a range")
        problem = Problem.of(d, r, skip=skip)
    else:
        problem = Problem.of(d, r, EPS_OF_SWEEPS if eps is None else eps, skip=skip)
    places = _first_places(problem, sweep, eps_range)

    def sampled(groups: Sequence[Group], label: str, first: Sequence[Place]) -> list[Curve]:
        at = partial(_at, problem, sweep)
        return _sampled(groups, at, first, lambda todo: track(todo, label))

    coarse = [*places[:-1:_COARSER], places[-1]]
    excluded = [_excluded(head_class) for head_class in HEAD_CLASSES]
    curves = sampled(excluded, "lower bounds", places)
    for group in _sufficient():
        if sweep == "eps":
            curves.append(_sampled_by_heads(group, problem, places[0], places[-1]))
        else:
            curves += sampled([group], group.role, coarse)
    for group in _others():
        curves += sampled([group], group.role, coarse)
    if sweep == "eps":
        curves[-1] = _rising_part(curves[-1])
    shown = tuple(curve for curve in curves if any(curve.heads))
    return HeadCurves(problem, sweep, places[0], places[-1], shown)


def _rising_part(form: Curve) -> Curve:
    """The published form up to its peak as eps falls.

    What it says of an eps holds for every smaller one, so beyond the peak it
    says less than at the peak.
    """
    peak = max(range(len(form.heads)), key=lambda i: form.heads[i] or 0)
    rising = (None if i < peak else count for i, count in enumerate(form.heads))
    return replace(form, heads=tuple(rising))


def _at(problem: Problem, sweep: Sweep, place: Place) -> Problem:
    match sweep:
        case "eps":
            return replace(problem, eps=Fraction(place))
        case "r":
            return replace(problem, r=int(place))
        case "d":
            return replace(problem, d=int(place))


# --- which statements -----------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """Statements of one role, of which the best counts at each place."""

    role: Role
    bounds: tuple[Bound, ...]
    head_class: HeadClass | None = None

    def heads(self, problem: Problem) -> tuple[int, str] | None:
        """The best count and the id that gives it; None where none does."""
        if self.role == "budget":
            return -(-problem.d // problem.r), ""
        if self.head_class is not None:
            problem = problem.of_class(self.head_class)
        found = [
            (count, bound.id)
            for bound in self.bounds
            if bound.why_not(problem) is None
            and not _is_special_case(bound, problem)
            and (count := _count(bound, problem)) is not None
        ]
        if not found:
            return None
        pick = max if self.role in ("excluded", "published") else min
        return pick(found, key=lambda pair: pair[0])

    def error(self, problem: Problem, heads: int) -> tuple[Fraction, str]:
        """The least error shown to be reached with ``heads`` heads, and its id."""
        return min(
            (
                (_reached_error(bound, problem, heads), bound.id)
                for bound in self.bounds
                if bound.why_not(problem) is None and not _is_special_case(bound, problem)
            ),
            default=(Fraction(1), ""),
        )


def _excluded(head_class: HeadClass) -> Group:
    lower = tuple(b for b in all_bounds() if b.direction == "lower" and b.kind == "certified")
    return Group("excluded", lower, head_class)


def _sufficient() -> list[Group]:
    """What suffices at rank r: hardmax heads in one layer or two, arbitrary scores.

    A softmax variant of the same construction would lie a line's width beside it.
    """
    upper = [b for b in all_bounds() if b.direction == "upper" and not _is_full_rank(b)]
    hardmax = [b for b in upper if b.scores == "hardmax"]
    return [
        Group("one layer", tuple(b for b in hardmax if b.depth == 1)),
        Group("arbitrary scores", tuple(b for b in upper if b.scores == "arbitrary")),
        Group("two layers", tuple(b for b in hardmax if b.depth == 2)),
    ]


def _others() -> list[Group]:
    upper = (b for b in all_bounds() if b.direction == "upper" and b.scores == "hardmax")
    return [
        Group("full rank", tuple(b for b in upper if _is_full_rank(b))),
        Group("budget", ()),
        Group("published", tuple(b for b in all_bounds() if b.id == "T5b")),
    ]


def _is_full_rank(bound: Bound) -> bool:
    problem = Problem.of(8, 1, EPS_OF_SWEEPS)
    return bound.rank(problem) == problem.d


def _is_special_case(bound: Bound, problem: Problem) -> bool:
    """U3r at rank 1 is U3 with one of its measures, all mass at t = 1."""
    return bound.id == "U3r" and problem.r == 1


def _count(bound: Bound, problem: Problem) -> int | None:
    """The count a bound gives, for U3 one that its measures at powers of two give."""
    if bound.id == "U3":
        return _random_heads_count(problem)
    return bound.heads(problem).heads


def _reached_error(bound: Bound, problem: Problem, heads: int) -> Fraction:
    """An error that is reached with so many heads, certainly or by its estimate."""
    if bound.id == "U3":
        return _random_heads_error(problem, heads)
    value: Value = bound.error(problem, heads)
    match value:
        case Enclosure():
            return value.hi
        case Numeric():
            return Fraction(value.value) + Fraction(value.error_estimate)
        case _:
            raise TypeError(f"{bound.id} is published, it reaches nothing")


def _random_heads_error(problem: Problem, heads: int) -> Fraction:
    """U3 from its measures at powers of two: at most 5 % more heads, and few solves.

    Every measure bounds the error at every count.
    """
    from boundcheck.bounds.random_heads import CORRECTION_HEADS, random_heads_measure

    count = heads - CORRECTION_HEADS
    if count < 1:
        return Fraction(1, 2)
    power = 1 << (count.bit_length() - 1)
    return min(random_heads_measure(problem.d, n).error(count).hi for n in (power, 2 * power))


def _random_heads_count(problem: Problem) -> int | None:
    """U3 without its search: at most 5 % above the least count, rather than exact."""
    from boundcheck.bounds.random_heads import CORRECTION_HEADS, random_heads_measure

    d, eps = problem.d, problem.target_eps
    # 2^k random heads reach eps at k = above, not at below.
    below, above = -1, MAX_HEADS.bit_length() - 1
    if random_heads_measure(d, 1 << above).error(1 << above).hi > eps:
        return None
    while above - below > 1:
        middle = (below + above) // 2
        if random_heads_measure(d, 1 << middle).error(1 << middle).hi <= eps:
            above = middle
        else:
            below = middle
    measures = (random_heads_measure(d, 1 << k) for k in (max(below, 0), above))
    counts = (measure.least_heads(eps) for measure in measures)
    return min(count for count in counts if count is not None) + CORRECTION_HEADS


# --- where to compute -----------------------------------------------------


def _sampled(
    groups: Sequence[Group],
    at: Callable[[Place], Problem],
    first: Sequence[Place],
    tracked: Callable[[Sequence[Place]], Iterable[Place]],
) -> list[Curve]:
    """One curve for each group, at common places, closer where one of them bends."""
    found: dict[Place, list[tuple[int, str] | None]] = {}

    def compute(places: Sequence[Place]) -> None:
        for place in tracked(places):
            found[place] = [group.heads(at(place)) for group in groups]

    compute(first)
    gaps = list(pairwise(first))
    for _ in range(_HALVINGS):
        halves = [(a, _between(a, b), b) for a, b in gaps]
        halves = [(a, middle, b) for a, middle, b in halves if a < middle < b]
        compute([middle for _, middle, _ in halves])
        visible = [_visible(row[i] for row in found.values()) for i in range(len(groups))]
        gaps = [
            gap
            for a, middle, b in halves
            if any(map(_bends, found[a], found[middle], found[b], visible))
            for gap in ((a, middle), (middle, b))
        ]
    places = tuple(sorted(found))
    return [
        Curve(
            group.role,
            group.head_class,
            places,
            tuple(best[0] if (best := found[p][i]) else None for p in places),
            tuple(best[1] if (best := found[p][i]) else "" for p in places),
        )
        for i, group in enumerate(groups)
    ]


def _visible(counts: Iterable[tuple[int, str] | None]) -> float:
    """The decades that can be told apart on a figure of all these counts."""
    heights = [log10(count[0]) for count in counts if count]
    return _VISIBLE * (3 + max(heights) - min(heights)) if heights else inf


def _bends(
    a: tuple[int, str] | None,
    middle: tuple[int, str] | None,
    b: tuple[int, str] | None,
    visible: float,
) -> bool:
    if a is None or middle is None or b is None:
        # An end of the curve lies in here, or it is outside.
        return not (a is None and middle is None and b is None)
    return abs(2 * log10(middle[0]) - log10(a[0]) - log10(b[0])) > 2 * visible


def _sampled_by_heads(group: Group, problem: Problem, first: Place, last: Place) -> Curve:
    """The curve over eps through (error at H, H): one evaluation a point, no search.

    The error at H is rounded up, so that H heads suffice at every place. It
    goes one point beyond ``first`` and ``last``.
    """
    found: dict[int, tuple[Fraction, str]] = {}
    width = _log10(Fraction(last)) - _log10(Fraction(first))

    def position(count: int) -> tuple[float, float]:
        return _log10(max(found[count][0], Fraction(first) / 10)) / width, log10(count)

    for count in _counts():
        found[count] = group.error(problem, count)
        if found[count][0] <= first:
            break
    height = 3 + log10(max(found))
    gaps = list(pairwise(found))
    for _ in range(_HALVINGS):
        halves = [(a, isqrt(a * b - 1) + 1, b) for a, b in gaps]
        halves = [
            (a, middle, b)
            for a, middle, b in halves
            if a < middle < b and found[a][0] > first and found[b][0] < last
        ]
        gaps = []
        for a, middle, b in halves:
            found[middle] = group.error(problem, middle)
            (xa, ya), (xm, ym), (xb, yb) = map(position, (a, middle, b))
            across = (xb - xa) * (ym - ya) - (yb - ya) * (xm - xa)
            if abs(across) > _VISIBLE * height * hypot(xb - xa, (yb - ya) / height):
                gaps += [(a, middle), (middle, b)]
    return _stepped(group, {count: found[count] for count in sorted(found)}, first, last)


def _counts() -> Iterator[int]:
    further = (4**k for k in range(3, (MAX_HEADS.bit_length() + 1) // 2))
    return chain(range(1, _STEPS + 1), further, [MAX_HEADS])


def _stepped(
    group: Group, found: dict[int, tuple[Fraction, str]], first: Place, last: Place
) -> Curve:
    """Only counts that are worth their heads; corners where single heads show."""
    points: list[tuple[Fraction, int, str]] = []
    before = Fraction(1)
    for count, (error, bound_id) in found.items():
        # An error of 0 has no place on a logarithmic axis: it is drawn to the edge.
        place = _rounded_up(error) if error else min(Fraction(first), before / 2)
        if place >= before:
            continue
        if count <= _STEPS:
            points.append((before, count, bound_id))
        points.append((place, count, bound_id))
        before = place
    inside = [i for i, (place, _, _) in enumerate(points) if place <= last]
    points = points[max(0, inside[0] - 1) :] if inside else []
    points.reverse()
    return Curve(
        group.role,
        group.head_class,
        tuple(place for place, _, _ in points),
        tuple(count for _, count, _ in points),
        tuple(bound_id for _, _, bound_id in points),
    )


def _first_places(
    problem: Problem, sweep: Sweep, eps_range: tuple[Fraction | str, Fraction | str]
) -> list[Place]:
    low: Place
    high: Place
    if sweep == "eps":
        low, high = (Problem.of(problem.d, problem.r, eps).target_eps for eps in eps_range)
        if low >= high:
            raise InputError("eps", f"{eps_range[0]} to {eps_range[1]}", "a range that increases")
    elif sweep == "r":
        low, high = 1, problem.d
    else:
        low = max(8, problem.r)
        high = min(MAX_DIMENSION, max(LARGEST_DIMENSION, 4 * problem.d))
    places = [low, high]
    while len(places) < _PLACES:
        more = sorted({*places, *(_between(a, b) for a, b in pairwise(places))})
        if len(more) == len(places):
            break
        places = more
    if sweep == "eps":
        places = sorted({*places, *_round_eps(Fraction(low), Fraction(high))})
    return places


def _round_eps(low: Fraction, high: Fraction) -> list[Fraction]:
    """1, 2 and 5 times powers of ten inside the range, where readers look up values."""
    first, last = floor(_log10(low)), floor(_log10(high))
    if last - first > 4:
        return []
    values = (
        digit * Fraction(10) ** power for power in range(first, last + 1) for digit in (1, 2, 5)
    )
    return [value for value in values if low < value < high]


def _between(a: Place, b: Place) -> Place:
    """Near the geometric mean: a whole number for r and d, a short decimal for eps.

    It is strictly between a and b unless they are too close for that.
    """
    if isinstance(a, int) and isinstance(b, int):
        return isqrt(a * b - 1) + 1
    square = Fraction(a * b)
    scale = Fraction(10) ** (_EPS_FIGURES - 1 - floor(_log10(square) / 2))
    return isqrt(floor(square * scale**2)) / scale


def _rounded_up(x: Fraction) -> Fraction:
    """x > 0 in few digits, never smaller."""
    scale = Fraction(10) ** (_ERROR_FIGURES - 1 - floor(_log10(x)))
    return ceil(x * scale) / scale


def _log10(x: Fraction) -> float:
    return log10(x.numerator) - log10(x.denominator)


def _sweep_named(name: str) -> Sweep:
    for known in SWEEPS:
        if name == known:
            return known
    raise InputError("against", name, ", ".join(SWEEPS))
