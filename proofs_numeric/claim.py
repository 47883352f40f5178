"""A claim: what the theory says, a check that can refute it, and ways to be wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, Literal, TypeVar

from boundcheck.balls import working_precision
from boundcheck.errors import UndecidedError
from proofs_numeric.compare import Finding, Verdict, weakest

S = TypeVar("S")

Effort = Literal["quick", "full"]
Evidence = Literal[
    "symbolic identity", "exact rational", "exact rank", "ball arithmetic", "statistical"
]
Origin = Literal["published", "explicit", "classical"]

#: Binary digits of ball arithmetic during a check.
BITS = 192


@dataclass(frozen=True, slots=True)
class Source:
    """Where a statement comes from.

    Parameters
    ----------
    origin : {"published", "explicit", "classical"}
        The form of the published theorem; derived with every constant; or
        textbook mathematics.
    where : str
    """

    origin: Origin
    where: str


@dataclass(frozen=True, slots=True)
class Mutation(Generic[S]):
    """A statement that says too much; the claim's check must refute it.

    Parameters
    ----------
    words : str
        What is wrong with it.
    statement : S
    """

    words: str
    statement: S


@dataclass(frozen=True, slots=True)
class Outcome:
    """What running a check has shown.

    Parameters
    ----------
    verdict : Verdict
    detail : str or None
        The comparison that kept it from being proved or consistent.
    comparisons : int
        How many were made.
    seconds : float
    """

    verdict: Verdict
    detail: str | None
    comparisons: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Claim(Generic[S]):
    """One statement of the theory with its executable proof.

    Parameters
    ----------
    id : str
        The statement's id, as everywhere.
    words : str
        The statement in a few words, for a table.
    latex : str
    source : Source
    evidence : tuple of str
        The kinds of evidence that the check gives.
    statement : S
        What the theory says.
    check : callable
        ``check(statement, effort)`` yields findings.
    mutations : tuple of Mutation
        At least one.
    """

    id: str
    words: str
    latex: str
    source: Source
    evidence: tuple[Evidence, ...]
    statement: S
    check: Callable[[S, Effort], Iterator[Finding]]
    mutations: tuple[Mutation[S], ...]

    def run(self, effort: Effort = "quick", statement: S | None = None) -> Outcome:
        """Check the statement, or another one in its place.

        Parameters
        ----------
        effort : {"quick", "full"}
        statement : S, optional
            A mutation's; the claim's own if left out.

        Raises
        ------
        ValueError
            If the check compared nothing.
        """
        start = perf_counter()
        verdicts: list[Verdict] = []
        verdict, detail = Verdict.PROVED, None
        with working_precision(BITS):
            checked = self.statement if statement is None else statement
            for finding in self._findings(checked, effort):
                verdicts.append(finding.verdict)
                overall = weakest((verdict, finding.verdict))
                if overall is not verdict:
                    verdict = overall
                    if verdict in (Verdict.UNDECIDED, Verdict.REFUTED):
                        detail = finding.detail
                if verdict is Verdict.REFUTED:
                    break
        return Outcome(weakest(verdicts), detail, len(verdicts), perf_counter() - start)

    def _findings(self, statement: S, effort: Effort) -> Iterator[Finding]:
        """The check's findings; a computation that stays open ends them, undecided."""
        try:
            yield from self.check(statement, effort)
        except UndecidedError as error:
            yield Finding(Verdict.UNDECIDED, str(error))
