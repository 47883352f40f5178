"""``boundcheck verify``: run the executable proofs of the theory's statements."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boundcheck.cli import options
from boundcheck.cli.output import json_text
from boundcheck.cli.progress import tracked

if TYPE_CHECKING:
    from collections.abc import Callable

    from proofs_numeric.claim import Claim, Effort, Outcome

    Show = Callable[[Claim[Any], Outcome], None]

_WIDTH_OF_ID, _WIDTH_OF_EVIDENCE = 4, 36


def verify(
    claims: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ID]...", help="Statements such as H3 or T1; all if left out."),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full/--quick", help="Minutes of larger cases, or half a minute."),
    ] = False,
    listing: Annotated[
        bool, typer.Option("--list", help="List the statements and run nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Run the numeric proofs; exit 1 if one is refuted, 3 if one stays undecided."""
    from proofs_numeric.registry import all_claims, claim_named

    chosen = list(all_claims())
    if claims:
        chosen = list({claim.id: claim for claim in map(claim_named, claims)}.values())
    if listing:
        sys.stdout.write(json_text(_listed(chosen)) if as_json else _list_text(chosen))
        return
    outcomes = _run(chosen, "full" if full else "quick", as_json)
    code = _exit_code(outcomes)
    if code:
        raise typer.Exit(code)


def _run(claims: Sequence[Claim[Any]], effort: Effort, as_json: bool) -> list[Outcome]:
    """The outcomes; what is known is printed also when an interrupt ends the run."""
    outcomes: list[Outcome] = []
    try:
        with _display(claims, as_json) as show:
            for claim in tracked(claims, "claims") if as_json else claims:
                outcome = claim.run(effort)
                outcomes.append(outcome)
                show(claim, outcome)
    finally:
        if as_json:
            rows = [_row(*pair) for pair in zip(claims, outcomes, strict=False)]
            sys.stdout.write(json_text({"effort": effort, "claims": rows}))
        else:
            sys.stdout.write(_summary(claims, outcomes))
    return outcomes


def _exit_code(outcomes: Sequence[Outcome]) -> int:
    from boundcheck.cli import DONE, FAILED, UNDECIDED
    from proofs_numeric.compare import Verdict

    verdicts = {outcome.verdict for outcome in outcomes}
    if Verdict.REFUTED in verdicts:
        return FAILED
    return UNDECIDED if Verdict.UNDECIDED in verdicts else DONE


@contextmanager
def _display(claims: Sequence[Claim[Any]], as_json: bool) -> Iterator[Show]:
    """How each outcome is shown as it comes: a live table, rows, or not at all."""
    if as_json:
        yield lambda claim, outcome: None
    elif sys.stdout.isatty():
        with _live_table(claims) as show:
            yield show
    else:
        yield lambda claim, outcome: print(_text_row(claim, outcome), flush=True)


@contextmanager
def _live_table(claims: Sequence[Claim[Any]]) -> Iterator[Show]:
    from rich.live import Live
    from rich.markup import escape
    from rich.spinner import Spinner
    from rich.table import Table

    styles = {"proved": "green", "consistent": "green", "undecided": "yellow", "refuted": "red"}
    outcomes: list[Outcome] = []

    def table() -> Table:
        found = Table("id", "statement", "evidence", "verdict")
        found.add_column("time", justify="right")
        for position, claim in enumerate(claims):
            words, evidence = escape(claim.words), ", ".join(claim.evidence)
            if position < len(outcomes):
                verdict = outcomes[position].verdict.value
                found.add_row(
                    claim.id,
                    words,
                    evidence,
                    f"[{styles[verdict]}]{verdict}[/]",
                    f"{outcomes[position].seconds:.2f} s",
                )
            elif position == len(outcomes):
                found.add_row(claim.id, words, evidence, Spinner("dots"), "")
            else:
                found.add_row(claim.id, words, evidence, "", "")
        return found

    # Rows that do not fit the screen are shown once the run is over.
    with Live(table(), vertical_overflow="ellipsis") as live:

        def show(claim: Claim[Any], outcome: Outcome) -> None:
            outcomes.append(outcome)
            live.update(table())

        yield show


def _row(claim: Claim[Any], outcome: Outcome) -> dict[str, Any]:
    return {
        "id": claim.id,
        "evidence": ", ".join(claim.evidence),
        "verdict": outcome.verdict.value,
        "seconds": round(outcome.seconds, 3),
        "statement": claim.words,
        "comparisons": outcome.comparisons,
        "detail": outcome.detail,
    }


def _text_row(claim: Claim[Any], outcome: Outcome) -> str:
    return (
        f"{claim.id:<{_WIDTH_OF_ID}} {outcome.verdict.value:<10} {outcome.seconds:7.2f} s  "
        f"{', '.join(claim.evidence):<{_WIDTH_OF_EVIDENCE}}  {claim.words}"
    )


def _summary(claims: Sequence[Claim[Any]], outcomes: Sequence[Outcome]) -> str:
    """The comparisons that failed or stayed open, and the count of each verdict."""
    lines = [
        f"{claim.id} {outcome.verdict.value}: {outcome.detail}"
        for claim, outcome in zip(claims, outcomes, strict=False)
        if outcome.detail is not None
    ]
    counts: dict[str, int] = {}
    for outcome in outcomes:
        counts[outcome.verdict.value] = counts.get(outcome.verdict.value, 0) + 1
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items()) or "nothing run"
    comparisons = sum(outcome.comparisons for outcome in outcomes)
    seconds = sum(outcome.seconds for outcome in outcomes)
    missing = len(claims) - len(outcomes)
    left = f", {missing} not finished" if missing else ""
    lines.append(f"{counted}{left}: {comparisons} comparisons in {seconds:.1f} s")
    return "\n".join(lines) + "\n"


def _listed(claims: Sequence[Claim[Any]]) -> dict[str, Any]:
    return {
        "claims": [
            {
                "id": claim.id,
                "evidence": ", ".join(claim.evidence),
                "statement": claim.words,
                "latex": claim.latex,
                "source": {"origin": claim.source.origin, "where": claim.source.where},
                "mutations": [mutation.words for mutation in claim.mutations],
            }
            for claim in claims
        ]
    }


def _list_text(claims: Sequence[Claim[Any]]) -> str:
    return "".join(
        f"{claim.id:<{_WIDTH_OF_ID}} {', '.join(claim.evidence):<{_WIDTH_OF_EVIDENCE}}  "
        f"{claim.words}\n"
        for claim in claims
    )
