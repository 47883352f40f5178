"""Numbers as text, exact or rounded to the safe side.

Nothing here works on floats made from big integers or fractions: every digit
comes from integer division, so a lower bound is never printed above its value
nor an upper bound below it.
"""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from boundcheck.values import Direction, Enclosure, Numeric, Published, Value

Rounding = Literal["down", "up", "nearest"]
Style = Literal["plain", "unicode", "markdown", "latex"]

#: The safe rounding of each kind of bound.
SAFE: dict[Direction, Rounding] = {"lower": "down", "upper": "up"}

#: JSON readers that hold numbers as doubles keep integers up to here.
MAX_JSON_INT = 2**53

ERROR_FIGURES = 6
PUBLISHED_FIGURES = 3
HEADS_FIGURES = 2
ENCLOSURE_FIGURES = 20

_POWER = {
    "plain": "{} x 10^{}",
    "unicode": "{} \N{MULTIPLICATION SIGN} 10^{}",
    "markdown": "{} \N{MULTIPLICATION SIGN} 10<sup>{}</sup>",
    "latex": r"${} \times 10^{{{}}}$",
}


# --- integers -------------------------------------------------------------


def digits(n: int) -> str:
    """Every digit of n, whatever its size.

    Python's own ``str`` refuses integers above a process-wide limit; this
    neither meets nor changes that limit.

    Examples
    --------
    >>> len(digits(7**10_000))
    8451
    """
    return str(Decimal(n))


def json_int(n: int) -> int | str:
    """The integer n for JSON: n itself up to 2^53 in size, above that its digits.

    Examples
    --------
    >>> json_int(2**53), json_int(2**53 + 1)
    (9007199254740992, '9007199254740993')
    """
    return n if abs(n) <= MAX_JSON_INT else digits(n)


def heads_text(
    n: int, direction: Direction, style: Style = "plain", *, most_digits: int = 15
) -> str:
    r"""A head count to read: all its digits, or two figures and a power of ten.

    Parameters
    ----------
    n : int
        n >= 0, of any size.
    direction : {"lower", "upper"}
        A shortened lower bound is rounded down, an upper bound up.
    style : {"plain", "unicode", "markdown", "latex"}
        "latex" is for text mode; it brings its own dollar signs.
    most_digits : int
        Counts with more digits are shortened.

    Examples
    --------
    >>> heads_text(191901, "lower")
    '191,901'
    >>> n = 123_456_789_012_345_678
    >>> heads_text(n, "lower"), heads_text(n, "upper", "latex")
    ('1.2 x 10^17', '$1.3 \\times 10^{17}$')
    """
    if n < 10**most_digits:
        # The braces keep LaTeX's math mode from adding a space.
        return f"{n:,}".replace(",", "{,}" if style == "latex" else ",")
    mantissa, exponent = _scientific(n, 1, HEADS_FIGURES, SAFE[direction])
    return _power_text(mantissa, exponent, style)


# --- fractions ------------------------------------------------------------


def decimal_text(x: Fraction, places: int, rounding: Rounding) -> str:
    """x with that many decimals.

    Parameters
    ----------
    x : Fraction
    places : int
        Digits after the point, >= 0.
    rounding : {"down", "up", "nearest"}
        Down is towards minus infinity, up towards infinity; "nearest" sends
        ties to the even digit.

    Examples
    --------
    >>> x = Fraction(2, 3)
    >>> [decimal_text(x, 4, rounding) for rounding in ("down", "up", "nearest")]
    ['0.6666', '0.6667', '0.6667']
    """
    return _point(_rounded_quotient(x.numerator * 10**places, x.denominator, rounding), places)


def significant_text(x: Fraction, figures: int, rounding: Rounding, style: Style = "plain") -> str:
    """x with that many significant digits, as a decimal or with a power of ten.

    The power of ten appears below 10^-4 and where the digits would not reach
    the point.

    Parameters
    ----------
    x : Fraction
    figures : int
        Significant digits, >= 1.
    rounding : {"down", "up", "nearest"}
        As in `decimal_text`.
    style : {"plain", "unicode", "markdown", "latex"}

    Examples
    --------
    >>> significant_text(Fraction(1, 3), 6, "down")
    '0.333333'
    >>> significant_text(Fraction(1, 3 * 10**9), 3, "up")
    '3.34 x 10^-10'
    """
    if x == 0:
        return "0"
    mantissa, exponent = _scientific(x.numerator, x.denominator, figures, rounding)
    if -4 <= exponent < figures:
        return _point(mantissa, figures - 1 - exponent)
    return _power_text(mantissa, exponent, style)


def nearest_text(x: Enclosure, places: int) -> str | None:
    """The decimals that the enclosed number rounds to, None if x leaves them open.

    Examples
    --------
    >>> third = Enclosure(Fraction(333332, 10**6), Fraction(333335, 10**6))
    >>> nearest_text(third, 4), nearest_text(third, 5)
    ('0.3333', None)
    """
    low, high = (decimal_text(end, places, "nearest") for end in (x.lo, x.hi))
    return low if low == high else None


def error_text(value: Value, direction: Direction, style: Style = "plain") -> str:
    """A bound on the squared error, rounded to its safe side.

    Parameters
    ----------
    value : Enclosure, Numeric or Published
        A certified bound shows the end of its enclosure that is safe, to six
        figures. A numeric one moves by its error estimate first and shows no
        more digits than the estimate supports. A published form is marked
        with "~" and has three figures, to the nearest.
    direction : {"lower", "upper"}
    style : {"plain", "unicode", "markdown", "latex"}

    Raises
    ------
    ValueError
        If a float is not finite.

    Examples
    --------
    >>> error_text(Enclosure(Fraction(1, 3), Fraction(2, 3)), "lower")
    '0.333333'
    >>> error_text(Numeric(0.1840268, 2e-5), "upper")
    '0.1841'
    >>> error_text(Published(0.12345), "lower")
    '~0.123'
    """
    rounding = SAFE[direction]
    match value:
        case Enclosure():
            end = value.lo if direction == "lower" else value.hi
            # A squared error is never negative, even where its enclosure reaches below 0.
            return significant_text(max(end, Fraction(0)), ERROR_FIGURES, rounding, style)
        case Numeric():
            return _numeric_text(value, direction, style)
        case Published():
            mark = r"$\sim$" if style == "latex" else "~"
            text = significant_text(_finite(value.value), PUBLISHED_FIGURES, "nearest", style)
            return mark + text


def _numeric_text(value: Numeric, direction: Direction, style: Style) -> str:
    estimate = _finite(value.error_estimate)
    end = _finite(value.value) + (estimate if direction == "upper" else -estimate)
    if end <= 0:
        return "0"
    if not estimate:
        return significant_text(end, ERROR_FIGURES, SAFE[direction], style)
    # The last figure shown is worth at least the estimate.
    last = -_exponent(estimate.denominator, estimate.numerator)  # ceil(log10(estimate))
    figures = _exponent(end.numerator, end.denominator) - last + 1
    if figures < 1:
        end = Fraction(10) ** last if direction == "upper" else Fraction(0)
        figures = 1
    return significant_text(end, min(figures, ERROR_FIGURES), SAFE[direction], style)


def enclosure_json(x: Enclosure) -> list[str]:
    """Two decimal strings [lo, hi] whose interval contains x, for JSON.

    Twenty significant digits, fewer where they are exact; ``Fraction`` reads
    them back exactly.

    Examples
    --------
    >>> enclosure_json(Enclosure(Fraction(1, 4), Fraction(1, 3)))
    ['0.25', '0.33333333333333333334']
    """
    return [_plain_scientific(x.lo, "down"), _plain_scientific(x.hi, "up")]


def safe_float(x: Fraction, rounding: Literal["down", "up"]) -> float:
    """The largest float <= x ("down") or the smallest float >= x ("up").

    Beyond the largest float this is that float or an infinity, whichever is
    on the safe side.

    Examples
    --------
    >>> safe_float(Fraction(1, 10), "down") < Fraction(1, 10) < safe_float(Fraction(1, 10), "up")
    True
    """
    try:
        near = float(x)
    except OverflowError:
        near = math.inf if x > 0 else -math.inf
    if rounding == "down" and near > x:
        near = math.nextafter(near, -math.inf)
    elif rounding == "up" and near < x:
        near = math.nextafter(near, math.inf)
    return near + 0.0  # no negative zero


# --- markup ---------------------------------------------------------------

_LATEX = {
    "\\": r"\textbackslash{}",
    # Right after a row's end these two would be read as its options.
    "[": "{[}",
    "*": "{*}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{c: f"\\{c}" for c in "{}$&#%_"},
}


def latex_escape(text: str) -> str:
    r"""Text for LaTeX's text mode, where it prints as it stands.

    Runs of hyphens stay hyphens instead of turning into dashes; quotation
    marks are left to LaTeX.

    Examples
    --------
    >>> print(latex_escape("50% of m_r & --skip"))
    50\% of m\_r \& -{}-skip
    """
    escaped = "".join(_LATEX.get(c, c) for c in text)
    return re.sub("-(?=-)", "-{}", escaped)


def markdown_escape(text: str) -> str:
    r"""Text for inside a paragraph or table cell in Markdown, where it prints as it stands.

    Line breaks become spaces, since a table cell is one line.

    Examples
    --------
    >>> print(markdown_escape("|x| * y_1"))
    \|x\| \* y\_1
    """
    return re.sub(r"([\\`*_\[\]<>&~|])", r"\\\1", " ".join(text.splitlines()))


# --- rounding, in integers ------------------------------------------------


def _rounded_quotient(above: int, below: int, rounding: Rounding) -> int:
    """above / below rounded to an integer, for below > 0."""
    quotient, rest = divmod(above, below)
    if rounding == "up":
        return quotient + (rest > 0)
    if rounding == "nearest":
        return quotient + (2 * rest > below or (2 * rest == below and quotient % 2))
    return quotient


def _exponent(above: int, below: int) -> int:
    """floor(log10(above / below)), exact, for positive integers."""
    # The logarithms only guess; the comparisons decide.
    guess = math.floor(math.log10(above) - math.log10(below))
    while _at_least_power(above, below, guess + 1):
        guess += 1
    while not _at_least_power(above, below, guess):
        guess -= 1
    return guess


def _at_least_power(above: int, below: int, power: int) -> bool:
    if power >= 0:
        below *= 10**power
    else:
        above *= 10**-power
    return above >= below


def _scientific(above: int, below: int, figures: int, rounding: Rounding) -> tuple[int, int]:
    """(mantissa of that many digits, e): above / below is near its 10^(e - figures + 1) fold."""
    exponent = _exponent(abs(above), below)
    shift = exponent - figures + 1
    if shift >= 0:
        mantissa = _rounded_quotient(above, below * 10**shift, rounding)
    else:
        mantissa = _rounded_quotient(above * 10**-shift, below, rounding)
    if abs(mantissa) == 10**figures:  # 9.99 became 10.0
        return mantissa // 10, exponent + 1
    return mantissa, exponent


def _point(mantissa: int, places: int) -> str:
    """mantissa / 10^places with its decimal point."""
    text = digits(abs(mantissa)).rjust(places + 1, "0")
    sign = "-" if mantissa < 0 else ""
    return f"{sign}{text[:-places]}.{text[-places:]}" if places else sign + text


def _power_text(mantissa: int, exponent: int, style: Style) -> str:
    figures = len(digits(abs(mantissa)))
    return _POWER[style].format(_point(mantissa, figures - 1), exponent)


def _plain_scientific(x: Fraction, rounding: Rounding) -> str:
    if x == 0:
        return "0"
    figures = ENCLOSURE_FIGURES
    mantissa, exponent = _scientific(x.numerator, x.denominator, figures, rounding)
    if -5 <= exponent < figures - 1:
        return _point(mantissa, figures - 1 - exponent).rstrip("0").rstrip(".")
    return _point(mantissa, figures - 1).rstrip("0").rstrip(".") + f"e{exponent}"


def _finite(x: float) -> Fraction:
    if not math.isfinite(x):
        raise ValueError(f"a finite number is needed, got {x}")
    return Fraction(x)
