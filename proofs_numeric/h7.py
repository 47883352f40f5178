"""H7: energies of a function of the first n coordinates' direction, moment by moment."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from math import comb, factorial, prod
from random import Random

from flint import fmpq, fmpq_poly

from proofs_numeric import exact
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, equal
from proofs_numeric.harmonic_basis import Coefficients, harmonic_basis
from proofs_numeric.polynomials import Exponents, exponents


@dataclass(frozen=True, slots=True)
class Statement:
    """rho(l, j)^2 for (d, n, l, j), over (E sqrt(s))^2 where j is odd."""

    rho_squared: Callable[[int, int, int, int], fmpq]


def rising(x: Fraction, count: int) -> Fraction:
    """x (x+1) ... (x+count-1)."""
    return prod((x + i for i in range(count)), start=Fraction(1))


def beta_moment(d: int, n: int, doubled: int, other: int = 0) -> Fraction:
    """E s^{k/2} (1-s)^q for s ~ Beta(n/2, (d-n)/2), over E sqrt(s) where k is odd.

    Examples
    --------
    >>> beta_moment(4, 2, 2)
    Fraction(1, 2)
    """
    half = Fraction(doubled % 2, 2)
    above = rising(Fraction(n, 2) + half, doubled // 2) * rising(Fraction(d - n, 2), other)
    return above / rising(Fraction(d, 2) + half, doubled // 2 + other)


def jacobi(degree: int, alpha: Fraction, beta: Fraction) -> fmpq_poly:
    """The Jacobi polynomial of that degree in 2s-1, as a polynomial in s.

    Examples
    --------
    >>> jacobi(1, Fraction(0), Fraction(0))
    2*x + (-1)
    """
    m = degree
    return fmpq_poly(
        [
            exact.rational(
                (-1) ** (m - k)
                * comb(m, k)
                * rising(beta + 1 + k, m - k)
                * rising(alpha + beta + m + 1, k)
                / factorial(m)
            )
            for k in range(m + 1)
        ]
    )


def rho_squared(
    d: int,
    n: int,
    l: int,
    j: int,
    *,
    alpha_shift: int = -1,
    beta_shift: int = -1,
    weighted: bool = True,
) -> fmpq:
    """The stated E[s^{j/2} J(s)]^2 / E[s^j J(s)^2], with its parameters as they are or changed."""
    if j > l or (l - j) % 2:
        return fmpq(0)
    alpha, beta = Fraction(d - n, 2) + alpha_shift, j + Fraction(n, 2) + beta_shift
    J = jacobi((l - j) // 2, alpha, beta)

    def mean(doubled: int, p: fmpq_poly) -> fmpq:
        terms = enumerate(p.coeffs())
        moments = (c * exact.rational(beta_moment(d, n, doubled + 2 * k)) for k, c in terms)
        return sum(moments, fmpq(0))

    return mean(j, J) ** 2 / mean(2 * j if weighted else 0, J * J)


def lifted_energy(d: int, n: int, h: Coefficients, degree: int) -> fmpq:
    """The degree-l energy of h(u), u the direction of the first n coordinates of x.

    N(d, l) E h(x) h(x') P_l(<x, x'>) for independent x, x', expanded in monomials:
    <x, x'>^k is the sum of k!/alpha! x^alpha x'^alpha. All exponents of h must have
    one parity; for odd ones the result is over (E sqrt(s))^2.
    """
    total = fmpq(0)
    for k, c in enumerate(exact.legendre(d, degree).coeffs()):
        if c != 0:
            total += c * sum(
                (
                    fmpq(factorial(k), prod(map(factorial, alpha))) * _moment(d, n, h, alpha) ** 2
                    for alpha in exponents(d, k)
                ),
                fmpq(0),
            )
    return exact.harmonics_count(d, degree) * total


def _moment(d: int, n: int, h: Coefficients, alpha: Exponents) -> fmpq:
    """E h(u) x^alpha: x is sqrt(s) u and sqrt(1-s) v with independent s, u, v."""
    inner, outer = alpha[:n], alpha[n:]
    if any(power % 2 for power in outer):
        return fmpq(0)
    over_u = sum(
        (
            c
            * exact.rational(exact.monomial_moment([i + k for i, k in zip(m, inner, strict=True)]))
            for m, c in h.items()
        ),
        fmpq(0),
    )
    if over_u == 0:
        return over_u
    scale = beta_moment(d, n, sum(inner), sum(outer) // 2) * exact.monomial_moment(outer)
    return over_u * exact.rational(scale)


@cache
def _harmonic(n: int, j: int) -> Coefficients:
    """Some harmonic of degree j with coefficients that nothing else depends on."""
    rng = Random(7 + j)
    total: Coefficients = {}
    for p in harmonic_basis(n, j):
        factor = rng.choice((-2, -1, 1, 2, 3))
        for monomial, c in p.items():
            total[monomial] = total.get(monomial, fmpq(0)) + factor * c
    return total


def _mean_square(n: int, p: Coefficients) -> fmpq:
    return sum(
        (
            a
            * b
            * exact.rational(exact.monomial_moment([i + k for i, k in zip(s, t, strict=True)]))
            for s, a in p.items()
            for t, b in p.items()
        ),
        fmpq(0),
    )


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """One harmonic, mixtures of two, and n = 1, which is the sign of H3; all exact."""
    cases = [(3, 2, 6), (4, 2, 6), (4, 3, 6), (5, 2, 5), (5, 3, 4), (6, 4, 4)]
    if effort == "full":
        cases = [(3, 2, 12), (4, 2, 10), (4, 3, 10), (5, 2, 9), (5, 4, 8), (6, 3, 7), (7, 2, 6)]
    for d, n, most in cases:
        for j in range(min(most, 4) + 1):
            h = _harmonic(n, j)
            square = _mean_square(n, h)
            for l in range(most + 1):
                found = lifted_energy(d, n, h, l) / square
                yield equal(f"rho({l},{j})^2, d={d}, n={n}", stated.rho_squared(d, n, l, j), found)
        for i, j in ((1, 3), (0, 2)):
            first, second = _harmonic(n, i), _harmonic(n, j)
            both = {monomial: c for h in (first, second) for monomial, c in h.items()}
            for l in range(i, most + 1, 2):
                total = stated.rho_squared(d, n, l, i) * _mean_square(n, first)
                total += stated.rho_squared(d, n, l, j) * _mean_square(n, second)
                what = f"energy of degrees {i} and {j} together, l={l}, d={d}, n={n}"
                yield equal(what, total, lifted_energy(d, n, both, l))
    for d in (2, 3, 4, 5, 8, 64):
        for l in range(1, 22 if effort == "quick" else 62, 2):
            # E sqrt(s) = E|x_1| there.
            energy = exact.sign_energy(d, l) / exact.absolute_moment(d, 1) ** 2
            what = f"rho({l},1)^2 as the energy of the sign, d={d}"
            yield equal(what, stated.rho_squared(d, 1, l, 1), exact.rational(energy))


CLAIM = Claim(
    id="H7",
    words="energies of a function of the first n coordinates' direction",
    latex=(
        r"\|h\|_l^2 = \sum_{j \le l,\ l-j \text{ even}} a_j\, \rho(l,j)^2,\qquad"
        r" \rho(l,j) = \frac{\mathbb{E}[s^{j/2} J(s)]}{\sqrt{\mathbb{E}[s^j J(s)^2]}},\quad"
        r" s \sim \mathrm{Beta}\bigl(\tfrac n2, \tfrac{d-n}2\bigr),\quad"
        r" J(s) = P_{(l-j)/2}^{((d-n)/2-1,\ j+n/2-1)}(2s-1)"
    ),
    source=Source("explicit", "harmonics separated over the first n and the other coordinates"),
    evidence=("exact rational",),
    statement=Statement(rho_squared),
    check=check,
    mutations=(
        Mutation(
            "the first Jacobi parameter too large by one",
            Statement(partial(rho_squared, alpha_shift=0)),
        ),
        Mutation(
            "the second Jacobi parameter too large by one",
            Statement(partial(rho_squared, beta_shift=0)),
        ),
        Mutation(
            "the weight s^j left out of the norm",
            Statement(partial(rho_squared, weighted=False)),
        ),
        Mutation(
            "degrees of the other parity counted too",
            Statement(lambda d, n, l, j: rho_squared(d, n, l + (l - j) % 2, j)),
        ),
    ),
)
