"""The least error of scalar rank-1 heads with polynomial weights in <k_h, x>, exact.

Least squares over the powers <k_h, x>^a, a odd, from moments alone: neither harmonics
nor energies enter. N = 2, orthonormal points, the part along z exact.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import comb

from flint import arb, fmpq, fmpq_poly

from proofs_numeric.exact import T, monomial_moment, rational, signed_monomial_moment
from proofs_numeric.harmonic_basis import Point, inner
from proofs_numeric.integrals import density_constant
from proofs_numeric.least_squares import captured_energy, symmetric_matrix


def least_rank_one_error(directions: Sequence[Point], top: int) -> arb:
    """1/2 E_y of the squared distance of sign<.,y> to the polynomials of degree <= top.

    Parameters
    ----------
    directions : sequence of points
        k_1, ..., k_H, rational points of the sphere.
    top : int
        The largest power, odd.

    Returns
    -------
    arb
        Exact but for c_D^2.

    Examples
    --------
    >>> print(least_rank_one_error([(fmpq(0), fmpq(0), fmpq(1))], 1).str(5, radius=False))
    0.37500
    """
    D = len(directions[0])
    basis = [(k, a) for k in directions for a in range(1, top + 1, 2)]
    images = {a: list(enumerate(_sign_image(D, a).coeffs()))[1::2] for _, a in basis}

    def product(first: tuple[Point, int], second: tuple[Point, int]) -> fmpq:
        cosine = inner(first[0], second[0])
        return _moment(D, cosine, first[1], second[1])

    def target(first: tuple[Point, int], second: tuple[Point, int]) -> fmpq:
        cosine = inner(first[0], second[0])
        return sum(
            (
                c * e * _moment(D, cosine, m, n)
                for m, c in images[first[1]]
                for n, e in images[second[1]]
            ),
            fmpq(0),
        )

    captured = captured_energy(symmetric_matrix(basis, product), symmetric_matrix(basis, target))
    return (1 - arb(captured) * density_constant(D) ** 2) / 2


@cache
def _axes_moment(D: int, first: int, second: int) -> fmpq:
    """E x_1^a x_2^b."""
    return rational(monomial_moment([first, second, *[0] * (D - 2)]))


@cache
def _moment(D: int, cosine: fmpq, a: int, b: int) -> fmpq:
    """E <k,x>^a <q,x>^b for unit vectors with <k,q> = cosine and a + b even."""
    square = 1 - cosine**2
    return sum(
        (
            comb(b, j) * cosine**j * square ** ((b - j) // 2) * _axes_moment(D, a + j, b - j)
            for j in range(b % 2, b + 1, 2)
        ),
        fmpq(0),
    )


@cache
def _sign_image(D: int, a: int) -> fmpq_poly:
    """E sign<x,y> <k,x>^a / c_D as a polynomial in <k,y>, a odd."""
    total = fmpq_poly()
    for j in range(1, a + 1, 2):
        moment = signed_monomial_moment([j, a - j, *[0] * (D - 2)])
        total += comb(a, j) * rational(moment) * T**j * (1 - T**2) ** ((a - j) // 2)
    return total
