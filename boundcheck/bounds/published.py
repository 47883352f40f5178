"""T5: the published asymptotic forms at stated constants.

The published theorems leave their constants open, so nothing here is
certified. `supported_constants` finds the constants that T1 bears out on a
grid; `closed_form` has the form in which every constant is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from boundcheck.errors import InputError
from boundcheck.problem import Problem
from boundcheck.values import Direction, HeadCount, Kind, Published

if TYPE_CHECKING:
    from flint import arb

#: Working precision where the answer is a float.
_BITS = 128
#: Binary digits carried beyond those of the whole head count.
_GUARD_BITS = 96
#: Halvings of an interval that a float is searched in.
_HALVINGS = 80


def _exact_constant(name: str, value: float) -> Fraction:
    # The decimal that prints the float, as for eps: 0.1 is 1/10.
    if not (math.isfinite(value) and value > 0):
        raise InputError(name, value, "a positive number")
    return Fraction(repr(float(value)))


@dataclass(frozen=True, slots=True)
class _Form:
    """What the published forms have in common: constants, and one layer of heads of rank r."""

    direction: ClassVar[Direction] = "lower"
    kind: ClassVar[Kind] = "published"
    depth: ClassVar[int] = 1
    scores: ClassVar[str] = "any"

    def __post_init__(self) -> None:
        for name, value in self.constants.items():
            _exact_constant(name, value)

    @property
    def constants(self) -> dict[str, float]:
        """The constants by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def rank(self, problem: Problem) -> int:
        """The rank of the heads counted: r."""
        return problem.r


@dataclass(frozen=True, slots=True)
class T5a(_Form):
    """T5a: H >= C 2^{d - (r+1) log2(2d/r)} for eps < c/(d+1) and r <= d-3.

    Parameters
    ----------
    c : float
        Where the regime begins.
    C : float
        The constant hidden in Omega.

    Raises
    ------
    InputError
        If a constant is not positive and finite.

    Examples
    --------
    >>> T5a().heads(Problem.of(64, 4, "0.01"))
    HeadCount(heads=549755813888, reason='asymptotic form, constants c=1, C=1', sharp=True)
    """

    c: float = 1.0
    C: float = 1.0

    id: ClassVar[str] = "T5a"
    name: ClassVar[str] = "published form, high accuracy"

    def why_not(self, problem: Problem) -> str | None:
        """Outside the regime, or where the form stays at or below its constant."""
        d, r = problem.d, problem.r
        if problem.skip:
            return "published for layers without a free A y"
        if r > d - 3:
            return f"needs r <= d-3 = {d - 3}"
        # math.log2 is exact at powers of two, the only case of equality.
        if d <= (r + 1) * math.log2(2 * d / r):
            return "empty unless d > (r+1) log2(2d/r)"
        if problem.eps is not None and problem.eps >= self._regime(d):
            return f"needs eps < c/(d+1) = {self.c:g}/{d + 1}"
        return None

    def error(self, problem: Problem, heads: int) -> Published:
        """c/(d+1) with fewer heads than the form's whole number, 0 from there on.

        At most 1/2, since every question has eps below it.
        """
        excluded = heads < self._floor(problem)
        value = float(min(self._regime(problem.d), Fraction(1, 2))) if excluded else 0.0
        return Published(value, self.constants)

    def heads(self, problem: Problem) -> HeadCount:
        """The form rounded down, exact; it is the same for every eps of the regime."""
        return HeadCount(self._floor(problem), _label(self.constants))

    def _regime(self, d: int) -> Fraction:
        return _exact_constant("c", self.c) / (d + 1)

    def _floor(self, problem: Problem) -> int:
        from flint import fmpz

        # 2^{d - (r+1) log2(2d/r)} = 2^d (r / 2d)^{r+1}, a rational number.
        C, power = _exact_constant("C", self.C), problem.r + 1
        above = fmpz(problem.r) ** power * C.numerator << problem.d
        return int(above // (fmpz(2 * problem.d) ** power * C.denominator))


@dataclass(frozen=True, slots=True)
class T5b(_Form):
    """T5b: H >= factor (d/(r + C/eps))^{C/eps} for d >= 5.

    As eps falls the form first grows and then, beyond its peak, decays; it is
    reported as published, not replaced by its largest value so far.

    Parameters
    ----------
    C : float
        The constant in the exponent.
    factor : float
        The constant hidden in Omega.

    Raises
    ------
    InputError
        If a constant is not positive and finite.

    Examples
    --------
    >>> T5b().heads(Problem.of(64, 4, "1/4"))
    HeadCount(heads=4096, reason='asymptotic form, constants C=1, factor=1', sharp=True)
    """

    C: float = 1.0
    factor: float = 1.0

    id: ClassVar[str] = "T5b"
    name: ClassVar[str] = "published form, high dimension"

    def why_not(self, problem: Problem) -> str | None:
        """Below dimension 5, or where the form stays at or below its constant."""
        if problem.skip:
            return "published for layers without a free A y"
        if problem.d < 5:
            return "needs d >= 5"
        C = _exact_constant("C", self.C)
        if problem.eps is None:
            if problem.d <= problem.r + 2 * C:
                return f"empty for every eps < 1/2 unless d > r + 2C (C={self.C:g})"
        elif problem.d <= problem.r + C / problem.eps:
            return f"empty unless d > r + C/eps (C={self.C:g})"
        return None

    def error(self, problem: Problem, heads: int) -> Published:
        """The largest eps < 1/2 at which the form exceeds ``heads``; 0 if there is none.

        1/2 where it exceeds them as eps approaches 1/2.
        """
        from flint import arb

        from boundcheck.balls import ball, working_precision

        C, factor = _exact_constant("C", self.C), _exact_constant("factor", self.factor)
        d, r = problem.d, problem.r
        with working_precision(_BITS):
            allowed = (arb(heads) / ball(factor)).log() if heads else arb.neg_inf()
            at_half = ball(2 * C)
            if log_form(d, r, at_half) > allowed:
                return Published(0.5, self.constants)
            # Not exceeded at eps = 1/2; later only if the form still rises there.
            crossing = first_crossing(d, r, allowed) if _slope(d, r, at_half) > 0 else None
        return Published(min(0.5, self.C / crossing) if crossing else 0.0, self.constants)

    def heads(self, problem: Problem) -> HeadCount:
        """The form rounded down; within 2^-64 of a whole number counts as that number."""
        from boundcheck.balls import ball, enclosure, working_precision

        exponent = _exact_constant("C", self.C) / problem.target_eps
        factor = _exact_constant("factor", self.factor)
        base = problem.d / (problem.r + exponent)
        size = math.log2(factor) + (float(exponent) * math.log2(base) if base > 1 else 0)
        with working_precision(_GUARD_BITS + max(0, math.ceil(size))):
            form = ball(factor) * ball(base) ** ball(exponent)
            return HeadCount(math.floor(enclosure(form).hi), _label(self.constants))


def _label(constants: dict[str, float]) -> str:
    named = ", ".join(f"{name}={value:g}" for name, value in constants.items())
    return f"asymptotic form, constants {named}"


def log_form(d: int, r: int, u: arb) -> arb:
    """f(u) = u log(d/(r+u)): the logarithm of T5b's form at u = C/eps, factor 1.

    Concave in u, with f(0) = 0.
    """
    return u * (d / (r + u)).log()


def _slope(d: int, r: int, u: arb) -> arb:
    """f'(u); it falls, since f''(u) = -(2r+u)/(r+u)^2."""
    return (d / (r + u)).log() - u / (r + u)


def first_crossing(d: int, r: int, allowed: arb) -> float | None:
    """The largest u with f <= allowed on all of [0, u], f = `log_form`, rounded down.

    Parameters
    ----------
    d, r : int
        r < d.
    allowed : arb
        A ball >= 0, or below 0, which allows u = 0 only.

    Returns
    -------
    float or None
        In [0, d-r); None if f <= allowed for every u. Rigorous, at flint's
        working precision.

    Examples
    --------
    >>> from flint import arb
    >>> round(first_crossing(64, 4, arb(4096).log()), 9)
    4.0
    """
    from flint import arb

    peak = _largest_float(lambda u: _slope(d, r, arb(u)) > 0, float(d - r))
    # Concave: the tangent at a point before the peak lies above f.
    tangent = log_form(d, r, arb(peak)) + _slope(d, r, arb(peak)) * (d - r - arb(peak))
    if tangent <= allowed:
        return None
    return _largest_float(lambda u: log_form(d, r, arb(u)) <= allowed, peak)


def _largest_float(holds: Callable[[float], bool], most: float) -> float:
    """A float in [0, most] at which ``holds``, next to the largest, or 0.

    ``holds`` must be true up to one point and false after it; an undecided
    comparison of balls is false, so the answer errs to the low side.
    """
    low, high = 0.0, most
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if holds(middle):
            low = middle
        else:
            high = middle
    return low
