"""The least error of given heads with polynomial weights, exact, for all head classes.

N = 2, orthonormal points, f - z/sqrt2 = x sign<x,y>/sqrt2. A head adds
V [x (phi_1 - phi_2) + z (phi_1 + phi_2)]/sqrt2 with any weights that are polynomials in
K^T x and K^T z of degree at most ``top``, their coefficients any functions of y. Only
polynomials of odd degree have a part along x sign<x,y>, by the reflection of all points.
So the least error is half the mean squared distance, over y, of x sign<x,y> to the
space of the fields V x M and V z M, M the monomials of odd degree: a matter of moments.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from math import factorial, prod

from flint import arb, fmpq, fmpq_mpoly, fmpq_mpoly_ctx, fmpz_mpoly

from boundcheck.problem import HeadClass
from proofs_numeric.exact import monomial_moment, rational, sign_coefficient
from proofs_numeric.frame_mean import (
    Vector,
    constant_vector,
    frame_mean,
    pairings_divisor,
    pairings_mean,
)
from proofs_numeric.integrals import density_constant
from proofs_numeric.least_squares import captured_energy, symmetric_matrix
from proofs_numeric.polynomials import Exponents, exponents, ring
from proofs_numeric.ridge import linear_form, quadratic_form

Matrix = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Head:
    """K with D rows and r columns, V with D rows and columns; whole numbers."""

    K: Matrix
    V: Matrix


@dataclass(frozen=True, slots=True)
class Mean:
    """E[<x, F> | x] of a field F on the frames (x, z), times ``divisor``, as a polynomial in x."""

    polynomial: fmpz_mpoly
    divisor: int


def _monomials(head: Head, degrees: Iterable[int]) -> Iterator[tuple[Exponents, Exponents]]:
    r = len(head.K[0])
    for degree in degrees:
        for powers in exponents(2 * r, degree):
            yield powers[:r], powers[r:]


def means(head: Head, head_class: HeadClass, degrees: Iterable[int]) -> Iterator[Mean]:
    """The means of one head's fields: V x M, and V z M unless phi_1 + phi_2 = 1.

    M runs over the monomials in K^T x and K^T z of those degrees. For standard heads
    <x, V z> itself is left, of mean 0.
    """
    D = len(head.K)
    columns = [constant_vector(column) for column in zip(*head.K, strict=True)]
    forms = [linear_form(column) for column in zip(*head.K, strict=True)]
    transposed = tuple(linear_form(column) for column in zip(*head.V, strict=True))  # V^T x
    for in_x, in_z in _monomials(head, degrees):
        along = prod(
            (form**n for form, n in zip(forms, in_x, strict=True)), start=ring(D).constant(1)
        )
        factors: list[tuple[Vector, int]] = list(zip(columns, in_z, strict=True))
        yield Mean(
            quadratic_form(head.V) * along * pairings_mean(D, factors),
            pairings_divisor(D, sum(in_z)),
        )
        if head_class != "standard":
            yield Mean(
                along * pairings_mean(D, [*factors, (transposed, 1)]),
                pairings_divisor(D, sum(in_z) + 1),
            )


def fields(
    head: Head, head_class: HeadClass, degrees: Iterable[int]
) -> Iterator[tuple[fmpz_mpoly, ...]]:
    """The fields themselves, in the order of `means`, in x_1, ..., x_D, z_1, ..., z_D."""
    D = len(head.K)
    columns = list(zip(*head.K, strict=True))
    for in_x, in_z in _monomials(head, degrees):
        M = ring(2 * D).constant(1)
        for side, powers in enumerate((in_x, in_z)):
            for column, n in zip(columns, powers, strict=True):
                M *= _linear(column, side) ** n
        for side in (0,) if head_class == "standard" else (0, 1):
            yield tuple(_linear(row, side) * M for row in head.V)


def _linear(row: Sequence[int], side: int) -> fmpz_mpoly:
    """<row, x> for side 0, <row, z> for side 1, in 2D variables."""
    D = len(row)
    variables = ring(2 * D).gens()[side * D : (side + 1) * D]
    return sum((c * v for c, v in zip(row, variables, strict=True)), ring(2 * D).constant(0))


def least_error(D: int, heads: Sequence[Head], head_class: HeadClass, top: int) -> arb:
    """The least error of these heads with weights of degree at most ``top``.

    For standard heads, of those layers whose V add up to the identity, so that the part
    along z is exact. Exact but for c_D^2, which is a ball.
    """
    degrees = range(1, top + 1, 2)
    space = [field for head in heads for field in fields(head, head_class, degrees)]
    gram = symmetric_matrix(space, partial(_product_mean, D))
    along_x = [mean for head in heads for mean in means(head, head_class, degrees)]
    images = [_sign_image(D, mean) for mean in along_x]
    target = symmetric_matrix(images, partial(_sphere_product, D))
    captured = captured_energy(gram, target)
    return (1 - arb(captured) * density_constant(D) ** 2) / 2


def _product_mean(D: int, F: Sequence[fmpz_mpoly], G: Sequence[fmpz_mpoly]) -> fmpq:
    zero = ring(2 * D).constant(0)
    return frame_mean(D, sum((a * b for a, b in zip(F, G, strict=True)), zero))


def _sign_image(D: int, mean: Mean) -> fmpq_mpoly:
    """E_X <F, x> sign<x,y> / c_D as a polynomial in y, on the sphere.

    The degree-l part of the mean is multiplied by lambda_l.
    """
    terms = mean.polynomial.to_dict().items()
    total = _rational_ring(D).constant(0)
    if not terms:
        return total
    p = _rational_ring(D).from_dict(
        {tuple(map(int, monomial)): fmpq(int(c), mean.divisor) for monomial, c in terms}
    )
    n = p.total_degree()
    for degree in range(n % 2, n + 1, 2):
        total += rational(sign_coefficient(D, degree)) * harmonic_part(p, degree)
    return total


def harmonic_part(p: fmpq_mpoly, degree: int) -> fmpq_mpoly:
    """The degree-l harmonic in p, a homogeneous polynomial, restricted to the sphere.

    With k = (deg p - l)/2, the k-th power of the Laplacian annihilates the parts above
    degree l and multiplies |x|^{2k} h by prod_j 2j (2j+2l+D-2); what it leaves of the parts
    below has a factor |x|^2, which the projection to harmonics removes.
    """
    D = p.context().nvars()
    k = (p.total_degree() - degree) // 2
    for j in range(1, k + 1):
        p = _laplacian(p) / fmpq(2 * j * (2 * j + 2 * degree + D - 2))
    square = sum((x * x for x in p.context().gens()), p.context().constant(0))
    total, power = p, p
    for i in range(1, degree // 2 + 1):
        power = _laplacian(power)
        below = 2**i * factorial(i) * prod(D + 2 * degree - 2 - 2 * j for j in range(1, i + 1))
        total += fmpq((-1) ** i, below) * square**i * power
    return total


def _sphere_product(D: int, p: fmpq_mpoly, q: fmpq_mpoly) -> fmpq:
    """E p(y) q(y), y uniform on the sphere."""
    terms = (p * q).to_dict().items()
    return sum((c * rational(monomial_moment([int(n) for n in m])) for m, c in terms), fmpq(0))


@cache
def _rational_ring(D: int) -> fmpq_mpoly_ctx:
    return fmpq_mpoly_ctx.get([f"x{i}" for i in range(D)], ring(D).ordering())


def _laplacian(p: fmpq_mpoly) -> fmpq_mpoly:
    total = p.context().constant(0)
    for i in range(p.context().nvars()):
        total += p.derivative(i).derivative(i)
    return total
