"""What the library and print state, as balls."""

from __future__ import annotations

from fractions import Fraction

from flint import arb

from boundcheck.balls import ball, ball_between
from boundcheck.values import Enclosure, Numeric


def stated_ball(value: Enclosure | Numeric) -> arb:
    """The enclosure, or the number with its error estimate as radius."""
    if isinstance(value, Enclosure):
        return ball_between(ball(value.lo), ball(value.hi))
    return arb(value.value, value.error_estimate)


def printed(text: str) -> arb:
    """All numbers within one unit of the last digit of a decimal in print.

    Examples
    --------
    >>> arb("0.33331") in printed("0.3333")
    True
    >>> arb("0.33345") in printed("0.3333")
    False
    """
    unit = Fraction(1, 10 ** len(text.partition(".")[2]))
    value = Fraction(text)
    return ball_between(ball(value - unit), ball(value + unit))
