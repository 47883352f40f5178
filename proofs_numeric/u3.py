"""U3: the expected error of random rank-1 hardmax heads, in closed form on S^3 and for q = k.

For a pair (q, k) with <q,k> = cos(alpha), uniform otherwise, and <x,y> = cos(beta), let
h = E sign<q,y> sign<k,x>. With independent heads of law mu the expected error is

    1/2 [1 - 2 E s g + (1 - 1/H) E g^2 + A^2/H],  g = sum over atoms of weight times h,

since two different heads are independent given x and y. No harmonics enter here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from random import Random

from flint import acb, arb, fmpq

from boundcheck.balls import ball, working_precision
from boundcheck.bounds.random_heads import random_heads_error_upper_bound, random_heads_measure
from boundcheck.bounds.zonal_measure import spectrum_kept, zonal_measure
from boundcheck.values import Enclosure
from proofs_numeric import integrals
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, ball_at_most, balls_agree, equal
from proofs_numeric.energy_sums import energy, gegenbauer_ratio, sign_coefficient
from proofs_numeric.harmonic_basis import inner, sphere_point
from proofs_numeric.stated_values import printed, stated_ball

Atoms = Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Statement:
    """The expected error for a measure, the best measure's, and the correction heads' weight.

    Parameters
    ----------
    error : callable
        (d, nodes, weights, H).
    best : callable
        (d, H): for the library's best measure.
    correction : callable
        The weight of each of the two further heads, of the sum of the others' weights.
    """

    error: Callable[[int, list[float], list[float], int], Enclosure]
    best: Callable[[int, int], Enclosure]
    correction: Callable[[fmpq], fmpq]


#: In print: (d, H) and the error.
PRINTED = {
    (30, 64): "0.3478",
    (30, 1024): "0.2005",
    (30, 4096): "0.1853",
    (64, 256): "0.3009",
    (64, 4096): "0.1924",
    (64, 2**27): "0.1433",
    (8, 1024): "0.1756",
}


def agreement_on_s3(t: float, beta: acb, edge: arb) -> acb:
    """sin(beta) h for d = 4 and <q,k> = t, at beta on one side of arccos t.

    Given k, with c = <k,y> = sin(theta), <q,y> is t c + sqrt(1-t^2) sqrt(1-c^2) w, w uniform
    on [-1, 1]; the mean of its sign is cot(alpha) tan(theta), cut at 1. The same for <k,x>
    with beta. theta has the density (2/pi) cos^2 on both sides of 0, so h is 4/pi times the
    integral of cos^2 and both cut functions over (0, pi/2), which is
    (2/pi) [a cot(a) cot(b) - cot(b) + pi/2 - b] for a < b, the two angles.

    Parameters
    ----------
    t : float
        In [0, 1].
    beta : acb
    edge : arb
        An angle on the same side as beta.
    """
    half = acb(integrals.quarter_turn())
    alpha = arb(t).acos()
    cot = arb(t) / (1 - arb(t) ** 2).sqrt()
    if t < 1 and edge < alpha:
        inside = beta * beta.cos() * cot - beta.sin() * cot + beta.sin() * (half - alpha)
    else:
        ratio = alpha * cot if t < 1 else arb(1)
        inside = beta.cos() * (ratio - 1) + (half - beta) * beta.sin()
    return inside / half


def expected_error_on_s3(atoms: Atoms, heads: int) -> arb:
    """The expected error at d = 4 for the measure with these (node, weight)."""
    half = integrals.quarter_turn()
    edges = [arb(0), *sorted((arb(t).acos() for t, _ in atoms if t < 1), key=float), half]
    signed, squared = arb(0), arb(0)
    for lo, hi in pairwise(edges):
        middle = (lo + hi) / 2

        def g(beta: acb, middle: arb = middle) -> acb:
            return sum((agreement_on_s3(t, beta, middle) * w for t, w in atoms), acb(0))

        signed += integrals.real_integral(_times_sine(g), lo, hi)
        squared += integrals.real_integral(_squared(g), lo, hi)
    # beta has the density (2/pi) sin^2 on (0, pi), where s g is even.
    return _error(4 / arb.pi() * signed, 4 / arb.pi() * squared, atoms, heads)


def _times_sine(g: Callable[[acb], acb]) -> Callable[[acb], acb]:
    return lambda beta: g(beta) * beta.sin()


def _squared(g: Callable[[acb], acb]) -> Callable[[acb], acb]:
    return lambda beta: g(beta) ** 2


def expected_error_at_one(d: int, weight: float, heads: int) -> arb:
    """The same for any d and one atom at 1, where h = (2/pi) arcsin<x,y>."""
    end = integrals.quarter_turn()
    signed = 2 * integrals.sphere_integral(d, lambda theta: theta / end, arb(0), end)
    squared = 2 * integrals.sphere_integral(d, lambda theta: (theta / end) ** 2, arb(0), end)
    return _error(weight * signed, arb(weight) ** 2 * squared, [(1.0, weight)], heads)


def _error(signed: arb, squared: arb, atoms: Atoms, heads: int) -> arb:
    A = sum((abs(arb(w)) for _, w in atoms), arb(0))
    return (1 - 2 * signed + (squared * (heads - 1) + A * A) / heads) / 2


def expected_error_by_degrees(d: int, atoms: Atoms, heads: int, top: int) -> arb:
    """The stated formula, with Gamma and Gegenbauer functions and its own cut."""
    A = sum((abs(arb(w)) for _, w in atoms), arb(0))
    bias, captured, left = arb(0), arb(0), arb(1)
    for l in range(1, top + 1, 2):
        E = energy(d, l)
        value = sign_coefficient(d, l) * sum(
            (arb(w) * gegenbauer_ratio(d, l, arb(t)) for t, w in atoms), arb(0)
        )
        bias += E * (1 - value) ** 2
        captured += E * value**2
        left -= E
    # |c_l| <= A and |lambda_l| falls.
    most = abs(sign_coefficient(d, top + 2)) * A * arb(0, 1)
    bias += left * (1 - most) * (1 - most)
    captured += left * most * most
    return (bias + (A * A - captured) / heads) / 2


def _corrections(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """With the two further heads the layer's part along x_1 + x_2 is exact, at rational points.

    Their pairs are (q, k) and (q, -k), so one of them takes x_1 and the other x_2.
    """
    rng = Random(41)
    for d, H in ((3, 2), (5, 4)):
        weights = [fmpq(rng.randint(-9, 9), 7) for _ in range(H)]
        total = sum(weights, fmpq(0))
        extra = stated.correction(total)
        q, k, x1, x2, y = (sphere_point(rng, d) for _ in range(5))
        sign = 1 if inner(q, y) * (inner(k, x1) - inner(k, x2)) > 0 else -1
        taken = [x1, x2] if sign > 0 else [x2, x1]
        # Every head takes one point, and so half its weight of x_1 + x_2.
        added = [extra * (a + b) for a, b in zip(*taken, strict=True)]
        both = [(1 - total) * (a + b) / 2 for a, b in zip(x1, x2, strict=True)]
        yield equal(f"correction heads, d={d}, H={H}", added, both)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Closed forms on S^3 and for q = k; by degrees elsewhere; the values in print."""
    yield from _corrections(stated, effort)
    measures: list[Atoms] = [
        [(0.5, 1.5)],
        [(0.25, -0.75), (0.875, 2.5)],
        [(1.0, 1.25), (0.5, -0.5)],
    ]
    if effort == "full":
        measures += [[(i / 8, (-1) ** i * 0.5) for i in range(1, 9)], [(0.125, 3.0)]]
    for atoms in measures:
        for H in (1, 7, 1000):
            nodes, weights = ([*column] for column in zip(*atoms, strict=True))
            value = stated.error(4, nodes, weights, H)
            found = expected_error_on_s3(atoms, H)
            what = f"expected error at d=4, {len(atoms)} atoms from t={nodes[0]}, H={H}"
            yield ball_at_most(what, found, ball(value.hi))
            yield balls_agree(what, stated_ball(value), found, 5)
    for d, weight in ((3, 0.75), (8, 2.5), (30, 6.0)) if effort == "quick" else _AT_ONE:
        for H in (1, 1000):
            value = stated.error(d, [1.0], [weight], H)
            found = expected_error_at_one(d, weight, H)
            what = f"expected error at d={d}, weight {weight} at t=1, H={H}"
            yield ball_at_most(what, found, ball(value.hi))
            yield balls_agree(what, stated_ball(value), found, 4)
    for (d, H), text in PRINTED.items():
        value = stated.best(d, H)
        what = f"best measure, d={d}, H={H}"
        yield balls_agree(f"{what}, in print", printed(text), ball(value.hi), 2)
        measure = random_heads_measure(d, H)
        atoms = list(zip(measure.nodes, measure.weights, strict=True))
        with working_precision(640):
            found = expected_error_by_degrees(d, atoms, H, 121)
        yield balls_agree(what, stated_ball(value), found, 6)


_AT_ONE = tuple((d, d**0.5) for d in (3, 5, 8, 16, 30, 64, 128))


def _error_of_measure(d: int, nodes: list[float], weights: list[float], heads: int) -> Enclosure:
    return zonal_measure(d, nodes, weights).error(heads)


def _without_tail(d: int, nodes: list[float], weights: list[float], heads: int) -> Enclosure:
    """The statement without the energy of the degrees that are not kept."""
    found, tail = _error_of_measure(d, nodes, weights, heads), spectrum_kept(d).tail
    less = Fraction(float(tail)) * Fraction(999, 1000) / 2
    return Enclosure(found.lo - less, found.hi - less)


def _without_sampling(d: int, nodes: list[float], weights: list[float], heads: int) -> Enclosure:
    bias = zonal_measure(d, nodes, weights).bias
    return Enclosure(bias.lo / 2, bias.hi / 2)


STATED = Statement(_error_of_measure, random_heads_error_upper_bound, lambda total: (1 - total) / 2)

CLAIM = Claim(
    id="U3",
    words="expected error of random rank-1 hardmax heads, for any law of <q, k>",
    latex=(
        r"\tfrac12\Bigl[\sum_{l \text{ odd}} E_l (1-\lambda_l c_l)^2 + \frac1H"
        r"\Bigl(A^2 - \sum_{l \text{ odd}} E_l \lambda_l^2 c_l^2\Bigr)\Bigr],\quad"
        r" c_l = \int P_l\,d\mu,\ A = |\mu|([0,1])"
    ),
    source=Source("explicit", "mean and variance of independent heads, by Funk and Hecke"),
    evidence=("ball arithmetic", "exact rational"),
    statement=STATED,
    check=check,
    mutations=(
        Mutation("the tail left out", replace(STATED, error=_without_tail)),
        Mutation("the variance of the heads left out", replace(STATED, error=_without_sampling)),
        Mutation(
            "one head more than was drawn",
            replace(STATED, error=lambda d, t, w, heads: _error_of_measure(d, t, w, heads + 1)),
        ),
        Mutation(
            "correction heads that take all of the missing weight each",
            replace(STATED, correction=lambda total: 1 - total),
        ),
    ),
)
