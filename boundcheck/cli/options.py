"""Options that several commands share, and lists such as 16,32,64."""

from __future__ import annotations

from typing import Annotated

import typer

from boundcheck.errors import InputError
from boundcheck.problem import HEAD_CLASSES, HeadClass, head_class_named

Dimension = Annotated[str, typer.Option("--d", help="Embedding dimension, from 3.")]
Rank = Annotated[str, typer.Option("--r", help="Rank of each head, from 1 to d.")]
Eps = Annotated[
    str | None,
    typer.Option("--eps", help="Squared error between 0 and 1/2, as 0.1 or 1/10; read exactly."),
]
Heads = Annotated[
    str | None,
    typer.Option("--heads", help="Whole heads: show the error instead of the head count."),
]
Classes = Annotated[
    str | None,
    typer.Option("--head-class", help="scalar, standard or generalized; a list with commas."),
]
OneClass = Annotated[
    str, typer.Option("--head-class", help="scalar, standard or generalized.")
]
Skip = Annotated[
    bool, typer.Option("--skip", help="The layer may add A y, any matrix A, for free (T1s).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")]
Output = Annotated[
    str | None, typer.Option("--output", "-o", help="Write to this file instead.")
]


def listed(text: str, parameter: str) -> list[str]:
    """The entries of a list written with commas.

    Raises
    ------
    InputError
        If an entry is empty.

    Examples
    --------
    >>> listed("16,32, 64", "d")
    ['16', '32', '64']
    """
    entries = [entry.strip() for entry in text.split(",")]
    if not all(entries):
        raise InputError(parameter, text, "values with single commas between them, as in 16,32,64")
    return list(dict.fromkeys(entries))


def head_classes(text: str | None) -> list[HeadClass]:
    """The classes named, all three where none is."""
    if text is None:
        return list(HEAD_CLASSES)
    return [head_class_named(name) for name in listed(text, "head-class")]
