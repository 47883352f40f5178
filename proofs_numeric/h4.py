"""H4: the energies of all degrees add up to one, with the infinite tail enclosed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import comb

from flint import arb, fmpq, fmpq_poly

from boundcheck.harmonics import PiFraction, energy, energy_series, sign_coefficient
from proofs_numeric.claim import BITS, Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, balls_agree, equal
from proofs_numeric.telescoping import tail_factors

#: Terms of the enclosure of the tail.
_TERMS = 10


@dataclass(frozen=True, slots=True)
class Statement:
    """E_l(D) for odd l, their sum, and the tails from each odd degree on in balls."""

    energy: Callable[[int, int], PiFraction]
    total: Fraction
    tail: Callable[[int, int], arb]


@cache
def energy_ratio(D: int) -> tuple[fmpq_poly, fmpq_poly]:
    """E_{l+2} / E_l as polynomials in l, above and below: H1 and H3 written out."""
    l = fmpq_poly([0, 1])
    above = l**2 * (2 * l + D + 2) * (l + D - 1) * (l + D - 2)
    below = (l + D) ** 2 * (2 * l + D - 2) * (l + 1) * (l + 2)
    return above, below


@cache
def _factors(D: int) -> tuple[fmpq, fmpq]:
    return tail_factors(*energy_ratio(D), _first(D), _TERMS)


def _first(D: int) -> int:
    """The degree from which the tail is enclosed; a series in D/l gives its bounds."""
    return max(801, 16 * D + 1)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """A finite sum plus an enclosure of the rest that does not use Parseval.

    The rest is enclosed by telescoping sums, valid for all degrees because the
    ratio of two energies is one rational function of l.
    """
    for D in (2, 3, 4, 5, 8, 16, 64) if effort == "quick" else (*range(2, 33), 64, 96, 128):
        first = _first(D)
        above, below = energy_ratio(D)
        values = [stated.energy(D, l) for l in range(1, first + 1, 2)]
        for l in (1, 3, 5, 21, first - 2):
            ratio = fmpq(*_ratio(values[l // 2 + 1], values[l // 2]))
            yield equal(f"E_{l + 2}/E_{l}, D={D}", ratio, above(l) / below(l))
        power = arb.pi() ** values[0].power
        terms = [arb(fmpq(*value.coefficient.as_integer_ratio())) * power for value in values]
        lo, hi = _factors(D)
        tail = arb(lo).union(arb(hi)) * terms[-1]
        checked = {1, 3, 5, 11, 51, 201, 601}
        for l in range(first - 2, 0, -2):
            tail += terms[l // 2]
            if l in checked:
                yield balls_agree(f"tail from {l}, D={D}", stated.tail(D, l), tail, 12)
        yield balls_agree(f"sum of E_l, D={D}", arb(fmpq(*_parts(stated.total))), tail, 12)


def _parts(x: Fraction) -> tuple[int, int]:
    return x.numerator, x.denominator


def _ratio(a: PiFraction, b: PiFraction) -> tuple[int, int]:
    assert a.power == b.power
    return _parts(a.coefficient / b.coefficient)


def _tail(D: int, degree: int) -> arb:
    series = energy_series(D, BITS)
    series.extend(degree // 2 + 1)
    return series.tails[degree // 2]


STATED = Statement(energy, Fraction(1), _tail)

CLAIM = Claim(
    id="H4",
    words="the energies of the sign add up to 1 (Parseval)",
    latex=(
        r"\sum_{l \text{ odd}} E_l(D) = 1,\qquad"
        r" \sum_{l \ge L \text{ odd}} E_l(D) = 1 - \sum_{l < L \text{ odd}} E_l(D)"
    ),
    source=Source("classical", "Parseval's identity for the sign"),
    evidence=("ball arithmetic", "exact rational"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "tails too small: they leave out the degree they start at",
            replace(STATED, tail=lambda D, l: _tail(D, l + 2)),
        ),
        Mutation(
            "tails cut after 4000 degrees",
            replace(STATED, tail=lambda D, l: _tail(D, l) - _tail(D, 4001)),
        ),
        Mutation(
            "energies too large by a factor 1 + 10^-9",
            replace(STATED, energy=lambda D, l: energy(D, l) * Fraction(10**9 + 1, 10**9)),
        ),
        Mutation(
            "a total above one",
            replace(STATED, total=Fraction(10**10 + 1, 10**10)),
        ),
        Mutation(
            "energies too large: all homogeneous polynomials counted for N(D, l)",
            replace(
                STATED,
                energy=lambda D, l: (
                    sign_coefficient(D, l) * sign_coefficient(D, l) * comb(D + l - 1, l)
                ),
            ),
        ),
    ),
)
