"""Every claim, in the order of the theory."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from boundcheck.errors import InputError
from proofs_numeric.claim import Claim

_HARMONICS = ("h1", "h2", "h3", "h4", "h5", "h6", "h7", "l1", "l2", "l3", "k1", "k2")
_BOUNDS = ("t1", "t1s", "t2", "u1", "u2", "u3", "u3r", "u4", "u4s")
#: Modules of this package that hold a claim; a module's name is the id in lower case.
MODULES = (*_HARMONICS, *_BOUNDS)


def all_claims() -> tuple[Claim[Any], ...]:
    """The claims, in order.

    Examples
    --------
    >>> all_claims()[0].id
    'H1'
    """
    return tuple(_claim(module) for module in MODULES)


def claim_named(claim_id: str) -> Claim[Any]:
    """The claim with that id, in upper or lower case.

    Raises
    ------
    InputError
        If there is none; the message lists the ids.

    Examples
    --------
    >>> claim_named("h1").id
    'H1'
    """
    if claim_id.lower() in MODULES:
        return _claim(claim_id.lower())
    raise InputError("claim", claim_id, ", ".join(claim.id for claim in all_claims()))


def _claim(module: str) -> Claim[Any]:
    claim = import_module(f"proofs_numeric.{module}").CLAIM
    assert isinstance(claim, Claim)
    return claim
