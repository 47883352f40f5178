"""K2: how well one rank-one head agrees with the target, by an integral over y."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from flint import acb, acb_poly, arb, fmpq

from boundcheck.balls import ball
from boundcheck.harmonics import PiFraction, harmonic_dimension, sign_coefficient
from proofs_numeric import exact, integrals
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, balls_agree, equal

#: The last degree summed, and the digits that the sum then has in each dimension.
_LAST = 301
_DIGITS = {3: 4, 4: 5, 5: 6, 6: 7, 8: 8, 10: 9, 12: 10}


@dataclass(frozen=True, slots=True)
class Statement:
    """The coefficient of P_l(<q, k>) in E[sign<x,y> sign<k,x> sign<q,y>], for (D, l)."""

    coefficient: Callable[[int, int], PiFraction]


def series(stated: Statement, D: int, t: Fraction) -> arb:
    """The stated sum at <q, k> = t: the degrees up to the last, and a ball for the rest."""
    total = arb(0)
    energies = arb(0)
    for l, p in enumerate(_legendre_values(D, t)):
        if l % 2:
            total += stated.coefficient(D, l).ball() * arb(p)
            energies += _energy(D, l)
    # |P_l| <= 1 and |lambda_l| falls, so the rest is at most |lambda| at the next degree
    # times the energies left, which are one less those summed (H4).
    rest = abs(sign_coefficient(D, _LAST + 2).ball()) * (1 - energies)
    return total + arb(0, rest.abs_upper())


@cache
def _legendre_values(D: int, t: Fraction) -> list[fmpq]:
    """P_l(t) up to the last degree, exact, by the recurrence with t P_l."""
    x = exact.rational(t)
    values = [fmpq(1), x]
    for l in range(1, _LAST):
        values.append(((2 * l + D - 2) * x * values[-1] - l * values[-2]) / (l + D - 2))
    return values


@cache
def _energy(D: int, degree: int) -> arb:
    return (sign_coefficient(D, degree) * sign_coefficient(D, degree)).ball() * harmonic_dimension(
        D, degree
    )


def mean_by_integration(D: int, t: Fraction) -> arb:
    """E_y[(2/pi) arcsin<k, y> sign<q, y>] for <q, k> = t in (0, 1], which is the mean by K1.

    With y = sin(theta) k + cos(theta) w, w on the sphere across k, the sign of <q, y> is
    that of u + w_1, u = tan(theta) tan(tau), t = sin(tau): its mean over w is G(u), the
    mass between -u and u of one coordinate of w, which is one from |u| = 1 on.
    """
    quarter = integrals.quarter_turn()
    tau = ball(t).asin() if t < 1 else quarter
    edge = quarter - tau if t < 1 else arb(0)
    outer = integrals.sphere_integral(D, lambda theta: theta, edge, quarter)
    if t == 1:
        return 2 * outer / quarter
    slope = acb(tau.tan())
    mass = _central_mass(D - 1)
    # G has a root singularity at the edge; the last piece is bounded instead: theta G
    # cos^{D-2} is less than pi/2.
    margin = arb(2) ** -100
    inner = integrals.sphere_integral(
        D, lambda theta: theta * mass(theta.tan() * slope), arb(0), edge - margin
    )
    rest = arb(0, (margin * quarter * integrals.density_constant(D)).upper())
    return 2 * (outer + inner + rest) / quarter


def _central_mass(n: int) -> Callable[[acb], acb]:
    """P(|w_1| <= u) for w uniform on S^{n-1}, analytic in |u| < 1, refused elsewhere."""
    if n % 2:
        # The density is a polynomial.
        density = (1 - exact.T**2) ** ((n - 3) // 2)
        antiderivative = density.integral()
        p = acb_poly(antiderivative / antiderivative(1))
        return lambda u: p(u)

    def mass(u: acb) -> acb:
        if not abs(u) < 1:
            return acb("nan")
        angle = u.asin()
        if n == 4:
            angle += u * (1 - u * u).sqrt()
        return 2 * angle / acb.pi()

    if n not in (2, 4):
        raise ValueError("written out for odd n and for n = 2, 4")
    return mass


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The sum over degrees against the integral, for several <q, k>."""
    dimensions = (3, 4, 5, 8) if effort == "quick" else tuple(_DIGITS)
    points = (3, 16, 20) if effort == "quick" else range(1, 21)
    for D in dimensions:
        for t in (Fraction(point, 20) for point in points):
            value = series(stated, D, t)
            p = exact.legendre(D, 21)(exact.rational(t))
            yield equal(f"P_21({t}) by its recurrence, D={D}", _legendre_values(D, t)[21], p)
            what = f"mean of the three signs at <q, k> = {t}, D={D}"
            yield balls_agree(what, value, mean_by_integration(D, t), _DIGITS[D])


def _stated(D: int, degree: int) -> PiFraction:
    """lambda_l^3 N(D, l)."""
    coefficient = sign_coefficient(D, degree)
    return coefficient * coefficient * coefficient * harmonic_dimension(D, degree)


CLAIM = Claim(
    id="K2",
    words="agreement of a rank-one head with the target",
    latex=(
        r"\mathbb{E}[\operatorname{sign}\langle x,y\rangle \operatorname{sign}\langle k,x\rangle"
        r" \operatorname{sign}\langle q,y\rangle]"
        r" = \sum_l \lambda_l^3 N(D,l) P_l(\langle q,k\rangle)"
    ),
    source=Source("explicit", "H5 three times"),
    evidence=("ball arithmetic",),
    statement=Statement(_stated),
    check=check,
    mutations=(
        Mutation(
            "agreement too large: the signs of the coefficients dropped",
            Statement(lambda D, l: _stated(D, l) * (-1) ** (l // 2)),
        ),
        Mutation(
            "agreement too large: the energies in place of lambda_l^3 N(D, l)",
            Statement(
                lambda D, l: (
                    sign_coefficient(D, l) * sign_coefficient(D, l) * harmonic_dimension(D, l)
                )
            ),
        ),
        Mutation(
            "the first degree alone",
            Statement(lambda D, l: _stated(D, l) * (l == 1)),
        ),
    ),
)
