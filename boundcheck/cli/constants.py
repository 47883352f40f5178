"""``boundcheck constants``: what constants T1 supports in the published forms."""

from __future__ import annotations


def constants() -> None:
    """The largest constants of the published forms that T1 supports on a grid."""
    raise NotImplementedError
