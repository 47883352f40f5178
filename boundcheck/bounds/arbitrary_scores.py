"""T2 as an upper bound: one layer of rank-r heads whose scores are arbitrary.

The weights phi of each head may be any square-integrable function of
(K^T X, y), so these heads are richer than dot-product attention. With x_l =
m_r(l)/N(d,l), the share of the degree-l harmonics that one head reaches, and
Ebar_0 = 1/2, Ebar_l = E_l/2 for odd l (N = 2), H >= 1 heads come as close as
one likes to

- r = 1: sum_l Ebar_l max(0, 1 - H x_l), which T1 shows to be optimal for
  scalar heads;
- r > 1: sum_l Ebar_l (1 - x_l)^H, the mean over Haar random K_1, ..., K_H.

Degree 0 has x_0 = 1 and is gone. Both are infima: approached, not attained.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from math import ceil, expm1, isqrt, log, log1p
from typing import ClassVar

from flint import arb

from boundcheck.balls import enclosure, working_precision
from boundcheck.bounds.base import MAX_HEADS
from boundcheck.bounds.lower_balls import Spectrum, error_at, least_heads
from boundcheck.capacity import Capacity, ridge_dimension
from boundcheck.harmonics import harmonic_dimension, tail_estimate
from boundcheck.problem import Problem
from boundcheck.values import Direction, Enclosure, HeadCount, Kind

#: Odd degrees looked at for r > 1 before an enclosure stays as wide as it is.
MAX_TERMS = 2**15
#: Relative width at which an error counts as known.
ERROR_WIDTH = Fraction(1, 2**30)
#: Enough for neighbouring counts up to MAX_HEADS: 2^60, and as much again.
_BITS = 192

_ZERO = Enclosure.exactly(0)
_NOT_REACHED = "not reached with 10^18 heads"
_UNDECIDED = "not decided by the degrees followed"


class T2:
    """T2: the least error of rank-r heads with arbitrary scores, or Haar random ones.

    Examples
    --------
    >>> T2().heads(Problem.of(64, 4, "0.1")).heads
    663671
    """

    id: ClassVar[str] = "T2"
    name: ClassVar[str] = "heads with arbitrary scores"
    direction: ClassVar[Direction] = "upper"
    kind: ClassVar[Kind] = "certified"
    depth: ClassVar[int] = 1
    scores: ClassVar[str] = "arbitrary"

    def why_not(self, problem: Problem) -> str | None:
        """None: scalar heads are heads of every class, and A = 0 is allowed."""
        return None

    def rank(self, problem: Problem) -> int:
        """r."""
        return problem.r

    def error(self, problem: Problem, heads: int) -> Enclosure:
        """The infimum described in the module, for ``heads`` >= 0.

        Where the problem has an eps, narrow enough to tell on which side of it.
        """
        return arbitrary_scores_error_infimum(problem.d, problem.r, heads, problem.eps)

    def heads(self, problem: Problem) -> HeadCount:
        """The least count whose infimum is below eps, and not equal to it."""
        return _least_heads(problem.d, problem.r, problem.target_eps)


def arbitrary_scores_error_infimum(
    d: int, r: int, heads: int, eps: Fraction | None = None
) -> Enclosure:
    """T2: an error that rank-r heads with arbitrary scores approach.

    Parameters
    ----------
    d : int
        d >= 3.
    r : int
        From 1 to d.
    heads : int
        H >= 0.
    eps : Fraction, optional
        The enclosure is narrowed until eps lies outside, if it can be.

    Returns
    -------
    Enclosure
        Of relative width 2^-30 or less, unless MAX_TERMS odd degrees do
        not give that (r close to d). Every error above ``hi`` is reached.

    Examples
    --------
    >>> f"{float(arbitrary_scores_error_infimum(3, 1, 2).hi):.5f}"
    '0.22676'
    """
    if heads == 0:
        return Enclosure.exactly(1)
    if r == d:
        # m_d(l) >= N(d,l): the head sees everything.
        return _ZERO
    if r == 1:
        return error_at(_rank_one(d), heads, False)
    return _haar_error(d, r, heads, eps, ERROR_WIDTH)


def _rank_one(d: int) -> Capacity:
    return Capacity(d, 1, 1, 0, 0)


@lru_cache(maxsize=32)
def _spectrum(d: int, r: int) -> Spectrum:
    return Spectrum(Capacity(d, r, 1, 0, 0), _BITS)


def _haar_error(d: int, r: int, heads: int, eps: Fraction | None, width: Fraction) -> Enclosure:
    """sum_l E_l/2 (1 - x_l)^H over odd l.

    Degrees are added until the error is known to that relative width, and
    far enough from eps to tell how far.
    """
    spectrum = _spectrum(d, r)
    total = arb(0)
    done, count = 0, 16
    best = Enclosure(Fraction(0), Fraction(1, 2))
    while True:
        with working_precision(_BITS):
            spectrum.extend(count + 1)
            for i in range(done, count):
                total += spectrum.energies[i] * ((-spectrum.ratios[i]).log1p() * heads).exp()
            low, high = _later_degrees(spectrum, count, heads)
            found = enclosure((total + low).union(total + high) / 2)
        best = Enclosure(max(best.lo, found.lo), min(best.hi, found.hi))
        settled = eps is None or 16 * best.width < max(eps - best.hi, best.lo - eps)
        if (settled and best.width <= best.hi * width) or count == MAX_TERMS:
            return best
        done, count = count, 2 * count


def _later_degrees(spectrum: Spectrum, index: int, heads: int) -> tuple[arb, arb]:
    """Balls below and above sum E_l (1 - x_l)^H over all degrees from ``index`` on.

    x_l falls in l for r < d (with the factors (r+l)/(l+1) of m_r and
    (2l+d)(l+d-2)/((2l+d-2)(l+1)) of N from l to l+1, the claim for r = d-1 is
    d(d-2) >= (d-1)(d-2)), to 1/2 for r = d-1 and to 0 for smaller r. So x_l
    lies between that limit and x, its value at the first degree left.
    f(x) = (1-x)^H is convex: with T the energy left and S = sum E_l x_l, the
    sum is at least T f(S/T), and at most what the chord of f gives.
    """
    d, r = spectrum.capacity.D, spectrum.capacity.r
    limit = arb(0.5) if r == d - 1 else arb(0)
    x, T = spectrum.ratios[index], spectrum.tails[index]
    at_limit = ((-limit).log1p() * heads).exp()
    at_first = ((-x).log1p() * heads).exp()
    low, high = T * at_first, T * at_limit
    if high - low < high * arb(2) ** -96:
        return low, high
    S = spectrum.rest(index, 64)
    jensen = ((-S / T).log1p() * heads).exp() * T
    chord = high - (S - limit * T) * (at_limit - at_first) / (x - limit)
    # Where rounding leaves nothing of them, the first two bounds still hold.
    if jensen.is_finite():
        low = low.max(jensen)
    if chord.is_finite():
        high = high.min(chord)
    return low, high


def _least_heads(d: int, r: int, eps: Fraction) -> HeadCount:
    if r == d:
        return HeadCount(1)
    return _least_rank_one(d, eps) if r == 1 else _least_haar(d, r, eps)


def _least_rank_one(d: int, eps: Fraction) -> HeadCount:
    """T1's count for scalar heads, checked again from above."""
    capacity = _rank_one(d)
    if _first_guess(d, 1, eps) == MAX_HEADS and error_at(capacity, MAX_HEADS, False).lo >= eps:
        return HeadCount(None, _NOT_REACHED)
    found = least_heads(capacity, eps, False)
    if found.heads is None or found.heads > MAX_HEADS:
        return HeadCount(None, _NOT_REACHED)
    # Least with error <= eps, or fewer where not sharp; here error < eps has to be shown.
    for count in (found.heads, found.heads + 1):
        if error_at(capacity, count, False).hi < eps:
            return HeadCount(count, sharp=found.sharp and count == found.heads)
    return HeadCount(None, _UNDECIDED)


def _least_haar(d: int, r: int, eps: Fraction) -> HeadCount:
    """The least H <= MAX_HEADS with error shown to be below eps."""
    low, high = 0, MAX_HEADS + 1  # error(low) >= eps or low = 0; error(high) < eps
    count, last = _first_guess(d, r, eps), None
    evaluations = 0
    while high - low > 1:
        found = _haar_error(d, r, count, eps, Fraction(1))
        evaluations += 1
        if found.hi < eps:
            high = count
        elif found.lo >= eps:
            low = count
        else:
            return _shown_above(d, r, eps, count, high)
        # The secant of log error over log H; a halving now and then in case it creeps.
        here = count, (found.lo + found.hi) / 2
        power = _power(last, here) if last else -0.5
        if evaluations % 8 and power < 0:
            change = _log_ratio(eps, here[1]) / power
            count += ceil(count * expm1(min(change, 3.0)))
        else:
            count = isqrt(max(low, 1) * high)
        count, last = max(low + 1, min(high - 1, count)), here
    return HeadCount(high) if high <= MAX_HEADS else HeadCount(None, _NOT_REACHED)


def _shown_above(d: int, r: int, eps: Fraction, undecided: int, high: int) -> HeadCount:
    """A count near ``undecided`` that is shown to reach eps, if a few tries find one."""
    for power in range(12):
        count = undecided + 1 + undecided * 2**power // 1000
        if count >= high:
            break
        if _haar_error(d, r, count, eps, Fraction(1)).hi < eps:
            high = count
    if high <= MAX_HEADS:
        return HeadCount(high, f"a smaller count is {_UNDECIDED}", sharp=False)
    return HeadCount(None, _UNDECIDED)


def _power(a: tuple[int, Fraction], b: tuple[int, Fraction]) -> float:
    """p where error = constant H^p passes through both points."""
    return _log_ratio(b[1], a[1]) / _log_ratio(Fraction(b[0]), Fraction(a[0]))


def _log_ratio(a: Fraction, b: Fraction) -> float:
    """log(a/b), also where a and b nearly agree or lie below the least float."""
    change = a / b - 1
    if abs(change) < Fraction(1, 2):
        return log1p(float(change))
    return log(a.numerator * b.denominator) - log(a.denominator * b.numerator)


def _first_guess(d: int, r: int, eps: Fraction) -> int:
    """1/x_l for a degree from which on the energy is about 2 eps."""
    degree = 1
    while degree < MAX_TERMS and tail_estimate(d, degree) > 2 * eps:
        degree = 2 * degree + 1
        if harmonic_dimension(d, degree) >= MAX_HEADS * ridge_dimension(r, degree):
            return MAX_HEADS
    return harmonic_dimension(d, degree) // ridge_dimension(r, degree)
