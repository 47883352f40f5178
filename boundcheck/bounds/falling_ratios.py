"""Proof, for one capacity, that m(l)/N(D,l) falls over all odd degrees from one on."""

from __future__ import annotations

from flint import fmpz_poly

from boundcheck.capacity import Capacity
from boundcheck.harmonics import dimension_ratio


def over_ridge_numerator(capacity: Capacity, l: fmpz_poly) -> fmpz_poly:
    """(l + r - 1) (l + r - 2) m(l)/m_r(l) as a polynomial, for l >= 2."""
    up = l + (capacity.r - 1)
    return (
        capacity.now * up * (up - 1)
        + capacity.before * l * (up - 1)
        + capacity.before2 * l * (l - 1)
    )


def ratios_fall(capacity: Capacity, degree: int) -> bool:
    """Whether m(l)/N(D,l) is shown to fall over l = degree, degree + 2, ...

    From l to l+2 it changes by a ratio of polynomials in l. Denominator minus
    numerator is never negative where all its coefficients in l - degree are >= 0.

    Examples
    --------
    >>> ratios_fall(Capacity(16, 4, 2, 0, 1), 1)
    True
    """
    D, r = capacity.D, capacity.r
    if degree == 1:
        # For r = 1 both polynomials have the factor l - 1: compare the values.
        up, down = dimension_ratio(D, 1)
        if capacity(3) * down > capacity(1) * up:
            return False
        degree = 3
    l = fmpz_poly([degree, 1])
    numerator = over_ridge_numerator(capacity, l)
    next_numerator = over_ridge_numerator(capacity, l + 2)
    above = (l + (r - 1)) * (l + (r - 2)) * (2 * l + (D - 2)) * next_numerator
    below = (2 * l + (D + 2)) * (l + (D - 1)) * (l + (D - 2)) * numerator
    return all(coefficient >= 0 for coefficient in (below - above).coeffs())
