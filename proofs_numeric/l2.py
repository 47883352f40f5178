"""L2: how much of a degree one head reaches, in all three head classes, by exact ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

from flint import fmpz_mpoly

from boundcheck.capacity import Capacity, capacities
from boundcheck.problem import HEAD_CLASSES, HeadClass
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, at_most, equal
from proofs_numeric.exact import harmonics_count
from proofs_numeric.polynomials import ring
from proofs_numeric.ridge import (
    degree_parts,
    linear_form,
    quadratic_form,
    random_matrix,
    span_dimension,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """What one head spans at most in each odd degree.

    Parameters
    ----------
    capacities : callable
        The multiplicities for (d, r, head class).
    dimension : callable
        m(l) for a capacity and a degree.
    """

    capacities: Callable[[int, int, HeadClass], Sequence[Capacity]]
    dimension: Callable[[Capacity, int], int]


def factors(rng: Random, D: int, head_class: HeadClass, linear: int, rank: int) -> list[fmpz_mpoly]:
    """What multiplies functions of K^T x in <x, head>: 1, or x^T V x and linear forms.

    Scalar heads: V is the identity and |x|^2 = 1. Standard ones: the linear forms
    average out. Generalized ones: one linear form given z, or r of them given x.
    """
    if head_class == "scalar":
        return [ring(D).constant(1)]
    forms = [quadratic_form(random_matrix(rng, D, D, rank))]
    return forms + [linear_form(random_matrix(rng, 1, D, 1)[0]) for _ in range(linear)]


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """At most m(l) for every K and V; exactly m(l) for generic ones.

    What one draw spans, generic ones span too. They must span m(l) if 2r plus the
    number of linear forms is at most D: then K, V K and the forms are independent.
    """
    rng = Random(12)
    for d, r, l in _cases(effort):
        for head_class in HEAD_CLASSES:
            for capacity in stated.capacities(d, r, head_class):
                D = capacity.D
                linear = 0 if head_class != "generalized" else r if d == D else 1
                N, m = harmonics_count(D, l), stated.dimension(capacity, l)
                where = f"{head_class}, D={D}, r={r}, l={l}"
                most = 0
                for rank in (D, D, D, 1, D // 2):
                    K = random_matrix(rng, D, r, min(r, D))
                    multipliers = factors(rng, D, head_class, linear, rank)
                    spanned = span_dimension(D, l, degree_parts(D, l, multipliers, K, l + 4))
                    most = max(most, spanned)
                    yield at_most(f"{where}, rank of V {rank}", spanned, min(m, N))
                attained = head_class == "scalar" or 2 * r + linear <= D
                if attained and r < D and m <= N:
                    yield equal(f"{where}: attained", m, most)


def _cases(effort: Effort) -> Iterator[tuple[int, int, int]]:
    """(d, r, l) with odd l."""
    if effort == "quick":
        yield from [(3, 1, 3), (3, 2, 3), (4, 1, 5), (4, 2, 1), (4, 2, 3), (4, 3, 1), (5, 1, 7)]
        yield from [(5, 2, 3), (6, 2, 3), (6, 3, 1)]
        return
    for d in range(3, 9):
        for r in range(1, d):
            for l in range(1, {3: 12, 4: 10, 5: 6, 6: 6}.get(d, 4), 2):
                if r <= (4 if d < 6 else 3 if d < 7 else 2) or l == 1:
                    yield d, r, l
    yield 9, 3, 3


STATED = Statement(capacities, lambda capacity, l: capacity(l))


def _changed(head_class: HeadClass, **less: int) -> Statement:
    """The stated capacities, smaller for one class by these multiplicities."""

    def changed(d: int, r: int, wanted: HeadClass) -> tuple[Capacity, ...]:
        found = capacities(d, r, wanted)
        if wanted != head_class:
            return found
        return tuple(
            replace(c, **{name: max(0, getattr(c, name) - by) for name, by in less.items()})
            for c in found
        )

    return replace(STATED, capacities=changed)


CLAIM = Claim(
    id="L2",
    words="one head spans at most m(l) of odd degree l; attained at generic K, V",
    latex=(
        r"\dim \Pi_l \{x^\top V x\, \varphi(K^\top x)\} \le 2 m_r(l) + m_r(l-2)"
        r" \text{ for odd } l, \text{ with equality for generic } V \text{ if } r \le D-r;"
        r"\quad \langle v,x\rangle\, \varphi(K^\top x) \text{ adds at most } m_r(l-1)"
    ),
    source=Source("explicit", "V split into parts under the rotations that fix the range of K"),
    evidence=("exact rank",),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "every m(l) too small by one",
            replace(STATED, dimension=lambda capacity, l: capacity(l) - 1),
        ),
        Mutation("scalar: nothing spanned", _changed("scalar", now=1)),
        Mutation("standard: m_r(l) once instead of twice", _changed("standard", now=1)),
        Mutation("standard: m_r(l-2) left out", _changed("standard", before2=1)),
        Mutation("generalized: one linear form less", _changed("generalized", before=1)),
        Mutation("generalized: m_r(l-2) left out", _changed("generalized", before2=1)),
    ),
)
