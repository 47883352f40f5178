"""Every bound, in the order in which reports list them.

Adding a bound is writing its class and naming it here; tables, plots and the
command line read this list.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import cast

from boundcheck.bounds.base import Bound
from boundcheck.errors import InputError

#: Bound id, which is also its class's name, and the module that has it.
_MODULES = {
    "T1": "lower",
    "T1s": "lower",
    "T5a": "published",
    "T5b": "published",
    "U1": "full_rank",
    "U2": "full_rank",
    "T2": "arbitrary_scores",
    "U3": "random_heads",
    "U3r": "haar_heads",
    "U4": "majority_vote",
    "U4b": "majority_vote",
    "U4s": "majority_vote",
}


@lru_cache(maxsize=1)
def all_bounds() -> tuple[Bound, ...]:
    """The bounds, lower ones first; without python-flint, those that do not need it.

    Examples
    --------
    >>> [bound.id for bound in all_bounds() if bound.direction == "lower"]
    ['T1', 'T1s', 'T5a', 'T5b']
    """
    bounds = []
    for bound_id in _MODULES:
        try:
            bounds.append(bound_named(bound_id))
        except ImportError as error:
            if (error.name or "").partition(".")[0] != "flint":
                raise
    return tuple(bounds)


@lru_cache
def bound_named(bound_id: str) -> Bound:
    """The bound with that id; loads only what that bound needs.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> bound_named("T1").name
    'harmonic lower bound'
    """
    if bound_id not in _MODULES:
        raise InputError("bound", bound_id, ", ".join(_MODULES))
    module = import_module(f"boundcheck.bounds.{_MODULES[bound_id]}")
    return cast(Bound, getattr(module, bound_id)())
