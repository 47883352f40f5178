"""``boundcheck plot``: heads against eps, r or d, as a figure."""

from __future__ import annotations

from typing import Annotated

import typer

from boundcheck.cli import options


def plot(
    d: options.Dimension,
    r: options.Rank,
    eps: options.Eps = None,
    against: Annotated[str, typer.Option("--against", help="eps, r or d.")] = "eps",
    skip: options.Skip = False,
    as_json: options.Json = False,
    output: options.Output = None,
) -> None:
    """Draw what is excluded and what suffices."""
    raise NotImplementedError


