"""How much of the degree-l harmonics one low-rank head can reach (L1, L2)."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

from boundcheck.problem import HeadClass


def ridge_dimension(r: int, degree: int) -> int:
    """m_r(l) = C(r+l-1, l): the degree-l part of functions of K^T x (L1).

    Parameters
    ----------
    r : int
        Rank of K, r >= 1.
    degree : int
        l; any integer, 0 for l < 0.

    Returns
    -------
    int
        Exact.

    Examples
    --------
    >>> ridge_dimension(4, 3)
    20
    """
    return comb(r + degree - 1, degree) if degree >= 0 else 0


@dataclass(frozen=True, slots=True)
class Capacity:
    """One head's share of each degree: m(l) = now m_r(l) + before m_r(l-1) + before2 m_r(l-2).

    Parameters
    ----------
    D : int
        The bound speaks of functions on the sphere S^{D-1}.
    r : int
        Rank of the head.
    now, before, before2 : int
        How often each ridge space enters (L2).

    Examples
    --------
    >>> Capacity(16, 4, 2, 0, 1)(3)
    44
    """

    D: int
    r: int
    now: int
    before: int
    before2: int

    def __call__(self, degree: int) -> int:
        r = self.r
        return (
            self.now * ridge_dimension(r, degree)
            + self.before * ridge_dimension(r, degree - 1)
            + self.before2 * ridge_dimension(r, degree - 2)
        )

    def over_ridge(self, degree: int) -> tuple[int, int]:
        """m(l) / m_r(l) as numerator and denominator, for l >= 1.

        At most `over_ridge_limit`, since m_r is non-decreasing in l.
        """
        r, l = self.r, degree
        if l == 1:
            return self.now * r + self.before, r
        one, two = r + l - 1, r + l - 2
        return self.now * one * two + self.before * l * two + self.before2 * l * (l - 1), one * two

    def takes_all(self, heads: int) -> bool:
        """Whether heads * m(l) >= N(D,l) for every l is known, so that T1 is 0.

        m_r(l)/N(D,l) is at least 1 for r >= D, and falls to 1/2 for r = D-1.
        """
        r, D = self.r, self.D
        return r >= D or (r == D - 1 and heads * self.now >= 2)

    @property
    def over_ridge_limit(self) -> int:
        """An upper bound of m(l) / m_r(l) for every l, and its limit."""
        return self.now + self.before + self.before2


def capacities(d: int, r: int, head_class: HeadClass) -> tuple[Capacity, ...]:
    """The valid multiplicities for T1 at N=2; the best bound is their largest.

    Examples
    --------
    >>> [c(3) for c in capacities(16, 4, "standard")]
    [44]
    """
    match head_class:
        case "scalar":
            return (Capacity(d, r, 1, 0, 0),)
        case "standard":
            return (Capacity(d, r, 2, 0, 1),)
        case "generalized":
            return (Capacity(d - 1, r, 2, 1, 1), Capacity(d, r, 2, r, 1))
