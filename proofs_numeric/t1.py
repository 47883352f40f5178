"""T1: the lower bounds, from random heads and their averages to the numbers in print."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from flint import arb, fmpq

from boundcheck.bounds.lower import T1
from boundcheck.capacity import Capacity, capacities
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem
from boundcheck.values import Enclosure
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, at_most, ball_at_most, balls_agree, equal
from proofs_numeric.energy_sums import class_bound
from proofs_numeric.exact import harmonics_count, monomial_moment, rational
from proofs_numeric.frame_mean import (
    constant_vector,
    pairings_divisor,
    pairings_mean,
    sphere_expansion,
)
from proofs_numeric.harmonic_basis import inner, sphere_point
from proofs_numeric.layer_error import Head, Matrix, least_error, means
from proofs_numeric.rank_one_layers import least_rank_one_error
from proofs_numeric.ridge import (
    degree_part,
    degree_parts,
    linear_form,
    quadratic_form,
    random_matrix,
    span_dimension,
)
from proofs_numeric.stated_values import printed, stated_ball


@dataclass(frozen=True, slots=True)
class Statement:
    """The multiplicities, the bound on the error of H heads, and on the heads for eps.

    Parameters
    ----------
    capacities : callable
        (d, r, head class).
    error : callable
        (d, r, head class, H).
    heads : callable
        (d, r, eps, head class).
    """

    capacities: Callable[[int, int, HeadClass], Sequence[Capacity]]
    error: Callable[[int, int, HeadClass, int], Enclosure]
    heads: Callable[[int, int, str, HeadClass], int | None]


#: H_min in print, for scalar, standard and generalized heads.
PRINTED_HEADS = {
    (64, 4, "1/10"): (191901, 78614, 57374),
    (64, 1, "1/10"): (23219957, 7739986, 5804990),
    (16, 1, "1/20"): (19350668, 6450223, 4837667),
}


def identity(D: int) -> Matrix:
    """The D x D identity."""
    return [[int(i == j) for j in range(D)] for i in range(D)]


def random_heads(rng: Random, d: int, r: int, head_class: HeadClass, count: int) -> list[Head]:
    """Heads with random K; V is random too, or the identity for the scalar class.

    The columns of all K together are as independent as they can be.
    """
    columns = random_matrix(rng, d, count * r, min(d, count * r))
    return [
        Head(
            [row[h * r : (h + 1) * r] for row in columns],
            identity(d) if head_class == "scalar" else random_matrix(rng, d, d, d),
        )
        for h in range(count)
    ]


def spanned_given_x(heads: Sequence[Head], head_class: HeadClass, degree: int) -> int:
    """The dimension of degree l of what the heads leave along x once z is averaged.

    Weights are polynomials in K^T x and K^T z, up to four degrees above l.
    """
    D = len(heads[0].K)
    parts = []
    for head in heads:
        for mean in means(head, head_class, range(1, degree + 5, 2)):
            p = mean.polynomial
            if p != p.context().constant(0) and p.total_degree() >= degree:
                parts.append(degree_part(p, p.total_degree(), degree))
    return span_dimension(D, degree, parts)


def spanned_given_z(heads: Sequence[Head], degree: int) -> int:
    """The same for generalized heads on the sphere orthogonal to z = e_d, which is given.

    There <x, head> is x^T V x times one function of K^T x plus <x, V z> times another,
    with the restrictions of K, V and V z.
    """
    D = len(heads[0].K) - 1
    parts = []
    for head in heads:
        K = head.K[:D]
        quadratic = quadratic_form([row[:D] for row in head.V[:D]])
        linear = linear_form([row[D] for row in head.V[:D]])
        parts += degree_parts(D, degree, [quadratic, linear], K, degree + 4)
    return span_dimension(D, degree, parts)


def _averages(effort: Effort) -> Iterator[Finding]:
    """E[. | x] by pairings against a reflection of x to e_1, at rational points x."""
    rng = Random(3)
    for D in (3, 4) if effort == "quick" else (3, 4, 5, 6):
        for counts in ((2, 0, 0), (1, 1, 0), (2, 2, 0), (3, 1, 0), (1, 0, 1), (3, 2, 1), (5, 0, 1)):
            a, b = ([rng.randint(-3, 3) for _ in range(D)] for _ in range(2))
            V = random_matrix(rng, D, D, D)
            transposed = tuple(linear_form(column) for column in zip(*V, strict=True))
            vectors = (constant_vector(a), constant_vector(b), transposed)
            stated = pairings_mean(D, list(zip(vectors, counts, strict=True)))
            x = sphere_point(rng, D)
            rows = [
                [fmpq(entry) for entry in a],
                [fmpq(entry) for entry in b],
                [inner([fmpq(entry) for entry in column], x) for column in zip(*V, strict=True)],
            ]
            found = sum(
                (
                    c * rational(monomial_moment(powers))
                    for powers, c in sphere_expansion(rows, counts, x)
                ),
                fmpq(0),
            )
            value = sum(
                (
                    int(c) * _monomial(x, tuple(map(int, powers)))
                    for powers, c in stated.to_dict().items()
                ),
                fmpq(0),
            )
            what = f"mean over z given x, D={D}, powers {counts}"
            yield equal(what, value / pairings_divisor(D, sum(counts)), found)


def _monomial(x: Sequence[fmpq], powers: Sequence[int]) -> fmpq:
    value = fmpq(1)
    for coordinate, n in zip(x, powers, strict=True):
        value *= coordinate**n
    return value


def _ranks(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """What one and two random heads span in each odd degree, after the averaging."""
    rng = Random(5)
    cases = [(3, 1, 1, 1), (3, 1, 1, 3), (3, 1, 2, 3), (4, 1, 1, 3), (4, 1, 2, 3), (5, 2, 1, 3)]
    if effort == "full":
        cases += [(d, 1, H, l) for d in (3, 4, 5) for H in (1, 2, 3) for l in (1, 3, 5, 7)]
        cases += [(d, 2, H, l) for d in (4, 5, 6) for H in (1, 2) for l in (1, 3)]
        cases += [(7, 3, 1, 3), (8, 3, 1, 3)]
    for d, r, H, l in cases:
        for head_class in HEAD_CLASSES:
            for capacity in stated.capacities(d, r, head_class):
                if capacity.D < 3:
                    continue
                heads = random_heads(rng, d, r, head_class, H)
                given_z = d > capacity.D
                spanned = (
                    spanned_given_z(heads, l) if given_z else spanned_given_x(heads, head_class, l)
                )
                N = harmonics_count(capacity.D, l)
                what = f"{H} heads, {head_class}, D={capacity.D}, r={r}, l={l}"
                yield at_most(f"dimension of {what}", spanned, min(N, H * capacity(l)))
                # K, V K and the linear forms of all heads are independent.
                linear = 0 if head_class != "generalized" else 1 if given_z else r
                if 2 * r + linear <= capacity.D:
                    yield equal(f"dimension attained: {what}", min(N, H * capacity(l)), spanned)


def _layers(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Layers of random heads with the best polynomial weights do not go below the bound."""
    rng = Random(11)
    # Scalar heads of rank 1 come close to it.
    for d, H, top in ((3, 1, 21), (3, 2, 11), (4, 3, 7), (8, 1, 5)):
        found = least_rank_one_error([sphere_point(rng, d) for _ in range(H)], top)
        what = f"d={d}, r=1, H={H}, scalar weights of degree {top}"
        yield ball_at_most(what, stated_ball(stated.error(d, 1, "scalar", H)), found)
    cases = [(3, 1, 1, 3), (3, 1, 2, 1), (3, 1, 2, 3), (4, 1, 1, 1), (4, 2, 1, 1)]
    if effort == "full":
        cases += [(3, 1, 1, 5), (3, 1, 3, 3), (4, 1, 2, 3), (5, 1, 1, 3), (5, 2, 2, 1)]
    for d, r, H, top in cases:
        for head_class in HEAD_CLASSES:
            heads = random_heads(rng, d, r, head_class, H)
            if head_class == "standard":
                # The V add up to the identity.
                others = [head.V for head in heads[1:]]
                V = [
                    [int(i == j) - sum(W[i][j] for W in others) for j in range(d)] for i in range(d)
                ]
                heads[0] = replace(heads[0], V=V)
            found = least_error(d, heads, head_class, top)
            what = f"d={d}, r={r}, H={H}, {head_class} weights of degree {top}"
            yield ball_at_most(what, stated_ball(stated.error(d, r, head_class, H)), found)


def _sums(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The bound summed again from Gamma functions; the counts in print by it."""
    cases = [(3, 1, 1), (3, 1, 5), (4, 1, 2), (5, 2, 3), (8, 1, 1), (16, 4, 1), (64, 4, 78614)]
    if effort == "full":
        cases += [(d, r, H) for d in (6, 9, 16, 33) for r in (1, 2, 3) for H in (1, 4, 100)]
        cases += [(64, 16, 5), (128, 8, 10**6), (256, 32, 10**9)]
    for d, r, H in cases:
        for head_class in HEAD_CLASSES:
            value = stated_ball(stated.error(d, r, head_class, H))
            what = f"bound at d={d}, r={r}, H={H}, {head_class}"
            yield balls_agree(what, value, class_bound(d, r, head_class, H), 12)
    for head_class, text in (("standard", "0.3324"), ("generalized", "0.2974")):
        found = class_bound(16, 4, head_class, 1)
        yield balls_agree(f"in print: (16,4), H=1, {head_class}", printed(text), found, 3)
    for (d, r, eps), counts in PRINTED_HEADS.items():
        for head_class, in_print in zip(HEAD_CLASSES, counts, strict=True):
            what = f"heads for ({d},{r},{eps}), {head_class}"
            count = stated.heads(d, r, eps, head_class) or 0
            limit = arb(fmpq(*Fraction(eps).as_integer_ratio()))
            yield ball_at_most(what, class_bound(d, r, head_class, count), limit)
            yield ball_at_most(f"{what}, one less", limit, class_bound(d, r, head_class, count - 1))
            yield equal(f"{what}, in print", in_print, count)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The averaging, the dimensions, whole layers, then the sums; all but the sums exact."""
    yield from _averages(effort)
    yield from _ranks(stated, effort)
    yield from _layers(stated, effort)
    yield from _sums(stated, effort)


def _error(d: int, r: int, head_class: HeadClass, heads: int) -> Enclosure:
    return T1().error(Problem.of(d, r, head_class=head_class), heads)


def _heads(d: int, r: int, eps: str, head_class: HeadClass) -> int | None:
    return T1().heads(Problem.of(d, r, eps, head_class=head_class)).heads


STATED = Statement(capacities, _error, _heads)


def _less(head_class: HeadClass, **less: int) -> Statement:
    """The statement with smaller multiplicities for one class."""

    def changed(d: int, r: int, wanted: HeadClass) -> tuple[Capacity, ...]:
        found = capacities(d, r, wanted)
        if wanted != head_class:
            return found
        return tuple(
            replace(c, **{name: max(0, getattr(c, name) - by) for name, by in less.items()})
            for c in found
        )

    return replace(STATED, capacities=changed)


def _scaled(factor: Fraction) -> Statement:
    return replace(STATED, error=lambda d, r, c, H: _error(d, r, c, H).scaled(factor))


CLAIM = Claim(
    id="T1",
    words="H heads of rank r leave at least this error (N = 2)",
    latex=(
        r"\mathbb{E}\|f-g\|^2 \ge \frac12 \sum_{l \text{ odd}} E_l(D)"
        r" \max\Bigl(0,\, 1 - \frac{H\, m(l)}{N(D,l)}\Bigr),\qquad m(l) ="
        r" \begin{cases} m_r(l) & \text{scalar},\ D=d\\ 2m_r(l)+m_r(l-2) &"
        r" \text{standard},\ D=d\\ 2m_r(l)+m_r(l-1)+m_r(l-2) & \text{generalized},\ D=d-1\\"
        r" 2m_r(l)+r\,m_r(l-1)+m_r(l-2) & \text{generalized},\ D=d \end{cases}"
    ),
    source=Source("explicit", "projection to each degree, after averaging or fixing x_1 + x_2"),
    evidence=("exact rank", "exact rational", "ball arithmetic"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation("standard: m_r(l) once instead of twice", _less("standard", now=1)),
        Mutation("standard: m_r(l-2) left out", _less("standard", before2=1)),
        Mutation("generalized: one linear form less", _less("generalized", before=1)),
        Mutation("generalized: m_r(l-2) left out", _less("generalized", before2=1)),
        Mutation("the factor 1/2 dropped", _scaled(Fraction(2))),
        Mutation("every E_l too large by one part in 300", _scaled(Fraction(301, 300))),
        Mutation(
            "one head more than the bound needs",
            replace(STATED, heads=lambda d, r, eps, c: (_heads(d, r, eps, c) or 0) + 1),
        ),
    ),
)
