"""H6: the energies in high dimension, and how near the rough tail formula is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache
from math import comb, factorial

import flint
from flint import arb, fmpq_poly

from boundcheck.balls import ball
from boundcheck.harmonics import PiFraction, tail_estimate
from proofs_numeric import exact
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, ball_at_most, equal


@dataclass(frozen=True, slots=True)
class Statement:
    """Limits of the energies, and an estimate of the tails.

    Parameters
    ----------
    limit : callable
        lim E_l(D) as D grows.
    estimate : callable
        Of the tail from odd l on.
    accuracy : callable
        The relative error of the estimate at D is at most this, for all l.
    low_at, high_at : pair of int
        (D, l) where the estimate lies below the tail, and above it.
    """

    limit: Callable[[int], PiFraction]
    estimate: Callable[[int, int], float]
    accuracy: Callable[[int], Fraction]
    low_at: tuple[int, int]
    high_at: tuple[int, int]


@cache
def hermite(degree: int) -> fmpq_poly:
    """He_l: orthogonal under the standard normal law, leading coefficient 1."""
    if degree == 0:
        return fmpq_poly([1])
    return exact.T * hermite(degree - 1) - hermite(degree - 1).derivative()


def gaussian_energy(degree: int) -> PiFraction:
    """(E sign(g) He_l(g))^2 / l! for odd l, by E|g|^{2m+1} = sqrt(2/pi) 2^m m!.

    Examples
    --------
    >>> print(gaussian_energy(3))
    1/3 * pi^-1
    """
    total = sum(
        int(c) * 2 ** (k // 2) * factorial(k // 2)
        for k, c in enumerate(hermite(degree).coeffs())
        if k % 2
    )
    return PiFraction(Fraction(2 * total**2, factorial(degree)), -1)


def energy(D: int, degree: int) -> arb:
    """E_l(D) for any D, by the moments and Gamma."""
    half = arb(D) / 2
    constant = half.gamma() / ((half - arb(1) / 2).gamma() * arb.pi().sqrt())
    return ball(exact.sign_energy(D, degree)) * constant**2


@cache
def _tails(D: int, most: int, bits: int) -> list[arb]:
    """1 less the energies below l, for l = 1, 3, 5, ... (H4), by the ratio of H1 and H3."""
    term, tails = energy(D, 1), [arb(1)]
    for l in range(1, most, 2):
        tails.append(tails[-1] - term)
        term *= arb(l * l * (2 * l + D + 2) * (l + D - 1) * (l + D - 2))
        term /= arb((l + D) ** 2 * (2 * l + D - 2) * (l + 1) * (l + 2))
    return tails


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Limits against the normal law, and energies against limits at D up to 10^15.

    The limit is shown by its rate, D |E_l(D)/limit - 1| <= l, on that range of
    D; the tail formula from degree 3 to `most` at the dimensions listed.
    """
    for l in range(1, 40, 2):
        yield equal(f"limit of E_{l}", stated.limit(l), gaussian_energy(l))
    for l in range(1, 16 if effort == "quick" else 32, 2):
        for D in (64, 10**3, 10**6, 10**9, 10**12, 10**15):
            deviation = abs(energy(D, l) / stated.limit(l).ball() - 1) * D
            yield ball_at_most(f"D |E_{l}({D}) / limit - 1|", deviation, arb(l))
    dimensions = (3, 64, 100, 1000, 10**5)
    most = 2001 if effort == "quick" else 40001
    if effort == "full":
        dimensions = (3, *range(64, 130), 256, 512, 1024, 4096, 10**5, 10**6)
    for D in dimensions:
        tails = _tails(D, most, flint.ctx.prec)
        accuracy = ball(stated.accuracy(D))
        for l in (*range(3, 200, 2), *range(201, most + 1, 100)):
            deviation = abs(arb(stated.estimate(D, l)) / tails[l // 2] - 1)
            what = f"relative error of the estimate from degree {l}, D={D}"
            yield ball_at_most(what, deviation, accuracy)
    D, l = stated.low_at
    tail = _tails(D, most, flint.ctx.prec)[l // 2]
    yield ball_at_most(f"estimate below the tail from {l}, D={D}", arb(stated.estimate(D, l)), tail)
    D, l = stated.high_at
    tail = _tails(D, most, flint.ctx.prec)[l // 2]
    yield ball_at_most(f"estimate above the tail from {l}, D={D}", tail, arb(stated.estimate(D, l)))


def _arcsine_limit(degree: int) -> PiFraction:
    """(2/pi) [s^l] arcsin(s) for odd l."""
    half = (degree - 1) // 2
    return PiFraction(Fraction(2 * comb(2 * half, half), 4**half * degree), -1)


STATED = Statement(
    limit=_arcsine_limit,
    estimate=tail_estimate,
    accuracy=lambda D: Fraction(15, 1000) if D >= 64 else Fraction(39, 100),
    low_at=(64, 5),
    high_at=(64, 2001),
)

CLAIM = Claim(
    id="H6",
    words="energies as D grows; a rough formula for their tail",
    latex=(
        r"\lim_{D\to\infty} E_l(D) = \tfrac{2}{\pi} [s^l] \arcsin s,\qquad"
        r" \sum_{l' \ge l \text{ odd}} E_{l'}(D) \approx"
        r" \frac{0.508}{\sqrt{(l-1)(1+(l-1)/D)}}"
    ),
    source=Source("explicit", "the limit is the normal law's; the formula is a fit"),
    evidence=("exact rational", "ball arithmetic"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "limits too large: half of the powers of two left out of the arcsine's series",
            replace(STATED, limit=lambda l: _arcsine_limit(l) * 2 ** (l // 2)),
        ),
        Mutation(
            "the estimate taken for a lower bound",
            replace(STATED, low_at=STATED.high_at),
        ),
        Mutation(
            "the estimate taken for an upper bound",
            replace(STATED, high_at=STATED.low_at),
        ),
        Mutation(
            "an accuracy of 1.4 % from D = 64 on",
            replace(
                STATED, accuracy=lambda D: Fraction(14, 1000) if D >= 64 else Fraction(39, 100)
            ),
        ),
        Mutation(
            "an accuracy of 37 % at D = 3",
            replace(
                STATED, accuracy=lambda D: Fraction(15, 1000) if D >= 64 else Fraction(37, 100)
            ),
        ),
    ),
)
