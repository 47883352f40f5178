"""U4: majorities of votes, from all outcomes of few votes to integrals and sampled networks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from math import comb, prod, sqrt

from flint import acb, arb, fmpq, fmpq_poly

from boundcheck.bounds.majority_vote import (
    majority_vote_error,
    majority_vote_error_upper_bound,
    majority_vote_error_upper_bound_closed_form,
)
from boundcheck.values import Enclosure, Numeric
from proofs_numeric import integrals, votes
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, ball_at_most, balls_agree, equal, within_sigmas
from proofs_numeric.exact import T
from proofs_numeric.stated_values import printed, stated_ball


@dataclass(frozen=True, slots=True)
class Statement:
    """What H votes reach, exactly and by the two cruder bounds, and one vote's chances.

    Parameters
    ----------
    error : callable
        (d, r, H, whether ties are averaged).
    wrong : callable
        Half the error given the probability T of a right vote, as a polynomial, for H
        and ties broken by a fixed index.
    right : callable
        p_r(t), for (d, r, t).
    hoeffding : callable
        (d, r, H).
    closed_form : callable
        (d, H), for r = 1.
    """

    error: Callable[[int, int, int, bool], Numeric]
    wrong: Callable[[int], fmpq_poly]
    right: Callable[[int, int, float], float]
    hoeffding: Callable[[int, int, int], Numeric]
    closed_form: Callable[[int, int], Enclosure]


#: (d, r, H) and the error in print.
PRINTED = {(8, 1, 15): "0.50507", (16, 4, 31): "0.24229", (64, 4, 51): "0.39582"}


def wrong_majority(heads: int, tie: Fraction) -> fmpq_poly:
    """P(most votes are wrong) + tie P(as many as not), over all 2^H outcomes."""
    total = fmpq_poly()
    for outcome in product((1, 0), repeat=heads):
        balance = 2 * sum(outcome) - heads
        if balance <= 0:
            share = Fraction(1) if balance < 0 else tie
            weight = prod((T if vote else 1 - T for vote in outcome), start=fmpq_poly([1]))
            total += fmpq(share.numerator, share.denominator) * weight
    return total


def binomial_wrong(heads: int, right: acb) -> acb:
    """P(Bin(H, p) < H/2) + 1/2 P(= H/2)."""
    wrong = 1 - right
    total = sum(
        (comb(heads, k) * right**k * wrong ** (heads - k) for k in range((heads + 1) // 2)),
        acb(0),
    )
    if heads % 2 == 0:
        total += comb(heads, heads // 2) * (right * wrong) ** (heads // 2) / 2
    return total


def exact_error(d: int, r: int, heads: int) -> arb:
    """2 E of the wrong majority, in balls where the advantage has a closed form."""
    return 2 * votes.mean_over_advantage(d, r, lambda kappa: binomial_wrong(heads, (1 + kappa) / 2))


def _outcomes(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Few votes: the polynomial in p over all outcomes; an even H is worth H - 1."""
    for H in range(1, 9 if effort == "quick" else 13):
        found = wrong_majority(H, Fraction(1, 2))
        yield equal(f"wrong majority of {H} votes", stated.wrong(H), found)
        if H % 2 == 0:
            less = wrong_majority(H - 1, Fraction(1, 2))
            yield equal(f"{H} votes against {H - 1}", stated.wrong(H), less)


def _votes(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """p_r(t) by the Beta law in balls, and by votes of Haar heads drawn as such."""
    import numpy as np

    # The library gives floats: their 13 digits or so are compared.
    rounding = arb(0, 1e-12)
    for d, r in ((4, 2), (8, 4), (16, 4), (64, 4), (64, 16)):
        for t in (0.1, 0.5, 0.9):
            found = (1 + votes.advantage_at(d, r, arb(t))) / 2
            what = f"p_{r}({t}), d={d}"
            yield balls_agree(what, arb(stated.right(d, r, t)) + rounding, found, 10)
    for d in (3, 8, 64):
        found = arb(1) / 2 + arb(0.3).asin() / arb.pi()
        yield balls_agree(f"p_1(0.3), d={d}", arb(stated.right(d, 1, 0.3)) + rounding, found, 10)
    rng = np.random.default_rng(47)
    n = 20_000 if effort == "quick" else 150_000
    for d, r, t in ((4, 1, 0.5), (5, 2, 0.3), (8, 3, 0.6), (16, 4, 0.2)):
        x = np.zeros((n, d))
        x[:, 0] = 1.0
        y = t * x
        y[:, 1] = sqrt(1 - t * t)
        right = (1 + votes.sampled_votes(rng, d, r, x, y, 1)) / 2
        error = float(right.std()) / sqrt(n)
        what = f"p_{r}({t}), d={d}, sampled"
        yield within_sigmas(what, stated.right(d, r, t), float(right.mean()), error)


def _networks(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The error of sampled networks, both ways to break ties."""
    import numpy as np

    n = 20_000 if effort == "quick" else 100_000
    for d, r, H, averaged in ((4, 2, 3, False), (4, 2, 4, False), (4, 2, 4, True), (8, 3, 2, True)):
        rng = np.random.default_rng(53 + H)
        frames, _ = np.linalg.qr(rng.standard_normal((n, d, 2)))
        x1, x2, y = frames[:, :, 0], frames[:, :, 1], votes.sphere_rows(rng, n, d)
        balance = votes.sampled_votes(rng, d, r, x1 - x2, y, H)
        # The reading head takes x_1 if most votes are for it, and x_1 or both points at a tie.
        tie = 0.5 if averaged else 1.0
        share = np.where(balance == 0, tie, balance > 0)[:, None]
        nearer = np.where((((x1 - x2) * y).sum(axis=1) > 0)[:, None], x1, x2)
        errors = ((share * x1 + (1 - share) * x2 - nearer) ** 2).sum(axis=1)
        value = stated.error(d, r, H, averaged).value
        what = f"error at d={d}, r={r}, H={H}, ties {'averaged' if averaged else 'fixed'}, sampled"
        yield within_sigmas(what, value, float(errors.mean()), float(errors.std()) / sqrt(n))


def _errors(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The error and the cruder bounds in balls, and what is in print."""
    cases = [(3, 1, 1), (8, 1, 15), (8, 1, 16), (4, 2, 7), (6, 2, 15), (4, 3, 4)]
    if effort == "full":
        cases += [(d, r, H) for d, r in votes.CLOSED_FORMS for H in (1, 2, 31)]
        cases += [(d, 1, H) for d in (2, 4, 5, 16, 64, 1000) for H in (1, 2, 31, 101)]
    for d, r, H in cases:
        found, what = exact_error(d, r, H), f"error at d={d}, r={r}, H={H}"
        yield balls_agree(what, stated_ball(stated.error(d, r, H, False)), found, 9)
        crude = stated_ball(stated.hoeffding(d, r, H))
        yield ball_at_most(f"{what} by Hoeffding", found, crude)
        if (d, r) == (4, 2) or r == 1:
            mean = votes.mean_over_advantage(d, r, _hoeffding(H))
            yield balls_agree(f"Hoeffding's bound, d={d}, r={r}, H={H}", crude, 2 * mean, 9)
        if r == 1:
            closed = stated_ball(stated.closed_form(d, H))
            yield ball_at_most(f"{what} by the closed form", found, closed)
            if d > 2:
                mean = mean_of_gaussian(d, 2 * arb(H) / arb.pi() ** 2)
                yield balls_agree(f"closed form, d={d}, H={H}", closed, 2 * mean, 12)
        if (d, r, H) in PRINTED:
            yield balls_agree(f"{what}, in print", printed(PRINTED[d, r, H]), found, 4)
    for d, r, H in ((16, 4, 31), (64, 4, 51)):
        kappa, weights = votes.advantage_rule(d, r)
        wrong = sum(
            comb(H, k) * ((1 + kappa) / 2) ** k * ((1 - kappa) / 2) ** (H - k)
            for k in range((H + 1) // 2)
        )
        by_rule, what = 2 * float(wrong @ weights), f"error at d={d}, r={r}, H={H}"
        yield votes.quadrature_agrees(what, stated.error(d, r, H, False).value, by_rule, 1e-10)
        in_print = float(PRINTED[d, r, H])
        yield votes.quadrature_agrees(f"{what}, in print", in_print, by_rule, 1e-5)
    # sqrt(2 pi) c_d/sqrt(H) up to the part d/H.
    for d in (3, 8, 64):
        leading = (2 * arb.pi()).sqrt() * integrals.density_constant(d) / arb(10) ** 5
        value = stated_ball(stated.error(d, 1, 10**10, False))
        what = f"error of 10^10 votes by its leading term, d={d}"
        yield balls_agree(what, value, leading * (1 + arb(0, d * 1e-10)), 5)


def _hoeffding(heads: int) -> Callable[[acb], acb]:
    """exp(-2H (p - 1/2)^2), of the advantage 2p - 1."""
    return lambda kappa: (-heads * kappa**2 / 2).exp()


def mean_of_gaussian(d: int, z: arb) -> arb:
    """E exp(-z t^2)."""
    end = integrals.quarter_turn()
    return 2 * integrals.sphere_integral(d, lambda a: (-z * a.sin() ** 2).exp(), arb(0), end)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """All outcomes of few votes, one vote, the integrals, and whole networks by samples."""
    yield from _outcomes(stated, effort)
    yield from _votes(stated, effort)
    yield from _errors(stated, effort)
    yield from _networks(stated, effort)


def _error(d: int, r: int, heads: int, averaged: bool) -> Numeric:
    return majority_vote_error(d, r, heads, ties="averaged" if averaged else "fixed")


def _right(d: int, r: int, t: float) -> float:
    import numpy as np

    from boundcheck.voting import right_vote_probability

    return float(right_vote_probability(d, r, np.array([t]))[0])


def _wrong(heads: int) -> fmpq_poly:
    """P(Bin(H, T) < H/2) + 1/2 P(= H/2)."""
    terms = (comb(heads, k) * T**k * (1 - T) ** (heads - k) for k in range((heads + 1) // 2))
    tie = fmpq_poly()
    if heads % 2 == 0:
        tie = comb(heads, heads // 2) * (T * (1 - T)) ** (heads // 2) / 2
    return sum(terms, tie)


def _ties_are_right(d: int, r: int, heads: int, averaged: bool) -> Numeric:
    fixed, halved = _error(d, r, heads, False), _error(d, r, heads, True)
    estimate = fixed.error_estimate + 2 * halved.error_estimate
    return Numeric(2 * halved.value - fixed.value, estimate)


STATED = Statement(
    _error,
    _wrong,
    _right,
    majority_vote_error_upper_bound,
    majority_vote_error_upper_bound_closed_form,
)

CLAIM = Claim(
    id="U4",
    words="error of the majority of H rank-r hardmax votes, read by one head (depth 2)",
    latex=(
        r"2\,\mathbb{E}_t\bigl[\mathbb{P}(\mathrm{Bin}(H,p)<\tfrac H2)"
        r" + \tfrac12\mathbb{P}(\mathrm{Bin}(H,p)=\tfrac H2)\bigr]"
        r" \le 2\,\mathbb{E}\,e^{-2H(p-1/2)^2},\quad p = p_r(|t|),\quad"
        r" r=1:\ p = \tfrac12 + \tfrac{\arcsin|t|}{\pi},\ "
        r"\le 2\,{}_1F_1\bigl(\tfrac12;\tfrac d2;-\tfrac{2H}{\pi^2}\bigr)"
    ),
    source=Source("explicit", "independent votes given the points; Hoeffding's inequality"),
    evidence=("symbolic identity", "ball arithmetic", "statistical"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation("ties counted as right", replace(STATED, error=_ties_are_right)),
        Mutation(
            "ties counted as right in the law of the votes",
            replace(STATED, wrong=lambda heads: wrong_majority(heads, Fraction(0))),
        ),
        Mutation(
            "an even number of votes worth one more",
            replace(
                STATED,
                error=lambda d, r, heads, averaged: _error(d, r, heads + 1 - heads % 2, averaged),
            ),
        ),
        Mutation(
            "a vote of rank r as good as one of rank r + 1",
            replace(STATED, right=lambda d, r, t: _right(d, r + 1, t)),
        ),
        Mutation(
            "H squared in Hoeffding's bound",
            replace(
                STATED,
                hoeffding=lambda d, r, heads: majority_vote_error_upper_bound(d, r, heads**2),
            ),
        ),
        Mutation(
            "the closed form at 4 pi^2 H votes: 2 |t| for arcsin|t| / pi",
            replace(
                STATED,
                closed_form=lambda d, heads: majority_vote_error_upper_bound_closed_form(
                    d, 40 * heads
                ),
            ),
        ),
    ),
)
