"""Each bound as a symbolic expression, ready for a paper.

sympy is loaded by the functions that build or print expressions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from boundcheck.errors import InputError

Relation = Literal[">=", "<=", "=", "~"]

#: Statements with a formula, in the order of the theory.
FORMULA_IDS = (
    *("H1", "H2", "H3", "H4", "H6", "L1", "L2", "K1", "K2"),
    *("T1", "T1s", "T2", "T5", "T5a", "T5b"),
    *("U1", "U2", "U3", "U3r", "U4", "U4b", "U4s"),
)

_LATEX_RELATION = {">=": r"\ge", "<=": r"\le", "=": "=", "~": r"\sim"}


@dataclass(frozen=True, slots=True)
class Formula:
    """One relation between a quantity and a symbolic expression.

    Parameters
    ----------
    id : str
        The statement's id.
    label : str
        Which case or part of the statement; empty if there is one only.
    quantity, quantity_latex : str
        The left side: "error", "H", or what the expression defines.
    relation : {">=", "<=", "=", "~"}
        "~" is a published form or a leading term.
    expression : sympy expression
        In d, r, l, eps, H and the like, and the named functions of
        `boundcheck.formula_symbols`.
    condition : str
        Where it holds, in words; may be empty.
    """

    id: str
    label: str
    quantity: str
    quantity_latex: str
    relation: Relation
    expression: Any
    condition: str = ""

    def text(self, *, expanded: bool = False) -> str:
        """The relation on one line; where expanded, sympy.sympify reads its right side back.

        Examples
        --------
        >>> formulas_of("T5b")[0].text()
        'H ~ C_0*(d/(C/epsilon + r))**(C/epsilon)'
        """
        from boundcheck.formula_printing import plain_text

        return f"{self.quantity} {self.relation} {plain_text(self._shown(expanded))}"

    def latex(self, *, expanded: bool = False) -> str:
        """The relation in LaTeX, without dollar signs."""
        from boundcheck.formula_printing import latex_text

        relation = _LATEX_RELATION[self.relation]
        return f"{self.quantity_latex} {relation} {latex_text(self._shown(expanded))}"

    def expanded(self) -> Any:
        """The expression with N, E_l, m_r and the like written out, for putting in numbers.

        Examples
        --------
        >>> from boundcheck.formula_symbols import l, r
        >>> formulas_of("L2")[1].expanded().subs({r: 4, l: 3})
        44
        """
        from boundcheck.formula_symbols import written_out

        return written_out(self.expression)

    def _shown(self, expanded: bool) -> Any:
        return self.expanded() if expanded else self.expression


def formulas_of(statement: str) -> tuple[Formula, ...]:
    """The formulas of a statement, by its id in upper or lower case.

    Raises
    ------
    InputError
        If it has none; the message lists the ids.

    Examples
    --------
    >>> [formula.label for formula in formulas_of("T2")]
    ['r = 1', 'r > 1']
    """
    for known in FORMULA_IDS:
        if known.lower() == statement.lower():
            from boundcheck.formula_table import TABLE

            return TABLE[known]()
    raise InputError("formula", statement, ", ".join(FORMULA_IDS))


def where_texts(formulas: tuple[Formula, ...], *, latex: bool) -> tuple[str, ...]:
    """The definitions of the named functions that formulas use, one line each."""
    from boundcheck.formula_printing import latex_text, plain_text
    from boundcheck.formula_symbols import definitions_used

    show = latex_text if latex else plain_text
    found = dict.fromkeys(
        f"{show(definition.left)} = {show(definition.expression)}"
        for formula in formulas
        for definition in definitions_used(formula.expression)
    )
    return tuple(found)
