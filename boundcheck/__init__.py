"""How many attention heads of rank r does it take? Certified bounds, checked numerically.

Examples
--------
>>> import boundcheck
>>> boundcheck.heads_lower_bound(64, 4, "0.1").heads
78614
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from boundcheck.answers import error_lower_bound, heads_lower_bound
    from boundcheck.comparison import Row, compare
    from boundcheck.errors import InputError, UndecidedError
    from boundcheck.problem import Problem
    from boundcheck.values import Enclosure, HeadCount, Numeric, Published

__all__ = [
    "Enclosure",
    "HeadCount",
    "InputError",
    "Numeric",
    "Problem",
    "Published",
    "Row",
    "UndecidedError",
    "compare",
    "error_lower_bound",
    "heads_lower_bound",
]

# Loaded on first use, so that importing the package costs nothing.
_HOME = {
    "Enclosure": "values",
    "HeadCount": "values",
    "InputError": "errors",
    "Numeric": "values",
    "Problem": "problem",
    "Published": "values",
    "Row": "comparison",
    "UndecidedError": "errors",
    "compare": "comparison",
    "error_lower_bound": "answers",
    "heads_lower_bound": "answers",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'boundcheck' has no attribute {name!r}")
    return getattr(import_module(f"boundcheck.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
