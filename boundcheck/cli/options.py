"""Options that several commands share, and lists such as 16,32,64."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated

import typer

from boundcheck.errors import InputError
from boundcheck.problem import HEAD_CLASSES, HeadClass, head_class_named, whole_number

if TYPE_CHECKING:
    from boundcheck.sampling import Dtype as DtypeName

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
OneClass = Annotated[str, typer.Option("--head-class", help="scalar, standard or generalized.")]
Skip = Annotated[
    bool, typer.Option("--skip", help="The layer may add A y, any matrix A, for free (T1s).")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON alone on standard output.")]
Output = Annotated[str | None, typer.Option("--output", "-o", help="Write to this file instead.")]
Seed = Annotated[str, typer.Option("--seed", help="Whole number; the same gives the same draws.")]
Dtype = Annotated[str, typer.Option("--dtype", help="float64 or float32.")]
MemoryCap = Annotated[
    str, typer.Option("--memory-cap", help="Memory for arrays, as 512MiB or 1GiB.")
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


def seed_number(text: str) -> int:
    """The seed given.

    Raises
    ------
    InputError
        If it is no whole number from 0 to 2^128 - 1.
    """
    return whole_number(text, "seed", "a whole number from 0 to 2^128 - 1", 0, 2**128 - 1)


def dtype_named(name: str) -> DtypeName:
    """The dtype of that name.

    Raises
    ------
    InputError
        For another name.
    """
    if name == "float64":
        return "float64"
    if name == "float32":
        return "float32"
    raise InputError("dtype", name, "float64 or float32")


def positive_float(x: Fraction, parameter: str) -> float:
    """x as a float.

    Raises
    ------
    InputError
        If it is not positive, or has no float.
    """
    try:
        value = float(x)
    except OverflowError:
        value = 0.0
    if value <= 0:
        raise InputError(parameter, str(x), "a positive number that a float can hold")
    return value


def bytes_given(text: str) -> int:
    """The bytes that a text such as 512MiB or 1GiB stands for.

    Raises
    ------
    InputError
        If it is no such text.

    Examples
    --------
    >>> bytes_given("512MiB") == 2**29
    True
    """
    found = re.fullmatch(r"(\d{1,9})\s*([KMG]i?B)?", text.strip(), re.IGNORECASE)
    if not found or not int(found[1]):
        raise InputError("memory-cap", text, "bytes, as 512MiB or 1GiB")
    scale = {"": 0, "k": 10, "m": 20, "g": 30}[(found[2] or "")[:1].lower()]
    return int(found[1]) << scale
