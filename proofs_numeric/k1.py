"""K1: the correlation of two signs, by a Gaussian integral and degree by degree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import acb, arb

from boundcheck.balls import ball
from proofs_numeric import exact, integrals
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, balls_agree


@dataclass(frozen=True, slots=True)
class Statement:
    """E[sign<k, x> sign<k', x>] as a function of the angle arcsin<k, k'>."""

    correlation: Callable[[acb], acb]


def gaussian_correlation(rho: Fraction) -> arb:
    """E[sign(g) sign(rho g + sqrt(1-rho^2) g')], |rho| < 1, in two dimensions.

    The direction of a normal vector is uniform, so this is the mean for x uniform on a
    sphere of any dimension, k and k' unit vectors with <k, k'> = rho. Over g' it is
    E[sign(g) erf(c g)] with c = rho / sqrt(2 (1-rho^2)).
    """
    r = ball(rho)
    c = acb(r / (2 * (1 - r * r)).sqrt())
    end = arb(20)
    inside = integrals.real_integral(lambda g: (-g * g / 2).exp() * (c * g).erf(), arb(0), end)
    # Beyond the end erf lies in [-1, 1].
    rest = arb(0, (end / arb(2).sqrt()).erfc().upper())
    return 2 * inside / (2 * arb.pi()).sqrt() + rest


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Values by the Gaussian integral; coefficients lambda_l^2 (H5 twice) for each D."""
    for numerator in range(-9, 10) if effort == "quick" else range(-99, 100):
        rho = Fraction(numerator, 10 if effort == "quick" else 100)
        value = stated.correlation(acb(ball(rho).asin())).real
        yield balls_agree(f"correlation at {rho}", value, gaussian_correlation(rho), 40)
    end = integrals.quarter_turn()
    for D in (2, 3, 4, 5, 8) if effort == "quick" else range(2, 17):
        constant = integrals.density_constant(D)
        for l in range(8 if effort == "quick" else 30):
            coefficient = integrals.sphere_integral(D, _product(stated, D, l), -end, end)
            found = (constant * ball(exact.sign_coefficient(D, l))) ** 2
            yield balls_agree(f"coefficient of degree {l}, D={D}", coefficient, found, 40)


def _product(stated: Statement, D: int, degree: int) -> Callable[[acb], acb]:
    p = integrals.of_sine(exact.legendre(D, degree))
    return lambda angle: stated.correlation(angle) * p(angle)


CLAIM = Claim(
    id="K1",
    words="correlation of the signs along two directions",
    latex=(
        r"\mathbb{E}[\operatorname{sign}\langle k,x\rangle \operatorname{sign}\langle k',x\rangle]"
        r" = \tfrac{2}{\pi}\arcsin\langle k,k'\rangle"
    ),
    source=Source("classical", "Sheppard's formula"),
    evidence=("ball arithmetic",),
    statement=Statement(lambda angle: 2 * angle / acb.pi()),
    check=check,
    mutations=(
        Mutation(
            "the arcsine dropped",
            Statement(lambda angle: 2 * angle.sin() / acb.pi()),
        ),
        Mutation(
            "too large: scaled to its slope at zero in high dimension",
            Statement(lambda angle: 2 * angle / 3),
        ),
    ),
)
