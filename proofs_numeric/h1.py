"""H1: the dimension of the degree-l harmonics, as the kernel of the Laplacian."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import comb

from boundcheck.harmonics import harmonic_dimension
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, equal
from proofs_numeric.polynomials import exponents, laplacian, rank, ring


@dataclass(frozen=True, slots=True)
class Statement:
    """N(D, l)."""

    dimension: Callable[[int, int], int]


def kernel_dimension(D: int, degree: int) -> int:
    """The dimension of the homogeneous polynomials whose Laplacian vanishes.

    Examples
    --------
    >>> kernel_dimension(3, 2)
    5
    """
    monomials = list(exponents(D, degree))
    if degree < 2:
        return len(monomials)
    images = [laplacian(ring(D).from_dict({monomial: 1})) for monomial in monomials]
    return len(monomials) - rank(images, exponents(D, degree - 2))


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """N(D, l) against the kernel, for every degree up to one for each D."""
    largest = {2: 12, 3: 10, 4: 7, 5: 5, 6: 4, 7: 3}
    if effort == "full":
        largest = {2: 40, 3: 20, 4: 12, 5: 8, 6: 7, 7: 5, 8: 4, 9: 4}
    for D, most in largest.items():
        for l in range(most + 1):
            yield equal(f"N({D}, {l})", stated.dimension(D, l), kernel_dimension(D, l))


STATED = Statement(harmonic_dimension)

CLAIM = Claim(
    id="H1",
    words="dimension of the degree-l harmonics in R^D",
    latex=(
        r"N(D,l) = \dim \ker\bigl(\Delta \colon \mathcal{P}_l(\mathbb{R}^D) \to"
        r" \mathcal{P}_{l-2}(\mathbb{R}^D)\bigr) = \binom{D+l-1}{l} - \binom{D+l-3}{l-2}"
    ),
    source=Source("classical", "spherical harmonics"),
    evidence=("exact rank",),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "all homogeneous polynomials counted, harmonic or not",
            Statement(lambda D, l: comb(D + l - 1, l)),
        ),
        Mutation(
            "the multiples of |x|^2 counted in one variable too few",
            Statement(lambda D, l: comb(D + l - 1, l) - (comb(D + l - 4, l - 2) if l > 1 else 0)),
        ),
    ),
)
