"""The errors a caller can act on."""

from __future__ import annotations


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
        text = str(value)
        if len(text) > 60:
            text = f"{text[:40]}... ({len(text)} characters)"
        super().__init__(f"{parameter}: got {text!r}, allowed: {allowed}" if isinstance(value, str)
                         else f"{parameter}: got {text}, allowed: {allowed}")


class UndecidedError(ArithmeticError):
    """A comparison stayed open at the largest precision or degree allowed.

    Neither answer has been shown; the message says which comparison and how
    far it was taken.
    """
