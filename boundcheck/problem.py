"""The question: dimension, rank, error and head class, validated in one place."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from operator import index
from typing import Literal, SupportsIndex, get_args

from boundcheck.errors import InputError

HeadClass = Literal["scalar", "standard", "generalized"]
HEAD_CLASSES: tuple[HeadClass, ...] = get_args(HeadClass)

#: Dimensions above this are refused: energies of degree l need about l^2 bit
#: operations and the answer would not fit a page.
MAX_DIMENSION = 10**6
#: A head count given by the user may have this many digits.
MAX_DIGITS = 100_000

_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d{1,6})?", re.ASCII)
_FRACTION = re.compile(r"[+-]?\d+/\d+", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)


def exact_fraction(text: str, parameter: str, allowed: str) -> Fraction:
    """The number written in text, exactly: "0.1" is 1/10, "1/10" works.

    Raises
    ------
    InputError
        If text is not a decimal or a fraction of whole numbers.

    Examples
    --------
    >>> exact_fraction("0.1", "eps", "...")
    Fraction(1, 10)
    >>> exact_fraction("1e-400", "eps", "...") > 0
    True
    """
    text = text.strip()
    if len(text) > MAX_DIGITS:
        raise InputError(parameter, text, allowed)
    if _DECIMAL.fullmatch(text):
        # Decimal reads more digits than int(str) is allowed to.
        sign, digits, exponent = Decimal(text).as_tuple()
        if not isinstance(exponent, int) or abs(exponent) > MAX_DIGITS:
            raise InputError(parameter, text, allowed)
        mantissa = Fraction(Decimal((sign, digits, 0)))
        return mantissa * Fraction(10) ** exponent
    if _FRACTION.fullmatch(text):
        above, below = text.split("/")
        denominator = Fraction(Decimal(below))
        if denominator:
            return Fraction(Decimal(above)) / denominator
    raise InputError(parameter, text, allowed)


def whole_number(
    value: object, parameter: str, allowed: str, least: int, most: int | None = None
) -> int:
    """The whole number given, or an InputError that says what is allowed.

    Accepts int (not bool), numpy integers and strings of digits.
    """
    number: int | None = None
    if isinstance(value, str):
        text = value.strip()
        if _WHOLE.fullmatch(text) and len(text) <= MAX_DIGITS:
            number = int(Decimal(text))
    elif isinstance(value, SupportsIndex) and not isinstance(value, bool):
        # Arrays have an index too, but only those of one whole number give it.
        with suppress(TypeError):
            number = index(value)
    if number is None or number < least or (most is not None and number > most):
        raise InputError(parameter, value, allowed)
    return number


@dataclass(frozen=True, slots=True)
class Problem:
    """One question about heads of rank r at dimension d.

    Build it with `Problem.of`, which validates.

    Parameters
    ----------
    d : int
        Embedding dimension.
    r : int
        Rank of each head.
    eps : Fraction or None
        Squared error to reach, in (0, 1/2); None where the question is the
        error of a given number of heads.
    eps_text : str
        eps as the user wrote it, for output.
    head_class : {"scalar", "standard", "generalized"}
    skip : bool
        Whether the layer may add A y with any matrix A for free (T1s).
    points : int
        Number of points N; 2.
    target : str
        The function to approximate; "nearest-neighbor".
    """

    d: int
    r: int
    eps: Fraction | None = None
    eps_text: str = ""
    head_class: HeadClass = "standard"
    skip: bool = False
    points: int = 2
    target: str = "nearest-neighbor"

    @classmethod
    def of(
        cls,
        d: int | str,
        r: int | str,
        eps: Fraction | float | str | None = None,
        *,
        head_class: str = "standard",
        skip: bool = False,
    ) -> Problem:
        """The validated problem.

        Parameters
        ----------
        d : int or str
            From 3 to 10^6.
        r : int or str
            From 1 to d.
        eps : Fraction, float or str, optional
            In (0, 1/2). A string is read exactly; a float is read as the
            shortest decimal that prints it, so 0.1 is 1/10.
        head_class : str
        skip : bool

        Raises
        ------
        InputError
            For a value outside these ranges.

        Examples
        --------
        >>> Problem.of(64, 4, "0.1").eps
        Fraction(1, 10)
        """
        d = whole_number(d, "d", f"a whole number from 3 to {MAX_DIMENSION}", 3, MAX_DIMENSION)
        r = whole_number(r, "r", f"a whole number from 1 to d = {d}", 1, d)
        return cls(d, r, *_eps(eps), head_class=head_class_named(head_class), skip=skip)

    def of_class(self, head_class: HeadClass) -> Problem:
        """The same question for another head class."""
        return replace(self, head_class=head_class)

    @property
    def target_eps(self) -> Fraction:
        """eps, for questions that need one.

        Raises
        ------
        InputError
            If the problem was built without eps.
        """
        if self.eps is None:
            raise InputError("eps", "nothing", "a decimal or fraction between 0 and 1/2")
        return self.eps


def head_class_named(name: str) -> HeadClass:
    """The head class of that name.

    Raises
    ------
    InputError
        For another name.
    """
    for known in HEAD_CLASSES:
        if name == known:
            return known
    raise InputError("head-class", name, ", ".join(HEAD_CLASSES))


def _eps(given: Fraction | float | str | None) -> tuple[Fraction | None, str]:
    if given is None:
        return None, ""
    allowed = "a decimal or fraction between 0 and 1/2, such as 0.1 or 1/10"
    if isinstance(given, Fraction):
        eps, text = given, f"{Decimal(given.numerator)}/{Decimal(given.denominator)}"
    else:
        text = str(given).strip()
        eps = exact_fraction(text, "eps", allowed)
    if eps <= 0:
        raise InputError("eps", text, allowed)
    if eps >= Fraction(1, 2):
        raise InputError(
            "eps", text, "less than 1/2, since the mean of the two points already has error 1/2"
        )
    return eps, text
