"""``boundcheck explain``: a statement in words, where it comes from, how it is checked."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from boundcheck.cli import options
from boundcheck.cli.output import emit, json_text

if TYPE_CHECKING:
    from boundcheck.statements import Statement
    from proofs_numeric.claim import Claim

_WIDTH = 88


def explain(
    statement: Annotated[str, typer.Argument(metavar="ID", help="A statement such as T1 or U3.")],
    as_json: options.Json = False,
    output: options.Output = None,
) -> None:
    """Say what a statement means, whether it is published, and how it is checked."""
    from boundcheck.statements import claim_of, statement_named

    found = statement_named(statement)
    facts = _facts(found, claim_of(found))
    emit(json_text(facts) if as_json else _text(facts), output)


def _facts(statement: Statement, claim: Claim[Any] | None) -> dict[str, Any]:
    from boundcheck.formulas import FORMULA_IDS

    has_formula = statement.id in FORMULA_IDS
    return {
        "id": statement.id,
        "statement": statement.words,
        "origin": claim.source.origin if claim else statement.origin,
        "source": claim.source.where if claim else statement.where,
        "latex": claim.latex if claim else None,
        "formula": has_formula,
        "checked": _first_line(claim.check.__doc__) if claim else statement.checked,
        "evidence": list(claim.evidence) if claim else [],
        "refuted": [mutation.words for mutation in claim.mutations] if claim else [],
        "commands": [
            *([f"boundcheck verify {claim.id}"] if claim else []),
            *([f"boundcheck formula {statement.id}"] if has_formula else []),
        ],
    }


def _first_line(text: str | None) -> str:
    return (text or "").strip().partition("\n")[0]


_ORIGINS = {
    "published": "published",
    "explicit": "explicit: derived with every constant; not the form of a published theorem",
    "classical": "classical",
}


def _text(facts: dict[str, Any]) -> str:
    lines = textwrap.wrap(f"{facts['id']}: {facts['statement']}", _WIDTH)
    rows = [
        ("origin", _ORIGINS[facts["origin"]]),
        ("source", facts["source"]),
        ("checked", facts["checked"]),
        ("evidence", ", ".join(facts["evidence"])),
        ("latex", "" if facts["formula"] else facts["latex"]),
        *(("refuted", words) for words in facts["refuted"]),
        *(("run", command) for command in facts["commands"]),
    ]
    previous = ""
    for name, value in rows:
        if value:
            label = "" if name == previous else name
            lines += textwrap.wrap(
                value, _WIDTH, initial_indent=f"  {label:<10}", subsequent_indent=" " * 12
            )
            previous = name
    return "\n".join(lines) + "\n"
