"""U4s: majorities read by a softmax, summed over the binomial law of right votes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import comb, exp, sqrt

from flint import acb, arb

from boundcheck.bounds.majority_vote import best_vote_inverse_temperature, soft_vote_error
from boundcheck.values import Numeric
from proofs_numeric import votes
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, ball_at_most, balls_agree, within_sigmas
from proofs_numeric.stated_values import printed, stated_ball


@dataclass(frozen=True, slots=True)
class Statement:
    """The error of H votes read by a softmax, and the best b.

    Parameters
    ----------
    error : callable
        (d, r, H, b); the least over b where b is None.
    best : callable
        (d, r, H).
    distance : callable
        Half the squared distance for the balance m of right and wrong votes and b, (b m).
    """

    error: Callable[[int, int, int, float | None], Numeric]
    best: Callable[[int, int, int], float]
    distance: Callable[[arb], arb]


#: (d, r, H) and the least error in print.
PRINTED = {(8, 1, 15): "0.3393", (16, 4, 31): "0.1706", (64, 4, 51): "0.2713"}


def balance_law(d: int, r: int, heads: int) -> list[arb]:
    """P(k right votes among H) for k = 0, ..., H, t averaged over, in balls."""

    def law(k: int) -> arb:
        def chance(kappa: acb) -> acb:
            return ((1 + kappa) / 2) ** k * ((1 - kappa) / 2) ** (heads - k)

        return comb(heads, k) * votes.mean_over_advantage(d, r, chance)

    return [law(k) for k in range(heads + 1)]


def soft_error(law: list[arb], b: float) -> arb:
    """1/2 E (1 - tanh(b (2k - H)))^2."""
    heads = len(law) - 1
    return sum(
        (p * (1 - (arb(b) * (2 * k - heads)).tanh()) ** 2 / 2 for k, p in enumerate(law)), arb(0)
    )


def _distances(stated: Statement) -> Iterator[Finding]:
    """The output of the reading head, for orthonormal points, from its two scores.

    Each score is b times the votes for its point less those against it, so the scores are
    b m and -b m for the point that is nearer and the other one: inverse temperature 2b on m.
    """
    for m, b in ((3, "0.2"), (-2, "0.7"), (0, "1")):
        scores = [(sign * arb(b) * m).exp() for sign in (1, -1)]
        share = [score / (scores[0] + scores[1]) for score in scores]
        distance = (share[0] - 1) ** 2 + share[1] ** 2
        what = f"squared distance for a balance of {m} votes, b={b}"
        yield balls_agree(what, stated.distance(arb(b) * m), distance, 40)


def _sampled(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Sampled networks whose second layer is a softmax."""
    import numpy as np

    n = 20_000 if effort == "quick" else 100_000
    for d, r, H, b in ((4, 2, 3, 0.4), (8, 3, 4, 0.3)):
        rng = np.random.default_rng(59 + H)
        frames, _ = np.linalg.qr(rng.standard_normal((n, d, 2)))
        x1, x2, y = frames[:, :, 0], frames[:, :, 1], votes.sphere_rows(rng, n, d)
        balance = votes.sampled_votes(rng, d, r, x1 - x2, y, H)
        share = (1 / (1 + np.exp(-2 * b * balance)))[:, None]
        nearer = np.where((((x1 - x2) * y).sum(axis=1) > 0)[:, None], x1, x2)
        errors = ((share * x1 + (1 - share) * x2 - nearer) ** 2).sum(axis=1)
        value = stated.error(d, r, H, b).value
        what = f"error at d={d}, r={r}, H={H}, b={b}, sampled"
        yield within_sigmas(what, value, float(errors.mean()), float(errors.std()) / sqrt(n))


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The integrand, sums over the balls of the law of votes, the best b, samples."""
    yield from _distances(stated)
    cases = [(8, 1, 15), (3, 1, 1), (4, 2, 8)]
    if effort == "full":
        cases += [(d, 1, H) for d in (4, 16, 64) for H in (2, 15, 31)]
        cases += [(6, 2, 15), (4, 3, 8)]
    for d, r, H in cases:
        law, best = balance_law(d, r, H), stated.best(d, r, H)
        what = f"error at d={d}, r={r}, H={H}"
        least = soft_error(law, best)
        for b in (best / 2, best, 2 * best):
            value = stated_ball(stated.error(d, r, H, b))
            yield balls_agree(f"{what}, b={b:.4g}", value, soft_error(law, b), 9)
        for b in (best * exp(-0.01), best * exp(0.01)):
            yield ball_at_most(f"{what}, best b against {b:.4g}", least, soft_error(law, b))
        value = stated_ball(stated.error(d, r, H, None))
        yield balls_agree(f"{what}, best b", value, least, 9)
        yield ball_at_most(f"{what} below 1/2", least, arb(1) / 2)
        if (d, r, H) in PRINTED:
            yield balls_agree(f"{what}, in print", printed(PRINTED[d, r, H]), least, 3)
    for d, r, H in ((16, 4, 31), (64, 4, 51)):
        kappa, weights = votes.advantage_rule(d, r)
        probabilities = [
            float(comb(H, k) * (((1 + kappa) / 2) ** k * ((1 - kappa) / 2) ** (H - k)) @ weights)
            for k in range(H + 1)
        ]
        by_rule = float(soft_error([arb(p) for p in probabilities], stated.best(d, r, H)))
        what = f"error at d={d}, r={r}, H={H}"
        yield votes.quadrature_agrees(what, stated.error(d, r, H, None).value, by_rule, 1e-9)
        in_print = float(PRINTED[d, r, H])
        yield votes.quadrature_agrees(f"{what}, in print", in_print, by_rule, 1e-4)
    # The error is 1/2 - b E m + O(b^2), and E m > 0: some b always does better than 1/2.
    for d, r, H in ((3, 1, 1), (1000, 1, 1), (1000, 3, 2)):
        value = stated_ball(stated.error(d, r, H, None))
        yield ball_at_most(f"error below 1/2, d={d}, r={r}, H={H}", value, arb(1) / 2)
    yield from _sampled(stated, effort)


STATED = Statement(
    soft_vote_error, best_vote_inverse_temperature, lambda u: (1 - u.tanh()) ** 2 / 2
)


def _scaled(d: int, r: int, heads: int, b: float | None) -> Numeric:
    found = soft_vote_error(d, r, heads, b)
    return Numeric(found.value * (1 - 1e-6), found.error_estimate)


CLAIM = Claim(
    id="U4s",
    words="error of the majority of H votes read by a softmax; always below 1/2",
    latex=(
        r"\tfrac12\,\mathbb{E}\bigl(1-\tanh(b(2k-H))\bigr)^2 < \tfrac12 \text{ at the best } b,"
        r"\qquad k \mid t \sim \mathrm{Bin}(H, p_r(|t|))"
    ),
    source=Source("explicit", "U4 with the weights of a softmax of inverse temperature 2b"),
    evidence=("ball arithmetic", "statistical"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "2b for b in the integrand",
            replace(STATED, distance=lambda u: (1 - (2 * u).tanh()) ** 2 / 2),
        ),
        Mutation(
            "one vote more than there is",
            replace(STATED, error=lambda d, r, heads, b: soft_vote_error(d, r, heads + 1, b)),
        ),
        Mutation("too small by one part in 10^6", replace(STATED, error=_scaled)),
        Mutation(
            "a best b too small by half",
            replace(
                STATED, best=lambda d, r, heads: best_vote_inverse_temperature(d, r, heads) / 2
            ),
        ),
    ),
)
