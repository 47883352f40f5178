"""The numbers inside a certificate: odd degrees one by one, and the tail after them.

Everything is rounded to the side on which the claim stays true, in units of
2^-bits. Energies are exact rationals times a power of pi; 1/pi^2 and large
powers come from ball arithmetic, with flint loaded where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from boundcheck.capacity import Capacity
from boundcheck.errors import UndecidedError
from boundcheck.formatting import digits
from boundcheck.harmonics import energy, energy_ratio, harmonic_dimension
from boundcheck.values import Direction

Certificate = dict[str, Any]
Watch = Callable[[int, int | None], None]

#: A certificate lists at most this many degrees.
MAX_TERMS = 2**13
#: Binary digits beyond those shown, to round them rightly.
GUARD_BITS = 96
#: Powers of rationals that fit into so many bits are exact: they may need no rounding.
EXACT_BITS = 2**14


def unwatched(done: int, total: int | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Degree:
    """One odd degree: N, one head's m, and E_l in units of 2^-bits, rounded to the safe side."""

    degree: int
    dimension: int
    capacity: int
    energy: int

    def term(self, taken: int, bits: int) -> Certificate:
        return {
            "degree": self.degree,
            "dimension": digits(self.dimension),
            "capacity": digits(self.capacity),
            "energy": _dyadic(self.energy, bits),
            "taken": _dyadic(taken, bits),
        }


def _dyadic(n: int, bits: int) -> str:
    return f"{digits(n)}/2^{bits}"


def degrees(
    capacity: Capacity, bits: int, direction: Direction, watch: Watch = unwatched
) -> Iterator[Degree]:
    """The odd degrees; energies rounded up for a lower bound, down for an upper one.

    Raises
    ------
    UndecidedError
        For more than MAX_TERMS degrees.
    """
    first = energy(capacity.D, 1)
    coefficient, up = first.coefficient, direction == "lower"
    low, high = _pi_power(first.power, bits + GUARD_BITS)
    for l in range(1, 2 * MAX_TERMS, 2):
        # Both ends give the same integer unless one lies between them.
        ends = {_rounded(coefficient * end * 2**bits, up) for end in (low, high)}
        if len(ends) > 1:
            raise UndecidedError(f"energy {l} is too close to a multiple of 2^-{bits}")
        yield Degree(l, harmonic_dimension(capacity.D, l), capacity(l), ends.pop())
        watch(l // 2 + 1, None)
        coefficient *= Fraction(*energy_ratio(capacity.D, l))
    raise UndecidedError(f"no certificate with {MAX_TERMS} odd degrees")


def _pi_power(power: int, bits: int) -> tuple[Fraction, Fraction]:
    from flint import arb

    from boundcheck.balls import enclosure, working_precision

    with working_precision(bits):
        found = enclosure(arb.pi() ** power)
    return found.lo, found.hi


def _rounded(x: Fraction, up: bool) -> int:
    return -(-x.numerator // x.denominator) if up else x.numerator // x.denominator


def excluding_terms(
    found: Iterator[Degree],
    capacity: Capacity,
    heads: int,
    eps: Fraction,
    skip: bool,
    bits: int,
) -> Certificate | None:
    """Terms and tail by which what is left of the energy 1 exceeds 2 eps; None at too few bits."""
    left, goal = 1 << bits, 2 * eps * 2**bits
    terms: list[Certificate] = []
    for l in found:
        reach = heads * l.capacity
        # The tail takes at least its first term.
        if l.degree > 1 and left - l.energy * Fraction(reach, l.dimension) > goal:
            start = tail_start(capacity, l.degree)
            tail = _rounded(start * 2**bits, True) if start is not None else 0
            taken = -(-l.energy * reach * tail // (l.dimension << bits))
            if tail and left - taken > goal:
                terms.append(l.term(taken, bits))
                return {
                    "sphere": capacity.D,
                    "bits": bits,
                    "terms": terms,
                    "tail": _dyadic(tail, bits),
                    "error": _dyadic(left - taken, bits + 1),
                }
        if skip and l.degree == 1:
            reach = l.dimension
        taken = -(-l.energy * min(reach, l.dimension) // l.dimension)
        left -= taken
        if left <= goal:
            break
        terms.append(l.term(taken, bits))
    return None


def tail_start(capacity: Capacity, degree: int) -> Fraction | None:
    """The least A(s) for which A(l) u_l - A(l+2) u_{l+2} >= u_l from s = ``degree`` on.

    u_l = E_l m(l)/N(D,l) and A(l) = A(s) + (l-s)/(2(D-r)), whose slope is that
    of the true sum u_l + u_{l+2} + ... over u_l for large l. Times a common
    denominator the claim is about a polynomial of degree 7 in l, shown by its
    forward differences at s; None where they do not show it.

    Examples
    --------
    D = 3, r = 1, scalar: u_l = lambda_l^2, and these add up to A(s) u_s or less.

    >>> start = tail_start(Capacity(3, 1, 1, 0, 0), 3)
    >>> from boundcheck.harmonics import sign_coefficient
    >>> u = [sign_coefficient(3, l).coefficient ** 2 for l in range(3, 99, 2)]
    >>> 1.48 < float(sum(u) / u[0]) < float(start) < 1.51
    True
    """
    D, r = capacity.D, capacity.r
    slope = Fraction(1, 2 * (D - r))
    constant, falling, rising = [], [], []
    for l in range(degree, degree + 16, 2):
        # u_{l+2}/u_l = f/g
        f = l**2 * (l + r - 1) * (l + r - 2) * capacity.over_ridge(l + 2)[0]
        g = (l + D) ** 2 * (l + 1) * (l + 2) * capacity.over_ridge(l)[0]
        x = l - degree
        constant.append(g)
        falling.append(g - f)
        rising.append(x * g - (x + 2) * f)
    start = Fraction(0)
    for a, b, c in zip(*map(_differences, (falling, rising, constant)), strict=True):
        # A(s) a + slope b >= c
        if a > 0:
            start = max(start, (c - slope * b) / a)
        elif a < 0 or slope * b < c:
            return None
    return start


def _differences(values: list[int]) -> list[int]:
    first = []
    while values:
        first.append(values[0])
        values = [after - before for before, after in pairwise(values)]
    return first


def reaching_terms(
    found: Iterator[Degree], r: int, heads: int, eps: Fraction, bits: int
) -> Certificate | None:
    """Terms by which what is left of the energy 1 is below 2 eps; None at too few bits."""
    left, goal = 1 << bits, 2 * eps * 2**bits
    terms: list[Certificate] = []
    for l in found:
        if r == 1:
            taken = l.energy * min(heads * l.capacity, l.dimension) // l.dimension
        else:
            share = (1 << bits) - _missed(l.dimension - l.capacity, l.dimension, heads, bits)
            taken = l.energy * share >> bits
        left -= taken
        terms.append(l.term(taken, bits))
        if left < goal and len(terms) > 1:
            return {"bits": bits, "terms": terms, "error": _dyadic(left, bits + 1)}
    return None


def _missed(above: int, below: int, heads: int, bits: int) -> int:
    """(above/below)^heads in units of 2^-bits, rounded up; 0 for above <= 0."""
    from flint import arb

    from boundcheck.balls import working_precision

    if above <= 0:
        return 0
    if heads * below.bit_length() <= EXACT_BITS:
        return int(-(-(above**heads << bits) // below**heads))
    with working_precision(bits + GUARD_BITS + 2 * heads.bit_length()):
        missed = (((arb(above) / below).log() * heads).exp() * 2**bits).ceil().unique_fmpz()
    if missed is None:
        raise UndecidedError(f"({above}/{below})^{heads} is too close to a multiple of 2^-{bits}")
    return int(missed)
