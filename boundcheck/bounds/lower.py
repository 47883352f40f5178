"""T1 and T1s: no layer with fewer heads reaches the error (N = 2, explicit constants)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import ClassVar

from boundcheck.capacity import Capacity, capacities
from boundcheck.harmonics import harmonic_dimension
from boundcheck.problem import Problem, whole_number
from boundcheck.values import Direction, Enclosure, HeadCount, Kind


@lru_cache(maxsize=1)
def _engine() -> ModuleType:
    # Exact rationals serve where python-flint is missing or broken.
    try:
        return import_module("boundcheck.bounds.lower_balls")
    except ImportError:
        return import_module("boundcheck.bounds.lower_rational")


def _whole_heads(heads: int, least: int) -> int:
    return whole_number(heads, "heads", f"a whole number, {least} or more", least)


class T1:
    """T1: the harmonic lower bound, certified, orthonormal or i.i.d. points.

    Examples
    --------
    >>> T1().heads(Problem.of(64, 4, "0.1")).heads
    78614
    """

    id: ClassVar[str] = "T1"
    name: ClassVar[str] = "harmonic lower bound"
    direction: ClassVar[Direction] = "lower"
    kind: ClassVar[Kind] = "certified"
    depth: ClassVar[int] = 1
    scores: ClassVar[str] = "any"

    def why_not(self, problem: Problem) -> str | None:
        return "the layer adds A y for free: T1s" if problem.skip else None

    def rank(self, problem: Problem) -> int:
        return problem.r

    def error(self, problem: Problem, heads: int) -> Enclosure:
        """The squared error that no layer of ``heads`` heads of the class goes below.

        Raises
        ------
        InputError
            If heads is negative or not whole.

        Examples
        --------
        >>> found = T1().error(Problem.of(16, 4, head_class="scalar"), 1)
        >>> round(float(found.lo), 6)
        0.416364
        """
        heads = _whole_heads(heads, 0)
        if heads == 0:
            return _error_without_heads(problem)
        errors = [
            _engine().error_at(c, heads, problem.skip)
            for c in capacities(problem.d, problem.r, problem.head_class)
        ]
        return Enclosure(max(e.lo for e in errors), max(e.hi for e in errors))

    def heads(self, problem: Problem) -> HeadCount:
        """The least number of heads that the bound does not exclude at problem.eps.

        Raises
        ------
        InputError
            If the problem has no eps.
        """
        counts: list[HeadCount] = [
            _engine().least_heads(c, problem.target_eps, problem.skip)
            for c in capacities(problem.d, problem.r, problem.head_class)
        ]
        best = max(counts, key=lambda count: count.heads or 0)
        for count in counts:
            # Another condition that was cut short may exclude more heads than the best.
            if not count.sharp:
                return HeadCount(best.heads, count.reason, sharp=False)
        if best.reason is None and problem.r >= problem.d - 1:
            return HeadCount(best.heads, "r >= d-1: the method gives almost no bound")
        return best


class T1s(T1):
    """T1s: the same where the layer may add A y, any matrix A, for free.

    Examples
    --------
    >>> T1s().heads(Problem.of(64, 4, "0.1", skip=True)).heads <= 78614
    True
    """

    id: ClassVar[str] = "T1s"
    name: ClassVar[str] = "harmonic lower bound, free A y"

    def why_not(self, problem: Problem) -> str | None:
        return None if problem.skip else "the layer has no free A y: T1"


def _error_without_heads(problem: Problem) -> Enclosure:
    # Without heads the layer outputs 0, or A y: E|f|^2 = 1, less the degree-1 part.
    if not problem.skip:
        return Enclosure.exactly(1)
    first: Enclosure = _engine().odd_energies(problem.d, 1)[0]
    return Enclosure(1 - first.hi / 2, 1 - first.lo / 2)


@dataclass(frozen=True, slots=True)
class DegreeShare:
    """What one odd degree adds to the lower bound at H heads.

    Attributes
    ----------
    degree : int
        l.
    dimension : int
        N(D, l).
    capacity : int
        m(l) of one head.
    energy, share : Enclosure
        E_l / 2, and E_l / 2 max(0, 1 - H m(l)/N(D,l)).
    """

    degree: int
    dimension: int
    capacity: int
    energy: Enclosure
    share: Enclosure


@dataclass(frozen=True, slots=True)
class Explanation:
    """The lower bound at H heads, degree by degree.

    Attributes
    ----------
    heads : int
    capacity : Capacity
        The condition that gives the larger bound.
    shares : tuple of DegreeShare
        Odd degrees from 1 (3 with a free A y) on.
    beyond, total : Enclosure
        Contribution of all later degrees, and the bound itself.
    """

    heads: int
    capacity: Capacity
    shares: tuple[DegreeShare, ...]
    beyond: Enclosure
    total: Enclosure


def explanation(problem: Problem, heads: int, degrees: int = 12) -> Explanation:
    """How the lower bound at ``heads`` >= 1 comes about, degree by degree.

    Parameters
    ----------
    problem : Problem
    heads : int
        H >= 1.
    degrees : int
        How many odd degrees to look at, from 1 on.

    Raises
    ------
    InputError
        If heads is not a whole number from 1 on.

    Examples
    --------
    >>> parts = explanation(Problem.of(16, 4), 1, degrees=3)
    >>> [share.degree for share in parts.shares]
    [1, 3, 5]
    """
    heads = _whole_heads(heads, 1)
    options = capacities(problem.d, problem.r, problem.head_class)
    errors = [_engine().error_at(c, heads, problem.skip) for c in options]
    total, capacity = max(
        zip(errors, options, strict=True), key=lambda pair: (pair[0].lo, pair[0].hi)
    )
    shares = []
    low = high = Fraction(0)
    energies: list[Enclosure] = _engine().odd_energies(capacity.D, degrees)
    for i in range(1 if problem.skip else 0, degrees):
        degree = 2 * i + 1
        dimension, reach = harmonic_dimension(capacity.D, degree), capacity(degree)
        energy = energies[i].scaled(Fraction(1, 2))
        share = energy.scaled(max(Fraction(0), 1 - Fraction(heads * reach, dimension)))
        low, high = low + share.lo, high + share.hi
        shares.append(DegreeShare(degree, dimension, reach, energy, share))
    beyond = Enclosure(max(Fraction(0), total.lo - high), max(Fraction(0), total.hi - low))
    return Explanation(heads, capacity, tuple(shares), beyond, total)
