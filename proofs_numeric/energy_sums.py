"""The lower bounds summed by another route: Gamma functions, then a telescoped rest.

Nothing here uses the recurrence in l of the library's series: every coefficient is
lambda_l = (-1)^{(l-1)/2} Gamma(D/2) Gamma(l/2) / (pi Gamma((l+D)/2)), which is H2 at
tau = 0 with P_{l-1}^{[D+2]}(0) written out. D >= 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from flint import arb, fmpq_poly

from boundcheck.errors import UndecidedError
from proofs_numeric.telescoping import tail_factors

#: Terms of the telescoped rest, and degrees from which it is tried.
_TERMS = 10
_FIRST_DEGREES = (41, 101, 241, 601, 1601, 4001, 10001)
#: A rest below this part of the bound is left as an interval from 0.
_NEGLIGIBLE = 1e-40

#: (D - d, how often m_r(l), m_r(l-1), m_r(l-2) enter m(l)); r stands for the rank.
MULTIPLICITIES: dict[str, tuple[tuple[int, tuple[int | str, ...]], ...]] = {
    "scalar": ((0, (1, 0, 0)),),
    "standard": ((0, (2, 0, 1)),),
    "generalized": ((-1, (2, 1, 1)), (0, (2, "r", 1))),
}


def dimension(D: int, degree: int) -> int:
    """N(D, l) = (2l+D-2)/(D-2) C(l+D-3, l).

    Examples
    --------
    >>> dimension(3, 5)
    11
    """
    return (2 * degree + D - 2) * comb(degree + D - 3, degree) // (D - 2)


def sign_coefficient(D: int, degree: int) -> arb:
    """lambda_l for odd l, by Gamma functions."""
    gammas = arb(D) / 2, arb(degree) / 2, arb(degree + D) / 2
    size: arb = (gammas[0].lgamma() + gammas[1].lgamma() - gammas[2].lgamma()).exp() / arb.pi()
    return size if degree % 4 == 1 else -size


def energy(D: int, degree: int) -> arb:
    """E_l(D) for odd l.

    Examples
    --------
    >>> abs(energy(3, 3) - arb(7) / 64) < 1e-14
    True
    """
    return dimension(D, degree) * sign_coefficient(D, degree) ** 2


def ridge(r: int, degree: int) -> int:
    """m_r(l) = C(r+l-1, l)."""
    return comb(r + degree - 1, degree) if degree >= 0 else 0


def capacity(r: int, weights: Sequence[int], degree: int) -> int:
    """m(l), given how often m_r(l), m_r(l-1) and m_r(l-2) enter."""
    return sum(w * ridge(r, degree - j) for j, w in enumerate(weights))


def class_bound(d: int, r: int, head_class: str, heads: int, first: int = 1) -> arb:
    """T1 for the class: the larger of its conditions. ``first`` = 3 leaves out degree 1."""
    best = arb(0)
    for shift, symbols in MULTIPLICITIES[head_class]:
        # At D = 2 nothing is left: m(l) >= 2 = N(2,l).
        if d + shift > 2:
            weights = [r if isinstance(w, str) else w for w in symbols]
            best = best.max(lower_bound(d + shift, r, weights, heads, first))
    return best


def lower_bound(D: int, r: int, weights: Sequence[int], heads: int, first: int = 1) -> arb:
    """1/2 sum over odd l >= first of E_l max(0, 1 - H m(l)/N(D,l)), r < D."""
    return _sum(D, r, weights, heads, first) / 2


def _sum(D: int, r: int, weights: Sequence[int], heads: int, first: int) -> arb:
    total, left, l = arb(0), arb(1), 1
    for degree in _FIRST_DEGREES:
        while l < degree:
            E = energy(D, l)
            left -= E
            free = dimension(D, l) - heads * capacity(r, weights, l)
            if l >= first and free > 0:
                total += E * free / dimension(D, l)
            l += 2
        if degree < first:
            continue
        # m(l) <= sum(weights) m_r(l), and m_r(l)/N(D,l) falls: from l to l+1 by
        # the factor (r+l)(2l+D-2) / ((2l+D)(l+D-2)), which is at most 1 for r < D.
        if heads * sum(weights) * ridge(r, degree) > dimension(D, degree):
            continue
        most = left * heads * sum(weights) * ridge(r, degree) / dimension(D, degree)
        if most < _NEGLIGIBLE * left:
            return total + left - arb(0).union(most)
        try:
            taken = sum(
                (w * _ridge_tail(D, r, j, degree) for j, w in enumerate(weights) if w), arb(0)
            )
        except UndecidedError:
            continue
        return total + left - heads * taken
    raise UndecidedError(f"no enclosure: D={D}, r={r}, H={heads}")


def _ridge_tail(D: int, r: int, shift: int, first: int) -> arb:
    """The sum of lambda_l^2 m_r(l - shift) over l = first, first+2, ..."""
    l = fmpq_poly([0, 1])
    n = l - shift
    above, below = l**2 * (r + n) * (r + n + 1), (l + D) ** 2 * (n + 1) * (n + 2)
    # m_1 = 1: the factors cancel.
    if r == 1:
        above, below = l**2, (l + D) ** 2
    lo, hi = tail_factors(above, below, first, _TERMS)
    return arb(lo).union(arb(hi)) * sign_coefficient(D, first) ** 2 * ridge(r, first - shift)


def energy_below(D: int, degree: int) -> arb:
    """E_1 + E_3 + ... up to, and without, degree l."""
    return sum((energy(D, l) for l in range(1, degree, 2)), arb(0))


def gegenbauer_ratio(D: int, degree: int, t: arb) -> arb:
    """P_l(t) in dimension D >= 3, from flint's Gegenbauer function."""
    if t == 1:  # where flint has no value
        return arb(1)
    return t.gegenbauer_c(arb(degree), arb(D - 2) / 2) / comb(degree + D - 3, degree)
