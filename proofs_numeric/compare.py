"""Comparisons that end in a verdict, never in a bare bool."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import Any, NoReturn

from flint import arb

#: A sample mean is refuted beyond this many standard errors; a true statement
#: passes each comparison with probability 1 - 2e-9 (for a normal mean).
SIGMAS = 6.0


class Verdict(Enum):
    """What a check has shown; from the strongest support to its opposite.

    It has no truth value, so that no verdict is taken for a yes.

    Examples
    --------
    >>> weakest([Verdict.PROVED, Verdict.CONSISTENT]).value
    'consistent'
    """

    #: Shown: exactly, or in balls to the digits that the comparison states.
    PROVED = "proved"
    #: A sample does not contradict it, at `SIGMAS` standard errors.
    CONSISTENT = "consistent"
    #: Neither shown nor contradicted at the precision used.
    UNDECIDED = "undecided"
    #: Contradicted.
    REFUTED = "refuted"

    def __bool__(self) -> NoReturn:
        raise TypeError("a verdict is no yes or no: compare it with Verdict.PROVED and so on")


_ORDER = tuple(Verdict)


def weakest(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict on all of several comparisons together.

    Raises
    ------
    ValueError
        If there is none: nothing was compared, so nothing was shown.
    """
    positions = [_ORDER.index(verdict) for verdict in verdicts]
    if not positions:
        raise ValueError("a check that compares nothing shows nothing")
    return _ORDER[max(positions)]


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison: its verdict and what was compared.

    Parameters
    ----------
    verdict : Verdict
    detail : str
        The quantity and both sides of the comparison.
    """

    verdict: Verdict
    detail: str


def equal(what: str, stated: Any, found: Any) -> Finding:
    """Whether two exact values are the same: proved or refuted.

    Parameters
    ----------
    what : str
        The quantity, for the report.
    stated, found : object
        Integers, fractions, flint's exact numbers and polynomials, and
        collections of them.

    Raises
    ------
    TypeError
        For a float or a ball, which are not exact.

    Examples
    --------
    >>> equal("N(3, 5)", 10, 11)
    Finding(verdict=<Verdict.REFUTED: 'refuted'>, detail='N(3, 5): stated 10, found 11')
    """
    for value in (stated, found):
        if isinstance(value, (float, complex, arb)):
            raise TypeError(f"{what}: {value!r} is not exact")
    verdict = Verdict.PROVED if stated == found else Verdict.REFUTED
    return Finding(verdict, f"{what}: stated {_short(stated)}, found {_short(found)}")


def at_most(what: str, found: int | Fraction, limit: int | Fraction) -> Finding:
    """Whether found <= limit for exact numbers: proved or refuted.

    Examples
    --------
    >>> at_most("rank", 3, 3).verdict.value
    'proved'
    """
    verdict = Verdict.PROVED if found <= limit else Verdict.REFUTED
    return Finding(verdict, f"{what}: stated at most {_short(limit)}, found {_short(found)}")


def at_least(what: str, found: int | Fraction, limit: int | Fraction) -> Finding:
    """Whether found >= limit for exact numbers: proved or refuted.

    Examples
    --------
    >>> at_least("distance", 2, 3).detail
    'distance: stated at least 3, found 2'
    """
    verdict = Verdict.PROVED if found >= limit else Verdict.REFUTED
    return Finding(verdict, f"{what}: stated at least {_short(limit)}, found {_short(found)}")


def balls_agree(what: str, stated: arb, found: arb, digits: int) -> Finding:
    """Whether two balls enclose the same number, as far as they tell.

    Parameters
    ----------
    what : str
    stated, found : arb
    digits : int
        They agree if no two of their points differ by more than 10^-digits,
        relative to found unless found may be zero.

    Returns
    -------
    Finding
        Refuted if the balls are disjoint, proved if they agree, else undecided.

    Examples
    --------
    >>> balls_agree("x", arb(1), arb(1, 1e-9), 12).verdict.value
    'undecided'
    """
    detail = f"{what}: stated {stated.str(20)}, found {found.str(20)}, {digits} digits"
    if not (stated.is_finite() and found.is_finite()):
        return Finding(Verdict.UNDECIDED, detail)
    if not stated.overlaps(found):
        return Finding(Verdict.REFUTED, detail)
    allowed = arb(10) ** -digits
    size = found.abs_lower()
    if size > 0:
        allowed = allowed * size
    spread = (stated - found).abs_upper()
    return Finding(Verdict.PROVED if spread <= allowed else Verdict.UNDECIDED, detail)


def ball_at_most(what: str, found: arb, limit: arb) -> Finding:
    """Whether found <= limit for balls: undecided where they overlap.

    Examples
    --------
    >>> ball_at_most("x", arb(1, 0.1), arb(1)).verdict.value
    'undecided'
    """
    detail = f"{what}: stated at most {limit.str(20)}, found {found.str(20)}"
    if found <= limit:
        return Finding(Verdict.PROVED, detail)
    return Finding(Verdict.REFUTED if found > limit else Verdict.UNDECIDED, detail)


def within_sigmas(what: str, stated: float, mean: float, std_error: float) -> Finding:
    """Whether a sample mean fits the stated one: consistent or refuted.

    Parameters
    ----------
    what : str
    stated : float
    mean, std_error : float
        Of the sample. A sample without spread decides nothing.

    Examples
    --------
    >>> within_sigmas("mean", 0.5, 0.503, 0.001).verdict.value
    'consistent'
    """
    detail = (
        f"{what}: stated {stated:.10g}, found {mean:.10g} +- {std_error:.2g} "
        f"({SIGMAS:g} standard errors allowed)"
    )
    if not std_error > 0:
        return Finding(Verdict.UNDECIDED, detail)
    fits = abs(mean - stated) <= SIGMAS * std_error
    return Finding(Verdict.CONSISTENT if fits else Verdict.REFUTED, detail)


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text)} characters)"
