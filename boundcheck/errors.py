"""The errors a caller can act on."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction


class InputError(ValueError):
    """A parameter lies outside what is allowed.

    The message is one line that names the parameter, the value given and the
    values allowed.

    Examples
    --------
    >>> str(InputError("r", 0, "a whole number from 1 to d"))
    'r: got 0, allowed: a whole number from 1 to d'
    """

    def __init__(self, parameter: str, value: object, allowed: str) -> None:
        self.parameter = parameter
        self.value = value
        self.allowed = allowed
        text = _text(value)
        if len(text) > 60:
            text = f"{text[:40]}... ({len(text)} characters)"
        shown = repr(text) if isinstance(value, str) else " ".join(text.split())
        super().__init__(f"{parameter}: got {shown}, allowed: {allowed}")


def _text(value: object) -> str:
    # Decimal prints integers of any size, where str has a process-wide limit.
    if isinstance(value, Fraction) and value.denominator != 1:
        return f"{Decimal(value.numerator)}/{Decimal(value.denominator)}"
    if isinstance(value, (int, Fraction)) and not isinstance(value, bool):
        return str(Decimal(int(value)))
    return str(value)


class UndecidedError(ArithmeticError):
    """A comparison stayed open at the largest precision or degree allowed.

    Neither answer has been shown; the message says which comparison and how
    far it was taken.
    """
