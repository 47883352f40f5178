"""T2: the least error of scalar heads with arbitrary weights, by exact least squares."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from boundcheck.bounds.arbitrary_scores import arbitrary_scores_error_infimum
from boundcheck.values import Enclosure
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, ball_at_most, balls_agree, equal
from proofs_numeric.energy_sums import dimension, energy, energy_below, lower_bound, ridge
from proofs_numeric.harmonic_basis import sphere_point
from proofs_numeric.polynomials import exponents, rank
from proofs_numeric.rank_one_layers import least_rank_one_error
from proofs_numeric.ridge import harmonic_ridge_functions, random_matrix
from proofs_numeric.stated_values import printed, stated_ball


@dataclass(frozen=True, slots=True)
class Statement:
    """An error that H heads approach, and the dimension that generic heads span.

    Parameters
    ----------
    infimum : callable
        (d, r, H).
    spanned : callable
        (d, r, H, l): of the sum of the S_l(K_h).
    """

    infimum: Callable[[int, int, int], Enclosure]
    spanned: Callable[[int, int, int, int], int]


#: In print, r = 1 and H = 1, 2, 3.
PRINTED = {3: ("0.36338", "0.22676", "0.09014"), 4: ("0.40529", "0.31057", "0.21585")}


def spanned_dimension(rng: Random, d: int, r: int, heads: int, degree: int) -> int:
    """The dimension of S_l(K_1) + ... + S_l(K_H) for random K, from a basis of each."""
    basis = [
        p
        for _ in range(heads)
        for p in harmonic_ridge_functions(random_matrix(rng, d, r, r), degree)
    ]
    return rank(basis, exponents(d, degree))


def _rank_one(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Least squares over powers of <k_h, x>, the later degrees added by their dimensions."""
    rng = Random(23)
    cases = [(3, 1, 7), (3, 2, 7), (3, 3, 7), (4, 1, 7), (4, 2, 7), (4, 3, 7), (3, 5, 9), (6, 2, 5)]
    if effort == "full":
        cases += [(d, H, top) for d in (3, 4, 5, 8) for H in (1, 2, 4, 7) for top in (3, 13)]
    for d, H, top in cases:
        reached = least_rank_one_error([sphere_point(rng, d) for _ in range(H)], top)
        value, what = stated_ball(stated.infimum(d, 1, H)), f"infimum at d={d}, r=1, H={H}"
        yield ball_at_most(f"{what}, and with degrees up to {top}", value, reached)
        taken = (1 - energy_below(d, top + 2)) / 2 - lower_bound(d, 1, (1, 0, 0), H, top + 2)
        yield balls_agree(what, value, reached - taken, 12)
        if d in PRINTED and H <= 3:
            yield balls_agree(f"{what} in print", printed(PRINTED[d][H - 1]), reached - taken, 3)
        if (d, H, top) == (3, 1, 7):
            yield balls_agree("with degrees up to 7, in print", printed("0.36447"), reached, 4)


def _ranks(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Generic heads of higher rank: spanned dimensions, and an error no larger than stated.

    What they reach needs their dimensions at a few degrees only: beyond, the stated
    dimension min(N, H m_r) is put in for them.
    """
    rng = Random(29)
    cases = [(4, 2, 1, 5), (4, 2, 2, 5), (5, 2, 1, 3), (5, 2, 3, 3), (6, 3, 2, 3)]
    if effort == "full":
        cases += [(d, 2, H, 7) for d in (4, 5) for H in (1, 2, 3, 4)]
        cases += [(6, 3, H, 5) for H in (1, 2, 3)] + [(7, 2, 4, 5), (8, 4, 2, 3)]
    for d, r, H, top in cases:
        reached = lower_bound(d, r, (1, 0, 0), H, top + 2)
        for l in range(1, top + 1, 2):
            spanned = spanned_dimension(rng, d, r, H, l)
            what = f"dimension of {H} heads, d={d}, r={r}, l={l}"
            yield equal(what, stated.spanned(d, r, H, l), spanned)
            reached += energy(d, l) * (dimension(d, l) - spanned) / dimension(d, l) / 2
        what = f"infimum at d={d}, r={r}, H={H}"
        value = stated_ball(stated.infimum(d, r, H))
        if H == 1:
            yield balls_agree(what, value, reached, 8)
        else:
            yield ball_at_most(f"{what} is reached", reached, value)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Rank 1, where the value is the optimum; higher rank, where it is reached."""
    yield from _rank_one(stated, effort)
    yield from _ranks(stated, effort)


def generic_dimension(d: int, r: int, heads: int, degree: int) -> int:
    """min(N(d,l), H m_r(l))."""
    return min(dimension(d, degree), heads * ridge(r, degree))


_MILLIONTH = Fraction(1, 10**6)

STATED = Statement(arbitrary_scores_error_infimum, generic_dimension)

CLAIM = Claim(
    id="T2",
    words="what scalar heads with arbitrary weights approach: the optimum for r = 1",
    latex=(
        r"\inf_{\varphi} \mathbb{E}\|f-g\|^2 = \sum_l \bar E_l"
        r" \Bigl(1 - \frac{\dim \sum_h S_l(K_h)}{N(d,l)}\Bigr);\quad"
        r" r=1:\ \sum_l \bar E_l \max\Bigl(0, 1-\frac{H}{N(d,l)}\Bigr),\quad"
        r" r>1:\ \text{some heads reach } \sum_l \bar E_l \Bigl(1-\frac{m_r(l)}{N(d,l)}\Bigr)^H"
    ),
    source=Source("explicit", "projection to the sum of the heads' spaces, degree by degree"),
    evidence=("exact rational", "exact rank", "ball arithmetic"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "one head more than there is",
            replace(STATED, infimum=lambda d, r, H: arbitrary_scores_error_infimum(d, r, H + 1)),
        ),
        Mutation(
            "r > 1: what heads of one rank more approach",
            replace(
                STATED,
                infimum=lambda d, r, H: arbitrary_scores_error_infimum(d, r + (r > 1), H),
            ),
        ),
        Mutation(
            "too small by one part in 10^6",
            replace(
                STATED,
                infimum=lambda d, r, H: arbitrary_scores_error_infimum(d, r, H).scaled(
                    1 - _MILLIONTH
                ),
            ),
        ),
        Mutation(
            "the dimension of all polynomials counted, not limited by N",
            replace(STATED, spanned=lambda d, r, H, l: H * ridge(r, l)),
        ),
    ),
)
