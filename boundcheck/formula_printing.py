"""Expressions as text and as LaTeX, with positive terms first.

sympy is loaded at module level: import this module where it is used.
"""

from __future__ import annotations

import types
from typing import Any

from sympy.printing.latex import LatexPrinter
from sympy.printing.printer import Printer
from sympy.printing.str import StrPrinter


def _ordered_terms(self: Any, expression: Any, order: str | None = None) -> list[Any]:
    """sympy's order, but 1 - x in place of -x + 1."""
    terms = Printer._as_ordered_terms(self, expression, order=order)
    return sorted(terms, key=lambda term: bool(term.could_extract_minus_sign()))


# sympy brings no types, so its classes are derived from at run time.
_Latex, _Text = (
    types.new_class(
        f"Ordered{base.__name__}",
        (base,),
        exec_body=lambda ns: ns.update(_as_ordered_terms=_ordered_terms),
    )
    for base in (LatexPrinter, StrPrinter)
)


def latex_text(expression: Any) -> str:
    """The expression in LaTeX, for display."""
    # Long numerators stand beside their fraction: 1/2 sum, not sum over 2.
    return str(_Latex({"long_frac_ratio": 2}).doprint(expression))


def plain_text(expression: Any) -> str:
    """The expression on one line, as sympy reads it."""
    return str(_Text().doprint(expression))
