"""U3r: one layer of hardmax heads of rank r with Haar subspaces and equal values.

numpy is loaded by the functions that integrate.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, NamedTuple

from boundcheck.bounds.base import MAX_HEADS
from boundcheck.problem import Problem
from boundcheck.values import Direction, HeadCount, Kind, Numeric

#: Heads on pairs (q, k), (q, -k) that make the component along x_1 + x_2 exact.
CORRECTION_HEADS = 2


class AdvantageMoments(NamedTuple):
    """b = E|kappa_r| and m = E kappa_r^2, at a fine and a coarse level of quadrature."""

    b: float
    m: float
    coarse_b: float
    coarse_m: float


@lru_cache(maxsize=256)
def advantage_moments(d: int, r: int) -> AdvantageMoments:
    """b = E|kappa_r| and m = E kappa_r^2 for the vote advantage kappa_r.

    Examples
    --------
    >>> moments = advantage_moments(3, 1)
    >>> round(moments.b, 6)  # (2/pi) E arcsin|t| with |t| uniform
    0.36338
    """
    from boundcheck.voting import advantage_laws

    fine, coarse = (
        (law.mean(law.advantages), law.mean(law.advantages**2)) for law in advantage_laws(d, r)
    )
    return AdvantageMoments(*fine, *coarse)


def haar_heads_error(d: int, r: int, random_heads: int) -> Numeric:
    """Error of H Haar hardmax heads of rank r, all with the best value A/H (U3r).

    1/2 [1 - b^2 / (m + (1-m)/H)], with b = E|kappa_r| and m = E kappa_r^2.

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    random_heads : int
        H >= 1; the whole layer has H + 2 heads.

    Returns
    -------
    Numeric

    Examples
    --------
    >>> round(haar_heads_error(64, 4, 1024).value, 4)
    0.184
    """
    from boundcheck.quadrature import numeric_value

    b, m, coarse_b, coarse_m = advantage_moments(d, r)
    return numeric_value(_error(b, m, random_heads), _error(coarse_b, coarse_m, random_heads), 1.0)


def _error(b: float, m: float, heads: int) -> float:
    return 0.5 * (1 - b * b / (m + (1 - m) * (1 / heads)))


def haar_heads_error_curve(d: int, r: int, random_heads: Iterable[int]) -> list[Numeric]:
    """U3r's error for several H, integrating once.

    Examples
    --------
    >>> [round(error.value, 4) for error in haar_heads_error_curve(64, 4, [64, 1024])]
    [0.2719, 0.184]
    """
    return [haar_heads_error(d, r, H) for H in random_heads]


def haar_heads_error_limit(d: int, r: int) -> Numeric:
    """1/2 (1 - b^2 / m), to which U3r's error falls as H grows.

    Examples
    --------
    >>> round(haar_heads_error_limit(64, 4).value, 4)
    0.1757
    """
    from boundcheck.quadrature import numeric_value

    b, m, coarse_b, coarse_m = advantage_moments(d, r)
    return numeric_value(0.5 * (1 - b * b / m), 0.5 * (1 - coarse_b**2 / coarse_m), 1.0)


def _least_random_heads(d: int, r: int, eps: Fraction) -> int | None:
    """The least H whose error and its estimate stay within eps; None above MAX_HEADS."""

    def reaches(heads: int) -> bool:
        found = haar_heads_error(d, r, heads)
        return Fraction(found.value) + Fraction(found.error_estimate) <= eps

    low, high = 0, MAX_HEADS - CORRECTION_HEADS
    if not reaches(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _ranks(r: int) -> list[int]:
    """Ranks r' <= r to choose from, r first.

    b and b^2/m rise with r for d = 3, 4, 5, 8, 16, 64 and 200, so r' = r is best there; a
    coarse set guards the other dimensions. Any r' <= r gives a valid bound.
    """
    return [r, *(2**j for j in range((r - 1).bit_length()))]


class U3r:
    """U3r: hardmax heads of rank r' <= r in random subspaces, equal values.

    Examples
    --------
    >>> U3r().heads(Problem.of(64, 4, "0.3")).heads
    46
    """

    id: ClassVar[str] = "U3r"
    name: ClassVar[str] = "random rank-r heads, equal values"
    direction: ClassVar[Direction] = "upper"
    kind: ClassVar[Kind] = "numeric"
    depth: ClassVar[int] = 1
    scores: ClassVar[str] = "hardmax"

    def why_not(self, problem: Problem) -> str | None:
        """None: hardmax heads with scalar values lie in every class, with or without a skip."""
        return None

    def rank(self, problem: Problem) -> int:
        """The r' <= r that needs the fewest heads for eps; r without eps."""
        return problem.r if problem.eps is None else self._fewest(problem)[1]

    def error(self, problem: Problem, heads: int) -> Numeric:
        """The error with ``heads`` whole heads, two of them for the correction.

        One or two heads average the points; heads of rank d are exact.

        Examples
        --------
        >>> round(U3r().error(Problem.of(64, 4), 1026).value, 4)
        0.184
        """
        if heads == 0:
            return Numeric(1.0, 0.0)
        if problem.r == problem.d:
            return Numeric(0.0, 0.0)
        if heads <= CORRECTION_HEADS:
            return Numeric(0.5, 0.0)
        random_heads = heads - CORRECTION_HEADS
        errors = [haar_heads_error(problem.d, r, random_heads) for r in _ranks(problem.r)]
        return min(errors, key=lambda error: error.value)

    def heads(self, problem: Problem) -> HeadCount:
        """The least whole count whose error, with its estimate, is at most eps."""
        random_heads, rank = self._fewest(problem)
        if random_heads is not None:
            return HeadCount(random_heads + (CORRECTION_HEADS if rank < problem.d else 0))
        limit = haar_heads_error_limit(problem.d, rank).value
        if limit > problem.target_eps:
            return HeadCount(None, f"saturates at error {limit:.4f}")
        return HeadCount(None, "more than 10^18 heads")

    def _fewest(self, problem: Problem) -> tuple[int | None, int]:
        d, eps = problem.d, problem.target_eps
        if problem.r == d:
            return 1, d
        counts = [(_least_random_heads(d, r, eps), r) for r in _ranks(problem.r)]
        return min(counts, key=lambda count: MAX_HEADS if count[0] is None else count[0])
