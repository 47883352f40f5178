"""L1: the harmonics among the functions of K^T x, by exact ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random

from boundcheck.capacity import ridge_dimension
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, equal
from proofs_numeric.polynomials import exponents, rank, ring
from proofs_numeric.ridge import (
    degree_parts,
    harmonic_ridge_functions,
    modulo_squares,
    random_matrix,
    span_dimension,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """m_r(l), for (r, l)."""

    dimension: Callable[[int, int], int]


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """For random integer K of rank r < D, degree by degree.

    The harmonics that are functions of K^T x; the projections of functions of K^T x
    to the degree; and both together, which span no more.
    """
    rng = Random(11)
    largest = {3: 6, 4: 4, 5: 3} if effort == "quick" else {3: 10, 4: 7, 5: 5, 6: 4}
    for r in range(1, 6):
        yield equal(f"m_{r}(-1)", stated.dimension(r, -1), 0)
    for D, most in largest.items():
        for r in range(1, D):
            for l in range(most + 1):
                K = random_matrix(rng, D, r, r)
                m, where = stated.dimension(r, l), f"D={D}, r={r}, l={l}"
                ridge = harmonic_ridge_functions(K, l)
                yield equal(
                    f"harmonic functions of K^T x, {where}", m, rank(ridge, exponents(D, l))
                )
                parts = degree_parts(D, l, [ring(D).constant(1)], K, l + 4)
                what = f"projections of functions of K^T x, {where}"
                yield equal(what, m, span_dimension(D, l, parts))
                parts += [modulo_squares(p) for p in ridge]
                yield equal(f"both together, {where}", m, span_dimension(D, l, parts))


CLAIM = Claim(
    id="L1",
    words="functions of K^T x meet the degree-l harmonics in dimension m_r(l)",
    latex=(
        r"\dim\bigl(\{\varphi(K^\top x)\} \cap \mathcal{H}_l\bigr) ="
        r" \dim \Pi_l \{\varphi(K^\top x)\} = m_r(l) = \binom{r+l-1}{l},\qquad"
        r" \operatorname{rank} K = r < D"
    ),
    source=Source("explicit", "invariants of the rotations that fix the range of K"),
    evidence=("exact rank",),
    statement=Statement(ridge_dimension),
    check=check,
    mutations=(
        Mutation(
            "a dimension too small by one",
            Statement(lambda r, l: ridge_dimension(r, l) - (l >= 0)),
        ),
        Mutation(
            "a dimension too small: that of the harmonics in r variables",
            Statement(lambda r, l: ridge_dimension(r, l) - ridge_dimension(r, l - 2)),
        ),
    ),
)
