"""H3: the coefficients and energies of the sign, by expanding P_l in powers of t."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb, prod

from flint import arb

from boundcheck.harmonics import (
    PiFraction,
    density_constant,
    energy,
    energy_ratio,
    energy_series,
    sign_coefficient,
)
from proofs_numeric import exact, integrals
from proofs_numeric.claim import BITS, Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, balls_agree, equal


@dataclass(frozen=True, slots=True)
class Statement:
    """lambda_l(D) and E_l(D) exactly, E_{l+2}/E_l, and E_l for l = 1, 3, ... in balls."""

    coefficient: Callable[[int, int], PiFraction]
    energy: Callable[[int, int], PiFraction]
    ratio: Callable[[int, int], Fraction]
    series: Callable[[int, int], list[arb]]


#: Energies in print: rational, or over pi^2.
PRINTED = {
    (3, 1): PiFraction(Fraction(3, 4)),
    (3, 3): PiFraction(Fraction(7, 64)),
    (3, 5): PiFraction(Fraction(11, 256)),
    (4, 1): PiFraction(Fraction(64, 9), -2),
} | {(2, l): PiFraction(Fraction(8, l * l), -2) for l in range(1, 12, 2)}


def coefficient_integral(D: int, degree: int) -> arb:
    """E[sign(t) P_l(t)] by integration over the half sphere."""
    end = integrals.quarter_turn()
    p = integrals.of_sine(exact.legendre(D, degree))
    above = integrals.sphere_integral(D, p, arb(0), end)
    return above - integrals.sphere_integral(D, p, -end, arb(0))


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Printed values, balls, then all degrees exactly in units of c_D and c_D^2."""
    for (D, l), value in PRINTED.items():
        yield equal(f"E_{l}({D}) in print", stated.energy(D, l), value)
    for D in (2, 3, 4, 5, 8, 64) if effort == "quick" else (*range(2, 20), 64, 127, 128):
        for l in range(6 if effort == "quick" else 20):
            what = f"lambda_{l}, D={D}, integrated"
            yield balls_agree(what, stated.coefficient(D, l).ball(), coefficient_integral(D, l), 30)
    dimensions = (*range(2, 17), 63, 64) if effort == "quick" else (*range(2, 40), 64, 128, 1024)
    most = 21 if effort == "quick" else 61
    for D in dimensions:
        c = density_constant(D)
        series = stated.series(D, (most + 1) // 2)
        for l in range(most + 1):
            found = c * exact.sign_coefficient(D, l)
            yield _equal(f"lambda_{l}, D={D}", stated.coefficient(D, l), found)
            found = c * c * exact.sign_energy(D, l)
            yield _equal(f"E_{l}({D})", stated.energy(D, l), found)
            if l % 2:
                yield balls_agree(f"E_{l}({D}) in balls", series[l // 2], found.ball(), 30)
                ratio = exact.sign_energy(D, l + 2) / exact.sign_energy(D, l)
                yield equal(f"E_{l + 2}/E_{l}, D={D}", stated.ratio(D, l), ratio)


def _equal(what: str, stated: PiFraction, found: PiFraction) -> Finding:
    # Zero has no power of pi of its own.
    if not stated.coefficient and not found.coefficient:
        return equal(what, 0, 0)
    return equal(what, stated, found)


def _series(D: int, count: int) -> list[arb]:
    series = energy_series(D, BITS)
    series.extend(count)
    return series.energies[:count]


STATED = Statement(sign_coefficient, energy, lambda D, l: Fraction(*energy_ratio(D, l)), _series)

CLAIM = Claim(
    id="H3",
    words="coefficients lambda_l and energies E_l of the sign",
    latex=(
        r"\lambda_1 = \frac{2 c_D}{D-1},\quad \lambda_{l+2} = -\frac{l}{l+D}\lambda_l,\quad"
        r" \lambda_l = 0 \text{ for even } l,\quad E_l(D) = N(D,l)\lambda_l^2"
    ),
    source=Source("explicit", "H2 at tau = 0"),
    evidence=("exact rational", "ball arithmetic"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "energies too large: all homogeneous polynomials counted for N(D, l)",
            replace(
                STATED,
                energy=lambda D, l: (
                    sign_coefficient(D, l) * sign_coefficient(D, l) * comb(D + l - 1, l)
                ),
            ),
        ),
        Mutation(
            "coefficients too large: l/(l+D-1) for l/(l+D)",
            replace(
                STATED,
                coefficient=lambda D, l: (
                    sign_coefficient(D, l)
                    * prod((Fraction(k + D, k + D - 1) for k in range(1, l, 2)), start=Fraction(1))
                ),
            ),
        ),
        Mutation(
            "energies in balls too large: shifted by one degree",
            replace(STATED, series=lambda D, count: [arb(1), *_series(D, count)]),
        ),
        Mutation(
            "energies that decay too slowly: D left out of the ratio's denominator once",
            replace(
                STATED,
                ratio=lambda D, l: Fraction(*energy_ratio(D, l)) * Fraction(l + D, l),
            ),
        ),
    ),
)
