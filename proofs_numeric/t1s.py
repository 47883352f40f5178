"""T1s: with A y for free degree 1 leaves the bound; a plain residual shows that it must."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from flint import arb

from boundcheck.bounds.lower import T1, T1s
from boundcheck.harmonics import harmonic_dimension
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem
from boundcheck.values import Enclosure
from proofs_numeric import exact
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, ball_at_most, balls_agree, equal
from proofs_numeric.energy_sums import class_bound
from proofs_numeric.harmonic_basis import sphere_point
from proofs_numeric.integrals import density_constant
from proofs_numeric.rank_one_layers import least_rank_one_error
from proofs_numeric.ridge import linear_form, span_dimension
from proofs_numeric.stated_values import printed, stated_ball
from proofs_numeric.t1 import identity


@dataclass(frozen=True, slots=True)
class Statement:
    """What A y leaves of each odd degree, and the error of H heads with A y.

    Parameters
    ----------
    left : callable
        The dimension of degree l, for (D, l).
    error : callable
        (d, r, head class, H).
    """

    left: Callable[[int, int], int]
    error: Callable[[int, int, HeadClass, int], Enclosure]


def residual_layer_error(d: int, a: float, b: Mapping[int, float]) -> arb:
    """The error of one scalar rank-1 head plus a y, exact but for c_d.

    With u, c = <k,x>, <k,y>, |k| = 1 and s = sign<x,y>, the weights are phi_1 + phi_2 = 1
    and phi_1 - phi_2 = v, the sum of b_l P_l(u) P_l(c) over some odd l. So
    sqrt2 (f - g) = x (s - v) - sqrt2 a y, and the error is

        1/2 E (s-v)^2 - sqrt2 a E <x,y> (s-v) + a^2,

    where E s P_l(u) P_l(c) = lambda_l/N(d,l), E P_l(u)^2 P_l(c)^2 = 1/N(d,l)^2,
    E <x,y> s = lambda_1, and E <x,y> P_l(u) P_l(c) is 1/d^2 for l = 1 and 0 beyond.
    """
    signs = {l: density_constant(d) * arb(exact.rational(_sign(d, l))) for l in (1, *b)}
    along_y = signs[1] - arb(b[1]) / d**2
    error = arb(1) / 2 - arb(2).sqrt() * a * along_y + arb(a) ** 2
    for l, weight in b.items():
        N = exact.harmonics_count(d, l)
        error += (arb(weight) / N) ** 2 / 2 - signs[l] * weight / N
    return error


def _sign(d: int, degree: int) -> Fraction:
    return exact.sign_coefficient(d, degree)


def best_residual_layer_error(d: int, degree: int) -> arb:
    """`residual_layer_error` next to where its derivatives in a and b_1, b_3, ... vanish."""
    c_d = float(density_constant(d))
    b = {l: c_d * float(_sign(d, l) * exact.harmonics_count(d, l)) for l in range(1, degree + 1, 2)}
    a = b[1] / d * (1 - 1 / d) / (2**0.5 * (1 - 1 / d**2))
    b[1] -= 2**0.5 * a
    return residual_layer_error(d, a, b)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """What linear forms span of each degree; layers that reach the bound; its sum."""
    for D in (3, 4, 8):
        forms = [linear_form(row) for row in identity(D)]
        for l in (1, 3, 5):
            spanned = span_dimension(D, l, [form for form in forms if form.total_degree() >= l])
            what = f"dimension of degree {l} that A y leaves, D={D}"
            yield equal(what, stated.left(D, l), exact.harmonics_count(D, l) - spanned)
    reached = best_residual_layer_error(8, 7)
    yield balls_agree("a y and one scalar head, d=8, in print", printed("0.4241"), reached, 3)
    for d in (8, 3, 4, 5) if effort == "quick" else range(3, 25):
        for head_class in HEAD_CLASSES:
            value = stated_ball(stated.error(d, 1, head_class, 1))
            what = f"a y and one scalar head, d={d}, {head_class}"
            yield ball_at_most(what, value, best_residual_layer_error(d, 7))
    # d scalar heads of rank 1 have all of degree 1 already: they come close to the bound.
    rng = Random(17)
    for d, H, top in ((3, 3, 21), (3, 4, 15), (4, 4, 11)):
        reached = least_rank_one_error([sphere_point(rng, d) for _ in range(H)], top)
        value = stated_ball(stated.error(d, 1, "scalar", H))
        yield ball_at_most(f"{H} heads, d={d}, weights of degree {top}", value, reached)
    cases = [(3, 1, 1), (8, 1, 1), (16, 4, 3), (64, 4, 1000)]
    if effort == "full":
        cases += [(d, r, H) for d in (6, 9, 16, 33) for r in (1, 2, 3) for H in (1, 4, 100)]
    for d, r, H in cases:
        for head_class in HEAD_CLASSES:
            value = stated_ball(stated.error(d, r, head_class, H))
            what = f"bound at d={d}, r={r}, H={H}, {head_class}"
            yield balls_agree(what, value, class_bound(d, r, head_class, H, first=3), 12)


def _error(d: int, r: int, head_class: HeadClass, heads: int) -> Enclosure:
    return T1s().error(Problem.of(d, r, head_class=head_class, skip=True), heads)


STATED = Statement(lambda D, l: harmonic_dimension(D, l) if l > 1 else 0, _error)

CLAIM = Claim(
    id="T1s",
    words="T1 without degree 1, where the layer may add A y for free",
    latex=(
        r"\mathbb{E}\|f-g-Ay\|^2 \ge \frac12 \sum_{l \ge 3 \text{ odd}} E_l(D)"
        r" \max\Bigl(0,\, 1 - \frac{H\, m(l)}{N(D,l)}\Bigr) \quad\text{for every matrix } A,"
        r" \text{ with } D \text{ and } m(l) \text{ as in T1}"
    ),
    source=Source("explicit", "T1; x^T A y is of degree 1 in x"),
    evidence=("exact rank", "exact rational", "ball arithmetic"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "degree 1 counted, as in T1",
            replace(
                STATED,
                error=lambda d, r, c, H: T1().error(Problem.of(d, r, head_class=c), H),
            ),
        ),
        Mutation("degree 1 taken for out of reach", replace(STATED, left=harmonic_dimension)),
        Mutation(
            "every E_l too large by one part in 50",
            replace(STATED, error=lambda d, r, c, H: _error(d, r, c, H).scaled(Fraction(51, 50))),
        ),
    ),
)
