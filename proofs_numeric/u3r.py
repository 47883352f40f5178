"""U3r: Haar hardmax heads with equal values, from all outcomes of their votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import prod, sqrt

from flint import arb, fmpq, fmpq_poly

from boundcheck.balls import ball
from boundcheck.bounds.haar_heads import advantage_moments, haar_heads_error
from boundcheck.values import Numeric
from proofs_numeric import votes
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, balls_agree, equal, within_sigmas
from proofs_numeric.exact import T
from proofs_numeric.stated_values import printed, stated_ball


@dataclass(frozen=True, slots=True)
class Statement:
    """The error for (d, r, H), b and m for (d, r), and the mean square of votes.

    Parameters
    ----------
    error : callable
        (d, r, H).
    b, m : callable
        (d, r), with the estimate of their errors.
    mean_square : callable
        E (average of H votes)^2 as a polynomial in the advantage, for H.
    """

    error: Callable[[int, int, int], Numeric]
    b: Callable[[int, int], Numeric]
    m: Callable[[int, int], Numeric]
    mean_square: Callable[[int], fmpq_poly]


#: In print, H = 1024 and d = 64.
PRINTED = {1: "0.2227", 4: "0.1840", 16: "0.1563"}


def mean_square_of_votes(heads: int) -> fmpq_poly:
    """E (average of H votes)^2 with advantage T each, over all 2^H outcomes.

    Examples
    --------
    >>> mean_square_of_votes(2)
    1/2*x^2 + 1/2
    """
    total = fmpq_poly()
    for outcome in product((1, -1), repeat=heads):
        weight = prod(((1 + vote * T) / 2 for vote in outcome), start=fmpq_poly([1]))
        total += fmpq(sum(outcome), heads) ** 2 * weight
    return total


def least_error(b: arb, m: arb, heads: int) -> arb:
    """1/2 E (sign<x,y> - A/H sum of votes)^2 at the best A, b and m the advantage's moments.

    With M = E (average)^2 = m + (1-m)/H it is 1/2 (1 - 2 A b + A^2 M), least at A = b/M.
    """
    M = m + (1 - m) / heads
    A = b / M
    return (1 - 2 * A * b + A * A * M) / 2


def moments(d: int, r: int) -> tuple[arb, arb]:
    """b and m in balls, where the advantage has a closed form."""
    return (
        votes.mean_over_advantage(d, r, lambda kappa: kappa),
        votes.mean_over_advantage(d, r, lambda kappa: kappa * kappa),
    )


def _sampled(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """b and m from votes of Haar heads drawn as such; m from pairs of heads."""
    import numpy as np

    rng = np.random.default_rng(43)
    n = 20_000 if effort == "quick" else 150_000
    for d, r in ((4, 2), (8, 3), (16, 4)):
        for what, heads in (("E|kappa|", 1), ("E kappa^2", 2)):
            x, y = votes.sphere_rows(rng, n, d), votes.sphere_rows(rng, n, d)
            total = votes.sampled_votes(rng, d, r, x, y, heads)
            if heads == 1:
                sample, value = total * np.sign((x * y).sum(axis=1)), stated.b(d, r)
            else:  # the product of two votes
                sample, value = total**2 / 2 - 1, stated.m(d, r)
            error = float(sample.std()) / sqrt(n)
            yield within_sigmas(
                f"{what}, d={d}, r={r}, sampled", value.value, float(sample.mean()), error
            )


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The mean square exactly; b and m exactly, in balls and by samples; the error from them."""
    for H in range(1, 7 if effort == "quick" else 12):
        what = f"mean square of {H} votes"
        yield equal(what, stated.mean_square(H), mean_square_of_votes(H))
    closed = [(3, 1), (8, 1), (64, 1), *votes.CLOSED_FORMS]
    if effort == "full":
        closed += [(d, 1) for d in (2, 4, 5, 16, 33, 128, 1000)]
    for d, r in closed:
        b, m = moments(d, r)
        yield balls_agree(f"E|kappa|, d={d}, r={r}", stated_ball(stated.b(d, r)), b, 9)
        yield balls_agree(f"E kappa^2, d={d}, r={r}", stated_ball(stated.m(d, r)), m, 9)
        for H in (1, 64, 1024, 10**9):
            what = f"error at d={d}, r={r}, H={H}"
            yield balls_agree(what, stated_ball(stated.error(d, r, H)), least_error(b, m, H), 9)
            if (d, r, H) == (64, 1, 1024):
                yield balls_agree(f"{what}, in print", printed(PRINTED[1]), least_error(b, m, H), 2)
    for d in (4, 6, 16, 64) if effort == "quick" else (4, 6, 8, 16, 32, 64, 128, 256):
        for r in (r for r in (2, 4, 8, 16, d - 2) if r < d):
            b = ball(votes.mean_advantage(d, r))
            yield balls_agree(f"E|kappa|, d={d}, r={r}", stated_ball(stated.b(d, r)), b, 9)
    yield from _sampled(stated, effort)
    for r in (4, 16):
        kappa, weights = votes.advantage_rule(64, r)
        b, m = arb(float(kappa @ weights)), arb(float(kappa**2 @ weights))
        found, what = float(least_error(b, m, 1024)), f"error at d=64, r={r}, H=1024"
        yield votes.quadrature_agrees(what, stated.error(64, r, 1024).value, found, 1e-10)
        yield votes.quadrature_agrees(f"{what}, in print", float(PRINTED[r]), found, 1e-4)


def _b(d: int, r: int) -> Numeric:
    found = advantage_moments(d, r)
    return Numeric(found.b, abs(found.b - found.coarse_b) + _ROUNDING)


def _m(d: int, r: int) -> Numeric:
    found = advantage_moments(d, r)
    return Numeric(found.m, abs(found.m - found.coarse_m) + _ROUNDING)


_ROUNDING = 2.0**-44


STATED = Statement(haar_heads_error, _b, _m, lambda heads: T**2 + (1 - T**2) / heads)

CLAIM = Claim(
    id="U3r",
    words="error of Haar hardmax heads of rank r with equal values",
    latex=(
        r"\tfrac12\Bigl[1 - \frac{b^2}{m + (1-m)/H}\Bigr],\qquad b = \mathbb{E}|\kappa_r(t)|,\ "
        r"m = \mathbb{E}\kappa_r(t)^2,\ \kappa_r(t) = (2p_r(|t|)-1)\operatorname{sign} t"
    ),
    source=Source("explicit", "mean and variance of independent votes"),
    evidence=("symbolic identity", "exact rational", "ball arithmetic", "statistical"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "the variance of the votes left out",
            replace(STATED, mean_square=lambda heads: T**2),
        ),
        Mutation(
            "two heads more than were drawn",
            replace(STATED, error=lambda d, r, heads: haar_heads_error(d, r, heads + 2)),
        ),
        Mutation(
            "the mean advantage of heads of one rank more",
            replace(STATED, b=lambda d, r: _b(d, min(r + 1, d))),
        ),
        Mutation(
            "the square of the mean for the mean square",
            replace(
                STATED,
                m=lambda d, r: Numeric(_b(d, r).value ** 2, 2 * _b(d, r).error_estimate),
            ),
        ),
    ),
)
