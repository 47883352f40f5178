"""The closed form of T5, certified: one degree of T1 instead of the best sum of them.

Loads python-flint; import it where it is used.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from boundcheck.balls import ball, enclosure, working_precision
from boundcheck.bounds.lower_balls import Spectrum
from boundcheck.capacity import Capacity, capacities
from boundcheck.harmonics import EnergySeries, harmonic_dimension
from boundcheck.problem import Problem
from boundcheck.values import HeadCount

#: Odd degrees looked at for the best one; every degree gives a valid bound.
MAX_TERMS = 2**15
#: Binary digits carried beyond those of the whole head count.
_GUARD_BITS = 96


def closed_form_heads_lower_bound(problem: Problem) -> HeadCount:
    """Certified: the closed form of T5 at its best degree, a weaker T1.

    For odd l and 0 < theta < 1, eps < (1-theta)/2 sum_{l'>=l} E_l'(D) implies
    H > theta N(D,l)/m(l). With T_l the sum, every theta < 1 - 2 eps/T_l counts,
    so H >= (1 - 2 eps/T_l) N(D,l)/m(l). A free A y leaves out l = 1.

    Returns
    -------
    HeadCount
        At most `T1`'s count.

    Examples
    --------
    >>> closed_form_heads_lower_bound(Problem.of(64, 4, "0.1")).heads <= 78614
    True
    """
    eps, first = problem.target_eps, 3 if problem.skip else 1
    best = HeadCount(1)
    for capacity in capacities(problem.d, problem.r, problem.head_class):
        # For larger r no degree has m(l) < N(D, l).
        if capacity.r > capacity.D - 1:
            continue
        degree, searched = _best_degree(capacity, eps, first)
        heads = _least_whole_heads(capacity, degree, eps)
        if heads > (best.heads or 0):
            best = HeadCount(heads, f"closed form at degree {degree}", sharp=searched)
    return best


def _best_degree(capacity: Capacity, eps: Fraction, first: int) -> tuple[int, bool]:
    """The odd degree >= first with the largest (1 - 2 eps/T_l) N/m.

    And whether every degree that can give more was looked at.
    """
    # A degree chosen by few digits costs nothing in validity.
    bits = 128 + eps.denominator.bit_length() - eps.numerator.bit_length()
    spectrum = Spectrum(capacity, bits)
    best, best_value = first, arb(0)
    with working_precision(bits):
        goal = 2 * ball(eps)
        for i in range(first // 2, MAX_TERMS):
            if i >= len(spectrum.ratios):
                spectrum.extend(2 * i + 16)
            tail = spectrum.tails[i]
            if not tail > goal:
                return best, True
            value = (1 - goal / tail) / spectrum.ratios[i]
            if value > best_value:
                best, best_value = 2 * i + 1, value
    return best, False


def _least_whole_heads(capacity: Capacity, degree: int, eps: Fraction) -> int:
    """The least H >= 1 with H >= (1 - 2 eps/T_l) N(D,l)/m(l), from the ball's lower end."""
    share = Fraction(harmonic_dimension(capacity.D, degree), capacity(degree))
    # T_l - 2 eps cancels about as many digits as eps has in front.
    size = eps.denominator.bit_length() - eps.numerator.bit_length()
    bits = _GUARD_BITS + 2 * size + int(share).bit_length()
    series = EnergySeries(capacity.D, bits)
    series.extend(degree // 2 + 1)
    with working_precision(bits):
        heads = (1 - 2 * ball(eps) / series.tails[degree // 2]) * ball(share)
        return max(1, math.ceil(enclosure(heads).lo))
