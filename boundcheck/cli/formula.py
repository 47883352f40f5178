"""``boundcheck formula``: each bound as a symbolic expression."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from boundcheck.cli import options
from boundcheck.cli.output import emit, json_text


def formula(
    statement: Annotated[str, typer.Argument(metavar="ID", help="A statement such as T1 or U3.")],
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX.")] = False,
    expand: Annotated[
        bool, typer.Option("--expand", help="Write N, E_l, m_r and the like out.")
    ] = False,
    as_json: options.Json = False,
    output: options.Output = None,
) -> None:
    """Print a bound as a symbolic expression in d, r, l, epsilon and H."""
    from boundcheck.formulas import formulas_of, where_texts

    found = formulas_of(statement)
    if as_json:
        emit(json_text(_json(found)), output)
        return
    lines = []
    for one in found:
        notes = "; ".join(note for note in (one.label, one.condition) if note)
        relation = one.latex(expanded=expand) if latex else one.text(expanded=expand)
        lines += [f"{'% ' if latex else ''}{one.id}{': ' if notes else ''}{notes}", relation]
    where = () if expand else where_texts(found, latex=latex)
    if where:
        lines += ["% where" if latex else "where", *where]
    emit("\n".join(lines) + "\n", output)


def _json(found: tuple[Any, ...]) -> dict[str, Any]:
    from boundcheck.formula_printing import latex_text, plain_text
    from boundcheck.formula_symbols import definitions_used

    used = dict.fromkeys(one for each in found for one in definitions_used(each.expression))
    return {
        "id": found[0].id,
        "formulas": [
            {
                "label": one.label,
                "condition": one.condition,
                "quantity": one.quantity,
                "relation": one.relation,
                "expression": plain_text(one.expression),
                "expanded": plain_text(one.expanded()),
                "latex": one.latex(),
            }
            for one in found
        ],
        "where": [
            {
                "function": plain_text(definition.left),
                "expression": plain_text(definition.expression),
                "latex": f"{latex_text(definition.left)} = {latex_text(definition.expression)}",
            }
            for definition in used
        ],
    }
