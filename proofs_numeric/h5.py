"""H5: the sign is diagonal in the harmonics, its energy even over each degree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from math import comb
from random import Random

from flint import fmpq, fmpq_mat, fmpq_poly

from boundcheck.harmonics import (
    PiFraction,
    density_constant,
    energy,
    harmonic_dimension,
    sign_coefficient,
)
from proofs_numeric import exact
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, equal
from proofs_numeric.harmonic_basis import (
    gram_matrix,
    harmonic_basis,
    inner,
    sign_image,
    sphere_point,
    value,
)


@dataclass(frozen=True, slots=True)
class Statement:
    """The expansion of sign<x, y> over harmonics.

    Parameters
    ----------
    coefficient : callable
        E_x sign<x, y> Y(x) = coefficient(D, l) Y(y) for every Y of degree l.
    kernel : callable
        sum over an orthonormal basis of Y(x) Y(y), as a polynomial in <x, y>.
    share : callable
        E_y |E_x sign<x, y> Y(x)|^2 for every Y of degree l with E Y^2 = 1.
    """

    coefficient: Callable[[int, int], PiFraction]
    kernel: Callable[[int, int], fmpq_poly]
    share: Callable[[int, int], PiFraction]


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """All of it exactly, over a rational basis at rational points of the sphere."""
    rng = Random(5)
    largest = {2: 7, 3: 5, 4: 4, 5: 3}
    if effort == "full":
        largest = {2: 11, 3: 7, 4: 5, 5: 4, 6: 3}
    for D, most in largest.items():
        constant = density_constant(D)
        for l in range(most + 1):
            basis, gram = harmonic_basis(D, l), gram_matrix(D, l)
            where = f"D={D}, l={l}"
            inverse = gram.inv()
            y = sphere_point(rng, D)
            column = fmpq_mat([[value(p, y)] for p in basis])
            # The reproducing kernel of the degree, at two points and on the diagonal.
            for x in (sphere_point(rng, D), y):
                row = fmpq_mat([[value(p, x) for p in basis]])
                kernel = (row * inverse * column)[0, 0]
                yield equal(f"kernel, {where}", stated.kernel(D, l)(inner(x, y)), kernel)
            # Each function of a basis, hence each function of the degree.
            coefficient = _over(stated.coefficient(D, l), constant)
            for i, p in enumerate(basis):
                image = sign_image(p, y)
                yield equal(f"sign against Y_{i}, {where}", coefficient * column[i, 0], image)
            # So the mean square over y of the coefficient along Y is lambda_l^2 E Y^2.
            share = _over(stated.share(D, l), constant * constant)
            factor = exact.rational(exact.sign_coefficient(D, l))
            yield equal(f"share of one harmonic, {where}", share, factor**2)
            total = (column.transpose() * inverse * column)[0, 0] * factor**2
            what = f"energy of the degree, {where}"
            yield equal(what, exact.harmonics_count(D, l) * share, total)


def _over(x: PiFraction, unit: PiFraction) -> fmpq:
    assert not x.coefficient or x.power == unit.power
    return exact.rational(x.coefficient / unit.coefficient)


STATED = Statement(
    sign_coefficient,
    lambda D, l: harmonic_dimension(D, l) * exact.legendre(D, l),
    lambda D, l: energy(D, l) * Fraction(1, harmonic_dimension(D, l)),
)

CLAIM = Claim(
    id="H5",
    words="the sign over harmonics, energy even in each degree",
    latex=(
        r"\operatorname{sign}\langle x,y\rangle ="
        r" \sum_l \lambda_l \sum_m Y_{lm}(x) Y_{lm}(y),\qquad"
        r" \sum_m Y_{lm}(x) Y_{lm}(y) = N(D,l) P_l(\langle x,y\rangle)"
    ),
    source=Source("classical", "Funk-Hecke and the addition theorem"),
    evidence=("exact rational",),
    statement=STATED,
    check=check,
    mutations=(
        Mutation(
            "the signs of the coefficients dropped",
            replace(STATED, coefficient=lambda D, l: sign_coefficient(D, l) * (-1) ** (l // 2)),
        ),
        Mutation(
            "a kernel too large: all homogeneous polynomials counted",
            replace(STATED, kernel=lambda D, l: comb(D + l - 1, l) * exact.legendre(D, l)),
        ),
        Mutation(
            "a share too large: spread over one harmonic less",
            replace(
                STATED,
                share=lambda D, l: energy(D, l) * Fraction(1, max(1, harmonic_dimension(D, l) - 1)),
            ),
        ),
    ),
)
