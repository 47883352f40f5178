"""Every bound that applies to one problem, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from boundcheck.bounds.base import Bound
from boundcheck.bounds.registry import all_bounds
from boundcheck.errors import InputError
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem
from boundcheck.values import Direction, HeadCount, Kind, Value


@dataclass(frozen=True, slots=True)
class Row:
    """One bound's answer.

    Attributes
    ----------
    id, name, direction, kind, depth, scores
        As in `Bound`.
    head_class : str
        The class of heads the row speaks of. Upper bounds hold for every class.
    rank : int
        Rank of the heads counted.
    count : HeadCount
        Whole heads; for a question with given heads, those.
    error : Value or None
        Bound on the squared error at ``count.heads``.
    """

    id: str
    name: str
    direction: Direction
    kind: Kind
    depth: int
    scores: str
    head_class: HeadClass
    d: int
    rank: int
    count: HeadCount
    error: Value | None

    @property
    def parameters(self) -> int | None:
        """heads * rank * d, counted once for queries and once for keys."""
        return None if self.count.heads is None else 2 * self.count.heads * self.rank * self.d


def compare(
    problem: Problem,
    *,
    head_classes: Sequence[HeadClass] = HEAD_CLASSES,
    heads: int | None = None,
) -> list[Row]:
    """One row for each bound that applies, lower bounds once per class.

    Parameters
    ----------
    problem : Problem
        With eps, unless ``heads`` is given.
    head_classes : sequence of str
        Classes for the lower bounds; upper bounds are shown for the first of
        "standard" and what is listed.
    heads : int, optional
        Ask for the error of this many whole heads instead.

    Raises
    ------
    InputError
        If no class, or an unknown one, is listed.

    Examples
    --------
    >>> rows = compare(Problem.of(64, 4, "0.1"), head_classes=["standard"])
    >>> rows[0].id, rows[0].count.heads, rows[0].parameters
    ('T1', 78614, 40250368)
    """
    if not head_classes or any(c not in HEAD_CLASSES for c in head_classes):
        raise InputError("head-classes", str(head_classes), f"some of {', '.join(HEAD_CLASSES)}")
    shown: HeadClass = "standard" if "standard" in head_classes else head_classes[0]
    rows = []
    for bound in all_bounds():
        per_class = bound.direction == "lower" and bound.kind == "certified"
        for head_class in head_classes if per_class else (shown,):
            question = problem.of_class(head_class)
            if bound.why_not(question) is None:
                rows.append(_row(bound, question, heads))
    return rows


def _row(bound: Bound, problem: Problem, heads: int | None) -> Row:
    if heads is None:
        count = bound.heads(problem)
        error = None if count.heads is None else bound.error(problem, count.heads)
    else:
        count, error = HeadCount(heads), bound.error(problem, heads)
    return Row(
        bound.id,
        bound.name,
        bound.direction,
        bound.kind,
        bound.depth,
        bound.scores,
        problem.head_class,
        problem.d,
        bound.rank(problem),
        count,
        error,
    )
