"""U2: one full-rank softmax head, its error integrated in balls."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from flint import acb, arb, fmpq

from boundcheck.balls import ball
from boundcheck.bounds.full_rank import (
    best_value,
    full_rank_softmax_error,
    sufficient_inverse_temperature,
)
from boundcheck.values import Numeric
from proofs_numeric import integrals
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, ball_at_most, balls_agree
from proofs_numeric.harmonic_basis import inner, sphere_point
from proofs_numeric.stated_values import printed, stated_ball
from proofs_numeric.u1 import orthonormal_points


@dataclass(frozen=True, slots=True)
class Statement:
    """Errors for (d, beta), the best value, and a beta that suffices for (d, eps).

    Parameters
    ----------
    error, error_at_best_value, value : callable
        (d, beta): the error with V = I and with the best V = a I, and that a.
    integrand : callable
        Half the squared distance with V = I, of beta |t|.
    sufficient : callable
        (d, eps).
    """

    error: Callable[[int, float], Numeric]
    error_at_best_value: Callable[[int, float], Numeric]
    value: Callable[[int, float], Numeric]
    integrand: Callable[[arb], arb]
    sufficient: Callable[[int, Fraction], Fraction]


def mean_on_half_sphere(d: int, g: Callable[[acb], acb]) -> arb:
    """E g(|t|) over t = <x,e>, g analytic on [0, 1]."""
    whole = integrals.sphere_integral(d, lambda z: g(z.sin()), arb(0), integrals.quarter_turn())
    return 2 * whole


def plain_error(d: int, beta: arb) -> arb:
    """The error with V = I: 1/2 E (1 - tanh(beta |t|/sqrt2))^2."""
    slope = beta / arb(2).sqrt()
    return mean_on_half_sphere(d, lambda t: (1 - (slope * t).tanh()) ** 2) / 2


def errors_with_values(d: int, beta: float) -> tuple[arb, arb]:
    """The error with the best V = a I, and that a.

    The output is (z + x sign<x,y> tanh(u)) a/sqrt2 with u = beta |t|/sqrt2, so the error
    is 1/2 E [(1-a)^2 + (1 - a tanh(u))^2], a quadratic in a.
    """
    slope = arb(beta) / arb(2).sqrt()
    A = mean_on_half_sphere(d, lambda t: (slope * t).tanh())
    B = mean_on_half_sphere(d, lambda t: (slope * t).tanh() ** 2)
    a = (1 + A) / (1 + B)
    return ((1 - a) ** 2 + 1 - 2 * a * A + a * a * B) / 2, a


def _distances(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The squared distance of the head's output to the nearest point, at rational points."""
    rng = Random(37)
    for d in (3, 8):
        for beta in (fmpq(1, 3), fmpq(10)):
            x1, x2 = orthonormal_points(rng, d, 2)
            y = sphere_point(rng, d)
            near, far = sorted((x1, x2), key=lambda x: inner(x, y), reverse=True)
            scores = [(arb(beta) * arb(inner(x, y))).exp() for x in (near, far)]
            share = [score / sum(scores, arb(0)) for score in scores]
            distance = arb(0)
            for a, b in zip(near, far, strict=True):
                distance += (share[0] * arb(a) + share[1] * arb(b) - arb(a)) ** 2
            # sqrt2 |t| = <near - far, y>.
            t = arb(inner(near, y) - inner(far, y)) / arb(2).sqrt()
            what = f"squared distance at one point, d={d}, beta={beta}"
            yield balls_agree(what, 2 * stated.integrand(arb(beta) * t), distance, 40)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The integrand, the integrals, the values in print, and both sides of the asymptotics."""
    yield from _distances(stated, effort)
    cases = [(3, 1.0), (8, 10.0), (8, 0.25), (64, 16.0), (5, 1000.0)]
    if effort == "full":
        cases += [(d, beta) for d in (2, 4, 7, 33, 128, 1024) for beta in (0.125, 2.0, 300.0, 1e5)]
    for d, beta in cases:
        plain = plain_error(d, arb(beta))
        scaled, a = errors_with_values(d, beta)
        where = f"d={d}, beta={beta:g}"
        yield balls_agree(f"error, {where}", stated_ball(stated.error(d, beta)), plain, 8)
        value = stated_ball(stated.error_at_best_value(d, beta))
        yield balls_agree(f"error with the best value, {where}", value, scaled, 8)
        yield balls_agree(f"best value, {where}", stated_ball(stated.value(d, beta)), a, 8)
        if (d, beta) == (8, 10.0):
            yield balls_agree("error in print", printed("0.05508"), plain, 3)
            yield balls_agree("error with the best value in print", printed("0.0531"), scaled, 2)
    # The stated beta suffices; less by the part (d-2)/beta^2 does not.
    for d in (3, 8, 64):
        for eps in (Fraction(1, 10), Fraction(1, 1000)):
            enough, limit = ball(stated.sufficient(d, eps)), ball(eps)
            where = f"d={d}, eps={eps}"
            found = plain_error(d, enough)
            yield ball_at_most(f"error at the sufficient beta, {where}", found, limit)
            less = enough * (1 - (d - 2) / enough**2)
            yield ball_at_most(f"error at a smaller beta, {where}", limit, plain_error(d, less))


_LESS = Fraction(999, 1000)

STATED = Statement(
    full_rank_softmax_error,
    lambda d, beta: full_rank_softmax_error(d, beta, best_value=True),
    best_value,
    lambda u: 1 / (1 + (arb(2).sqrt() * u).exp()) ** 2,
    sufficient_inverse_temperature,
)


def _scaled(x: Numeric, factor: float) -> Numeric:
    return Numeric(factor * x.value, factor * x.error_estimate)


CLAIM = Claim(
    id="U2",
    words="error of one full-rank softmax head, and the inverse temperature that suffices",
    latex=(
        r"\mathbb{E}\|f-g\|^2 = 2\,\mathbb{E}\bigl(1+e^{\sqrt2\beta|t|}\bigr)^{-2}"
        r" \le \frac{4 c_d (\ln 2 - \frac12)}{\sqrt2\,\beta},\ d \ge 3;\quad"
        r" V = aI,\ a = \tfrac{1+A}{1+B}:\ 1 - \tfrac{(1+A)^2}{2(1+B)},\quad"
        r" A = \mathbb{E}\tanh\tfrac{\beta|t|}{\sqrt2},\ "
        r"B = \mathbb{E}\tanh^2\tfrac{\beta|t|}{\sqrt2}"
    ),
    source=Source("explicit", "direct computation with the weights of the two points"),
    evidence=("ball arithmetic",),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "the gap of the scores taken for 2 beta |t|",
            replace(STATED, integrand=lambda u: 1 / (1 + (2 * u).exp()) ** 2),
        ),
        Mutation(
            "the error of a head with 1.001 beta",
            replace(STATED, error=lambda d, beta: full_rank_softmax_error(d, 1.001 * beta)),
        ),
        Mutation(
            "the best value a tenth too small",
            replace(STATED, value=lambda d, beta: _scaled(best_value(d, beta), 0.9)),
        ),
        Mutation(
            "too small by one part in 10^6 with the best value",
            replace(
                STATED,
                error_at_best_value=lambda d, beta: _scaled(
                    full_rank_softmax_error(d, beta, best_value=True), 1 - 1e-6
                ),
            ),
        ),
        Mutation(
            "a sufficient beta too small by one part in 10^3",
            replace(
                STATED,
                sufficient=lambda d, eps: sufficient_inverse_temperature(d, eps) * _LESS,
            ),
        ),
    ),
)
