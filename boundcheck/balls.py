"""Ball arithmetic (Arb through python-flint): precision and exact endpoints.

flint keeps its precision in one process-wide context. Everything here sets it
for the length of a ``with`` block and puts the caller's value back, also after
an exception; threads take turns. Results leave this layer as exact Fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from threading import RLock

import flint
from flint import arb

from boundcheck.values import Enclosure

_turn = RLock()


@contextmanager
def working_precision(bits: int) -> Iterator[None]:
    """Work at ``bits`` binary digits inside the block.

    Examples
    --------
    >>> before = flint.ctx.prec
    >>> with working_precision(200):
    ...     flint.ctx.prec
    200
    >>> flint.ctx.prec == before
    True
    """
    with _turn:
        before = flint.ctx.prec
        flint.ctx.prec = bits
        try:
            yield
        finally:
            flint.ctx.prec = before


def _exact_fraction(x: arb) -> Fraction:
    man, exp = x.man_exp()
    return Fraction(int(man)) * Fraction(2) ** int(exp)


def enclosure(x: arb) -> Enclosure:
    """The ball x as an Enclosure with exact endpoints, at any working precision.

    Raises
    ------
    ArithmeticError
        If x is not finite.
    """
    if not x.is_finite():
        raise ArithmeticError(f"a ball without finite bounds: {x}")
    mid, rad = _exact_fraction(x.mid()), _exact_fraction(x.rad())
    return Enclosure(mid - rad, mid + rad)


def ball(x: Fraction | int) -> arb:
    """A ball that contains the exact number x, at the working precision."""
    if isinstance(x, int):
        return arb(x)
    return arb(flint.fmpq(x.numerator, x.denominator))


def ball_between(lo: arb, hi: arb) -> arb:
    """The smallest ball that contains the balls lo and hi."""
    return lo.union(hi)
