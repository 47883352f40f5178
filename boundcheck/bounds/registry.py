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


#: Bounds whose numbers are balls; T1 and T1s have exact rationals to fall back on.
_NEED_FLINT = ("T5a", "T5b", "T2", "U3", "U4b")


@lru_cache(maxsize=1)
def _flint_works() -> bool:
    try:
        import flint  # noqa: F401
    except ImportError:
        return False
    return True


def left_out_bounds() -> tuple[str, ...]:
    """Ids of the bounds that need python-flint, where it cannot be imported; else none.

    Examples
    --------
    >>> left_out_bounds()
    ()
    """
    return () if _flint_works() else _NEED_FLINT


def all_bounds() -> tuple[Bound, ...]:
    """The bounds, lower ones first; without python-flint, those that do not need it.

    Examples
    --------
    >>> [bound.id for bound in all_bounds() if bound.direction == "lower"]
    ['T1', 'T1s', 'T5a', 'T5b']
    """
    return tuple(bound_named(i) for i in _MODULES if i not in left_out_bounds())


def lower_bound_id(skip: bool) -> str:
    """The lower bound that speaks of layers with, or without, a free A y.

    Examples
    --------
    >>> lower_bound_id(True)
    'T1s'
    """
    return "T1s" if skip else "T1"


@lru_cache
def bound_named(bound_id: str) -> Bound:
    """The bound with that id; loads only what that bound needs.

    Raises
    ------
    InputError
        If there is none, or it needs python-flint and that cannot be imported.

    Examples
    --------
    >>> bound_named("T1").name
    'harmonic lower bound'
    """
    if bound_id not in _MODULES:
        raise InputError("bound", bound_id, ", ".join(_MODULES))
    if bound_id in _NEED_FLINT and not _flint_works():
        others = ", ".join(i for i in _MODULES if i not in _NEED_FLINT)
        raise InputError("bound", bound_id, f"{others}, since python-flint cannot be imported")
    module = import_module(f"boundcheck.bounds.{_MODULES[bound_id]}")
    return cast(Bound, getattr(module, bound_id)())
