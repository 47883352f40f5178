"""U3: one layer of random hardmax heads of rank one, drawn from the best measure.

numpy is loaded by the functions that solve for the measure.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

from boundcheck.bounds.base import MAX_HEADS
from boundcheck.bounds.zonal_measure import ZonalMeasure
from boundcheck.problem import Problem
from boundcheck.values import Direction, Enclosure, HeadCount, Kind

#: Heads on pairs (q, k), (q, -k) that make the component along x_1 + x_2 exact.
CORRECTION_HEADS = 2

#: Measures are solved for counts of this many binary digits; other counts use
#: the measure of the next smaller one. That costs less than 1e-7 of the error
#: and keeps the bound falling in H: above 10^14 heads one head more gains less
#: than the rounding of a solver.
_COUNT_BITS = 11


class U3:
    """U3: hardmax heads of rank 1, random with the best law of <q, k>.

    Examples
    --------
    >>> U3().heads(Problem.of(64, 4, "0.2")).heads
    2421
    """

    id: ClassVar[str] = "U3"
    name: ClassVar[str] = "random rank-one heads, best angles"
    direction: ClassVar[Direction] = "upper"
    kind: ClassVar[Kind] = "certified"
    depth: ClassVar[int] = 1
    scores: ClassVar[str] = "hardmax"

    def why_not(self, problem: Problem) -> str | None:
        """None: rank-one heads are allowed at every rank, with or without a skip."""
        return None

    def rank(self, problem: Problem) -> int:
        """1, whatever r is."""
        return 1

    def error(self, problem: Problem, heads: int) -> Enclosure:
        """The expected error with ``heads`` heads, the two correction heads among them.

        No head has error E|f|^2 = 1. One or two can average the points (K = 0),
        which has error 1/2.
        """
        if heads == 0:
            return Enclosure.exactly(1)
        if heads <= CORRECTION_HEADS:
            return Enclosure.exactly(Fraction(1, 2))
        return random_heads_error_upper_bound(problem.d, heads - CORRECTION_HEADS)

    def heads(self, problem: Problem) -> HeadCount:
        """The least whole count whose certified error is at most eps."""
        eps = problem.target_eps
        most = MAX_HEADS - CORRECTION_HEADS
        count = _least_random_heads(problem.d, eps, most)
        if count is None:
            reached = float(random_heads_error_upper_bound(problem.d, most).hi)
            return HeadCount(
                None, f"not reached: 10^18 heads are only known to reach error {reached:.4f}"
            )
        return HeadCount(count + CORRECTION_HEADS)


def random_heads_error_upper_bound(d: int, random_heads: int) -> Enclosure:
    """U3: the expected error of a layer with that many random heads.

    Two correction heads are not counted. Some layer does at least as well, so
    ``hi`` is an upper bound on the least error; it never rises with the count.

    Parameters
    ----------
    d : int
        d >= 3.
    random_heads : int
        H >= 1.

    Returns
    -------
    Enclosure
        Of the expected error for the measure of `random_heads_measure`.

    Examples
    --------
    >>> f"{float(random_heads_error_upper_bound(30, 1024).hi):.4f}"
    '0.2005'
    """
    return random_heads_measure(d, random_heads).error(random_heads)


@lru_cache(maxsize=512)
def _measure(d: int, rounded: int) -> ZonalMeasure:
    from boundcheck.bounds.best_measure import best_measure

    return best_measure(d, rounded)


def random_heads_measure(d: int, random_heads: int) -> ZonalMeasure:
    """The measure to draw that many heads from (U3): nodes, weights, variation.

    Parameters
    ----------
    d : int
        d >= 3.
    random_heads : int
        H >= 1.

    Examples
    --------
    >>> measure = random_heads_measure(64, 4096)
    >>> measure.nodes, f"{float(measure.variation):.3f}"
    ((1.0,), '9.600')
    """
    surplus = max(0, random_heads.bit_length() - _COUNT_BITS)
    return _measure(d, random_heads >> surplus << surplus)


def random_heads_error_curve(d: int, counts: Iterable[int]) -> list[Enclosure]:
    """`random_heads_error_upper_bound` for several counts of random heads.

    Examples
    --------
    >>> [f"{float(error.hi):.4f}" for error in random_heads_error_curve(64, [256, 4096])]
    ['0.3009', '0.1924']
    """
    return [random_heads_error_upper_bound(d, count) for count in counts]


def _least_random_heads(d: int, eps: Fraction, most: int) -> int | None:
    """The least H <= most whose error bound is at most eps, None if there is none."""

    def reaches(count: int) -> bool:
        return random_heads_error_upper_bound(d, count).hi <= eps

    if not reaches(most):
        return None
    # 2^k reaches eps at k = above (most stands for the last power), not at below.
    below, above = -1, most.bit_length()
    while above - below > 1:
        middle = (below + above) // 2
        if reaches(1 << middle):
            above = middle
        else:
            below = middle
    low, high = 1 << below if below >= 0 else 0, min(1 << above, most)
    # The error as a function of 1/H is the lower envelope of one line for each
    # measure, so the line at a count that reaches eps leads to a smaller one
    # that does: Newton's method, halving the bracket where rounding stops it.
    while high - low > 1:
        guess = random_heads_measure(d, high).least_heads(eps)
        if guess is None or guess <= low:
            guess = (low + high) // 2
        guess = min(guess, high - 1)
        if reaches(guess):
            high = guess
        else:
            low = guess
    return high
