"""What every bound looks like from outside."""

from __future__ import annotations

from typing import ClassVar, Protocol

from boundcheck.problem import Problem
from boundcheck.values import Direction, HeadCount, Kind, Value

#: An upper bound's search for the least number of heads ends here.
MAX_HEADS = 10**18


class Bound(Protocol):
    """A bound on the number of heads, or on the error that heads can reach.

    Attributes
    ----------
    id : str
        The statement's id, as in every report.
    name : str
        A few words for a table.
    direction : {"lower", "upper"}
    kind : {"certified", "numeric", "published"}
    depth : int
        Layers of the networks it speaks of.
    scores : str
        The weights it holds for (lower bounds: "any") or is reached by.
    """

    id: ClassVar[str]
    name: ClassVar[str]
    direction: ClassVar[Direction]
    kind: ClassVar[Kind]
    depth: ClassVar[int]
    scores: ClassVar[str]

    def why_not(self, problem: Problem) -> str | None:
        """Why the bound says nothing about this problem; None if it applies."""
        ...

    def rank(self, problem: Problem) -> int:
        """The rank of the heads counted: r, or what the construction uses."""
        ...

    def error(self, problem: Problem, heads: int) -> Value:
        """The bound on the squared error with ``heads`` whole heads (>= 0)."""
        ...

    def heads(self, problem: Problem) -> HeadCount:
        """The bound on the whole heads needed for error problem.eps."""
        ...
