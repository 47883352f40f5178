"""H2: the coefficients of a step at tau, for every tau by differentiating in it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from flint import arb, arb_poly, fmpq, fmpq_poly

from boundcheck.balls import ball
from boundcheck.harmonics import PiFraction, density_constant
from proofs_numeric import exact, integrals
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, balls_agree, equal


@dataclass(frozen=True, slots=True)
class Statement:
    """E[sign(t - tau) P_l(t)] = c_D (1 - tau^2)^exponent polynomial(tau)."""

    constant: Callable[[int], PiFraction]
    exponent: Callable[[int], Fraction]
    polynomial: Callable[[int, int], fmpq_poly]


def integral(D: int, degree: int, tau: arb) -> arb:
    """E[sign(t - tau) P_l(t)] by integration over both sides of the step."""
    step, end = tau.asin(), integrals.quarter_turn()
    p = integrals.of_sine(exact.legendre(D, degree))
    above = integrals.sphere_integral(D, p, step, end)
    return above - integrals.sphere_integral(D, p, -end, step)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Integrals at some tau; then the identity for all tau by its derivative.

    d/dtau of the left side is -2 c_D (1-tau^2)^{(D-3)/2} P_l(tau); of the right
    side c_D (1-tau^2)^{e-1} [(1-tau^2) q' - 2 e tau q]. Both sides vanish at
    tau = 1.
    """
    dimensions = (2, 3, 4, 5, 8) if effort == "quick" else (2, 3, 4, 5, 6, 7, 8, 16, 33, 64)
    degrees = (1, 2, 3, 6) if effort == "quick" else range(1, 25)
    for D in dimensions:
        constant = stated.constant(D).ball()
        yield balls_agree(f"c_{D}", constant, integrals.density_constant(D), 40)
        for l in degrees:
            for tau in (Fraction(-3, 5), Fraction(1, 7), Fraction(0)):
                t = ball(tau)
                value = constant * (1 - t * t) ** ball(stated.exponent(D))
                value *= arb_poly(stated.polynomial(D, l))(t)
                what = f"E[sign(t - {tau}) P_{l}(t)], D={D}"
                yield balls_agree(what, value, integral(D, l, t), 40)
    for D in range(2, 12 if effort == "quick" else 40):
        exponent = stated.exponent(D)
        yield equal(f"exponent of the derivative, D={D}", exponent - 1, Fraction(D - 3, 2))
        for l in range(1, 12 if effort == "quick" else 40):
            p, q = exact.legendre(D, l), stated.polynomial(D, l)
            slope = (1 - exact.T**2) * q.derivative() - 2 * exact.rational(exponent) * exact.T * q
            yield equal(f"derivative in tau, D={D}, l={l}", slope, -2 * p)
            yield equal(f"E P_{l}(t), D={D}", fmpq(0), exact.expectation(D, p))


STATED = Statement(
    density_constant,
    lambda D: Fraction(D - 1, 2),
    lambda D, l: fmpq(2, D - 1) * exact.legendre(D + 2, l - 1),
)

CLAIM = Claim(
    id="H2",
    words="harmonic coefficients of a step at any tau",
    latex=(
        r"\mathbb{E}[\operatorname{sign}(t-\tau) P_l(t)] ="
        r" \frac{2 c_D}{D-1} (1-\tau^2)^{(D-1)/2} P_{l-1}^{[D+2]}(\tau),"
        r" \qquad |\tau|<1,\ l\ge 1"
    ),
    source=Source("explicit", "Rodrigues' formula, integrated once"),
    evidence=("symbolic identity", "ball arithmetic"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "the Legendre polynomial taken in dimension D instead of D+2",
            replace(STATED, polynomial=lambda D, l: fmpq(2, D - 1) * exact.legendre(D, l - 1)),
        ),
        Mutation(
            "too large: half a power of 1-tau^2 left out",
            replace(STATED, exponent=lambda D: Fraction(D - 2, 2)),
        ),
        Mutation(
            "too large: divided by D-2 instead of D-1",
            replace(
                STATED,
                polynomial=lambda D, l: fmpq(2, max(1, D - 2)) * exact.legendre(D + 2, l - 1),
            ),
        ),
    ),
)
