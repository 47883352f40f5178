"""U4 and U4s: majorities of rank-r votes, two layers.

numpy and flint are loaded by the functions that use them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar, Literal

from boundcheck.bounds.base import MAX_HEADS
from boundcheck.bounds.least_heads import least_count
from boundcheck.problem import Problem
from boundcheck.values import Direction, Enclosure, HeadCount, Kind, Numeric

if TYPE_CHECKING:
    from boundcheck.soft_votes import VoteDifference
    from boundcheck.voting import AdvantageLaw

Ties = Literal["fixed", "averaged"]

#: Heads of the second layer.
READING_HEADS = 1
#: Up to here 1F1 is summed in a millisecond.
_SERIES_DIMENSION = 1000


def majority_vote_error(d: int, r: int, votes: int, *, ties: Ties = "fixed") -> Numeric:
    """Error of the majority of H = votes Haar hardmax heads of rank r (U4).

    2 E_t[P(Bin(H, p) < H/2) + 1/2 P(Bin(H, p) = H/2)], p = p_r(|t|), where a tie
    goes to a fixed point, so that an even H does no better than H - 1; a tie
    averaged over both points counts 1/4 in place of 1/2.

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    votes : int
        H from 1 to 10^18; the whole network has H + 1 heads.
    ties : {"fixed", "averaged"}

    Returns
    -------
    Numeric

    Examples
    --------
    >>> round(majority_vote_error(64, 4, 51).value, 5)
    0.39582
    """
    return _majority_vote_error(_laws(d, r, votes), votes, ties)


def _majority_vote_error(
    laws: tuple[AdvantageLaw, AdvantageLaw], votes: int, ties: Ties
) -> Numeric:
    from boundcheck.quadrature import numeric_value

    (fine, magnitude), (coarse, _) = (_majority_error(law, votes, ties) for law in laws)
    return numeric_value(fine, coarse, magnitude)


def _majority_error(law: AdvantageLaw, votes: int, ties: Ties) -> tuple[float, float]:
    """The error, and the probability of the t that can be voted wrong."""
    from boundcheck.voting import centred_coordinate_mass

    # 2 P(Bin(H, p) < H/2) = 1 - (2 F_{H+2}(2p - 1) - 1) for odd H.
    odd = votes - 1 + votes % 2
    wrong = 1 - centred_coordinate_mass(odd + 2, law.advantages)
    error = law.mean(wrong)
    if ties == "averaged" and votes % 2 == 0:
        error -= _tie_probability(law, votes) / 2
    return error, law.mean((wrong > 0).astype(float))


def _tie_probability(law: AdvantageLaw, votes: int) -> float:
    """E P(Bin(H, p) = H/2) for even H = votes."""
    import numpy as np

    from boundcheck.quadrature import gamma_ratio

    # C(H, H/2) / 2^H = Gamma((H+1)/2) / (sqrt(pi) Gamma(H/2 + 1)).
    central = 1 / (math.sqrt(math.pi) * gamma_ratio((votes + 1) / 2))
    with np.errstate(divide="ignore"):  # kappa = 1: a vote that is always right
        logarithm = 0.5 * votes * np.log1p(-(law.advantages**2))
    return central * law.mean(np.exp(logarithm))


def majority_vote_error_upper_bound(d: int, r: int, votes: int) -> Numeric:
    """2 E exp(-2 H (p_r - 1/2)^2), Hoeffding's bound on U4's error.

    It holds for every H and both ways to break ties.

    Examples
    --------
    >>> crude, exact = majority_vote_error_upper_bound(16, 4, 31), majority_vote_error(16, 4, 31)
    >>> exact.value < crude.value
    True
    """
    import numpy as np

    from boundcheck.quadrature import numeric_value

    fine, coarse = (
        2 * law.mean(np.exp(-0.5 * votes * law.advantages**2)) for law in _laws(d, r, votes)
    )
    return numeric_value(fine, coarse, fine)


def majority_vote_error_upper_bound_closed_form(d: int, votes: int) -> Enclosure:
    """2 1F1(1/2; d/2; -2H/pi^2), at least the U4 error for r = 1, certified.

    Hoeffding's bound with p_1 - 1/2 = arcsin|t|/pi >= |t|/pi.

    Parameters
    ----------
    d : int
        d >= 2.
    votes : int
        H >= 1.

    Returns
    -------
    Enclosure
        To 53 bits up to d = 1000, beyond that to a relative 1/d.

    Examples
    --------
    >>> bound = majority_vote_error_upper_bound_closed_form(8, 15)
    >>> float(bound.hi) > majority_vote_error(8, 1, 15).value
    True
    """
    from flint import arb, fmpq

    from boundcheck.balls import ball_between, enclosure, working_precision

    if d > _SERIES_DIMENSION:
        # E exp(-z t^2) for t^2 ~ Beta(1/2, b-1/2), where Arb's series may take minutes:
        # (1-t^2)^z <= exp(-z t^2) and (1-t^2)^(b-3/2) <= exp(-(b-3/2) t^2).
        with working_precision(192):  # log Gamma(10^18) has 65 binary digits before the point
            b, z, half = arb(d) / 2, 2 * arb(votes) / arb.pi() ** 2, arb(0.5)
            constant = (b.lgamma() - (b - half).lgamma()).exp()
            low = constant * ((b + z - half).lgamma() - (b + z).lgamma()).exp()
            return enclosure(2 * ball_between(low, constant / (b + z - 3 * half).sqrt()))
    bits = 64
    while True:
        with working_precision(bits):
            z = 2 * arb(votes) / arb.pi() ** 2
            value = 2 * (-z).hypgeom_1f1(arb(0.5), arb(fmpq(d, 2)))
            if value.rel_accuracy_bits() >= 53:
                return enclosure(value)
        bits *= 2


def majority_vote_error_curve(d: int, r: int, votes: Iterable[int]) -> list[Numeric]:
    """U4's error for several H, integrating p_r once.

    Examples
    --------
    >>> [round(error.value, 3) for error in majority_vote_error_curve(64, 4, [51, 501])]
    [0.396, 0.144]
    """
    counts = list(votes)
    # The nodes that resolve the largest H resolve the others.
    laws = _laws(d, r, max(counts, default=1))
    return [_majority_vote_error(laws, H, "fixed") for H in counts]


def soft_vote_error(
    d: int, r: int, votes: int, inverse_temperature: float | None = None
) -> Numeric:
    """Error with a softmax in the second layer (U4s): 1/2 E (1 - tanh(b(2k - H)))^2.

    k is the number of right votes among H; b = inverse_temperature.

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    votes : int
        H from 1 to 10^18; the whole network has H + 1 heads.
    inverse_temperature : float, optional
        b > 0; by default the best one.

    Returns
    -------
    Numeric

    Raises
    ------
    InputError
        If b is not positive, or above 0.15 for more than 10^8 votes.

    Examples
    --------
    >>> round(soft_vote_error(64, 4, 51).value, 4)
    0.2713
    """
    from boundcheck.quadrature import numeric_value

    if r == d and inverse_temperature is None:
        return Numeric(0.0, 0.0)
    fine, coarse = _vote_differences(d, r, votes, inverse_temperature)
    b = inverse_temperature or fine.best_inverse_temperature()
    error = fine.error(b)
    answer = numeric_value(error, coarse.error(b), 4 * error)
    return Numeric(answer.value, answer.error_estimate + fine.left_out(b))


def best_vote_inverse_temperature(d: int, r: int, votes: int) -> float:
    """The b that makes U4s's error least; infinite for r = d.

    Examples
    --------
    >>> b = best_vote_inverse_temperature(16, 4, 31)
    >>> soft_vote_error(16, 4, 31, 1.1 * b).value > soft_vote_error(16, 4, 31).value
    True
    """
    return math.inf if r == d else _vote_differences(d, r, votes)[0].best_inverse_temperature()


def _vote_differences(
    d: int, r: int, votes: int, inverse_temperature: float | None = None
) -> tuple[VoteDifference, VoteDifference]:
    from boundcheck.soft_votes import VoteDifference, stride

    fine, coarse = (
        VoteDifference.of(law, votes, stride(votes, nodes, inverse_temperature))
        for law, nodes in zip(_laws(d, r, votes), (8.0, 6.5), strict=True)
    )
    return fine, coarse


def _laws(d: int, r: int, votes: int) -> tuple[AdvantageLaw, AdvantageLaw]:
    from boundcheck.voting import advantage_laws

    # Votes tell apart advantages of about 1/sqrt(H). Steps of four halvings,
    # so that close counts share their nodes.
    return advantage_laws(d, r, 4 * math.ceil((1 + math.log2(votes) / 2) / 4))


class U4:
    """U4: the majority of rank-r hardmax votes, read by one hardmax head.

    Examples
    --------
    >>> U4().heads(Problem.of(64, 4, "0.1")).heads
    1054
    """

    id: ClassVar[str] = "U4"
    name: ClassVar[str] = "majority of rank-r votes"
    direction: ClassVar[Direction] = "upper"
    kind: ClassVar[Kind] = "numeric"
    depth: ClassVar[int] = 2
    scores: ClassVar[str] = "hardmax"

    def why_not(self, problem: Problem) -> str | None:
        """None: two layers may do this for every head class, with or without a skip."""
        return None

    def rank(self, problem: Problem) -> int:
        """r; the head of the second layer has rank 1."""
        return problem.r

    def error(self, problem: Problem, heads: int) -> Numeric:
        """The error of heads - 1 votes; never above 1/2, which one head reaches.

        Examples
        --------
        >>> round(U4().error(Problem.of(64, 4), 52).value, 5)
        0.39582
        """
        votes = heads - READING_HEADS
        if votes < 1:
            return _one_head(heads)
        # More votes than MAX_HEADS do not make it worse.
        votes = min(votes, MAX_HEADS)
        return _at_most_half(majority_vote_error(problem.d, problem.r, votes))

    def heads(self, problem: Problem) -> HeadCount:
        """The least odd number of votes that reaches eps, and the head that reads them."""
        d, r, eps = problem.d, problem.r, problem.target_eps

        def error(half: int) -> float:
            found = majority_vote_error(d, r, 2 * half - 1)
            return found.value + found.error_estimate

        guess = _votes_guess(d, r, eps) / 2
        half = least_count(error, eps, guess, (MAX_HEADS - READING_HEADS + 1) // 2)
        return _head_count(None if half is None else 2 * half - 1)


class U4s(U4):
    """U4s: the majority of rank-r hardmax votes, read by one softmax head.

    Examples
    --------
    >>> U4s().heads(Problem.of(64, 4, "0.1")).heads
    516
    """

    id: ClassVar[str] = "U4s"
    name: ClassVar[str] = "soft majority of rank-r votes"
    scores: ClassVar[str] = "hardmax, then softmax"

    def error(self, problem: Problem, heads: int) -> Numeric:
        """The error of heads - 1 votes at the best inverse temperature.

        Examples
        --------
        >>> round(U4s().error(Problem.of(64, 4), 52).value, 4)
        0.2713
        """
        votes = heads - READING_HEADS
        if votes < 1:
            return _one_head(heads)
        return _at_most_half(soft_vote_error(problem.d, problem.r, min(votes, MAX_HEADS)))

    def heads(self, problem: Problem) -> HeadCount:
        """The least number of votes that reaches eps, and the head that reads them."""
        d, r, eps = problem.d, problem.r, problem.target_eps

        def error(votes: int) -> float:
            found = soft_vote_error(d, r, votes)
            return found.value + found.error_estimate

        # As H grows the best softmax needs about half the votes of a hard majority.
        guess = 0.5 * _votes_guess(d, r, eps)
        return _head_count(least_count(error, eps, guess, MAX_HEADS - READING_HEADS))


class U4b:
    """U4b: Hoeffding's bound for rank-1 votes in closed form, certified and cruder than U4.

    Examples
    --------
    >>> U4b().heads(Problem.of(64, 1, "0.1")).heads
    61538
    """

    id: ClassVar[str] = "U4b"
    name: ClassVar[str] = "majority of rank-one votes, closed form"
    direction: ClassVar[Direction] = "upper"
    kind: ClassVar[Kind] = "certified"
    depth: ClassVar[int] = 2
    scores: ClassVar[str] = "hardmax"

    def why_not(self, problem: Problem) -> str | None:
        """None, as for U4."""
        return None

    def rank(self, problem: Problem) -> int:
        """1, whatever r is."""
        return 1

    def error(self, problem: Problem, heads: int) -> Enclosure:
        """2 1F1(1/2; d/2; -2H/pi^2) at H = heads - 1; never above 1/2, which one head reaches.

        Examples
        --------
        >>> float(U4b().error(Problem.of(64, 1), 1).hi)
        0.5
        """
        votes = heads - READING_HEADS
        if votes < 1:
            return Enclosure.exactly(Fraction(1, 2) if heads else Fraction(1))
        bound = majority_vote_error_upper_bound_closed_form(problem.d, min(votes, MAX_HEADS))
        return bound if bound.hi <= Fraction(1, 2) else Enclosure.exactly(Fraction(1, 2))

    def heads(self, problem: Problem) -> HeadCount:
        """The least number of votes whose bound is certainly at most eps, and their reader."""
        d, eps = problem.d, problem.target_eps

        def error(votes: int) -> float:
            # Rounded up, so that nothing is certified by rounding.
            return math.nextafter(
                float(majority_vote_error_upper_bound_closed_form(d, votes).hi), 1.0
            )

        guess = 2 * _votes_guess(d, 1, eps)
        return _head_count(least_count(error, eps, guess, MAX_HEADS - READING_HEADS))


def _one_head(heads: int) -> Numeric:
    """Without votes: one head averages the points, no head leaves everything."""
    return Numeric(0.5 if heads else 1.0, 0.0)


def _at_most_half(error: Numeric) -> Numeric:
    return error if error.value <= 0.5 else Numeric(0.5, 0.0)


def _votes_guess(d: int, r: int, eps: Fraction) -> float:
    """H where U4's error is about eps: 2 c_d sqrt(2/pi) / (kappa_r'(0) sqrt(H))."""
    from boundcheck.quadrature import density_scale
    from boundcheck.voting import advantage_slope_at_zero

    if r == d:
        return 1.0
    # At r = d - 1 the slope is infinite, but grows only like a logarithm.
    slope = advantage_slope_at_zero(d, min(r, d - 2)) if d > 2 else 1.0
    scale = 2 * density_scale(d) * math.sqrt(2 / math.pi) / slope
    return float(min(Fraction(MAX_HEADS), Fraction(scale) ** 2 / eps**2))


def _head_count(votes: int | None) -> HeadCount:
    if votes is None:
        return HeadCount(None, "more than 10^18 heads")
    return HeadCount(votes + READING_HEADS)
