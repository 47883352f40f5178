"""The largest constants of the published forms (T5) that T1 bears out on a grid.

A constant found here says: on these cells (d, r, eps), and by itself on no
others, the form at this constant is at most H_min, so T1 proves it there.

Loads python-flint; import it where it is used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from flint import arb

from boundcheck.balls import ball, enclosure, working_precision
from boundcheck.bounds.lower import T1
from boundcheck.bounds.published import T5a, first_crossing
from boundcheck.formatting import safe_float
from boundcheck.problem import HeadClass, Problem

#: Working precision of logarithms that end as floats.
_BITS = 128


@dataclass(frozen=True, slots=True)
class Grid:
    """The cells (d, r, eps) with r < d over which a constant is found.

    Parameters
    ----------
    ds, rs : sequence of int
    epss : sequence of str
        Decimals or fractions in (0, 1/2), read exactly.
    """

    ds: Sequence[int]
    rs: Sequence[int]
    epss: Sequence[str]

    def problems(self, head_class: HeadClass) -> Iterator[Problem]:
        """One problem per cell.

        Raises
        ------
        InputError
            For a value that no problem allows.
        """
        for d in self.ds:
            for r in self.rs:
                if r < d:
                    for eps in self.epss:
                        yield Problem.of(d, r, eps, head_class=head_class)


#: No cell has H_min = 1, in any class; each d has cells with eps < 1/(d+1).
DEFAULT_GRID = Grid((32, 64, 128), (1, 2, 4, 8), ("0.2", "0.1", "0.05", "0.02", "0.01", "0.005"))


@dataclass(frozen=True, slots=True)
class SupportedConstant:
    """The largest constant at which a published form stays below T1 on a grid.

    Attributes
    ----------
    id, form, symbol : str
        The form and its constant.
    head_class : str
    constant : float or None
        Rounded down; it is supported on every cell of the grid, and on no
        others by this alone. None if no cell limits it.
    limiting : Problem or None
        The cell that allows no more.
    heads : int or None
        H_min there.
    grid : Grid
    reason : str or None
        Why constant is None.
    """

    id: str
    form: str
    symbol: str
    head_class: HeadClass
    constant: float | None
    limiting: Problem | None
    heads: int | None
    grid: Grid
    reason: str | None = None


def largest_supported_exponent(
    grid: Grid = DEFAULT_GRID, head_class: HeadClass = "standard"
) -> SupportedConstant:
    """The largest a with (d/r)^{a/eps} <= H_min in every cell (T5).

    A cell with H_min = 1 allows a = 0 and no more.

    Examples
    --------
    >>> found = largest_supported_exponent(Grid([64], [4], ["0.1", "0.05"]))
    >>> round(found.constant, 6), found.limiting.eps_text
    (0.406562, '0.1')
    """

    def most(problem: Problem, least_heads: int) -> Fraction:
        with working_precision(_BITS):
            a = ball(problem.target_eps) * arb(least_heads).log()
            return enclosure(a / (arb(problem.d) / problem.r).log()).lo

    return _smallest("T5", "(d/r)^(a/eps)", "a", grid, head_class, most)


def largest_supported_constant_high_accuracy(
    grid: Grid = DEFAULT_GRID, head_class: HeadClass = "standard", *, c: float = 1.0
) -> SupportedConstant:
    """The largest C of T5a with the form at most H_min where T5a speaks.

    Only cells in the regime eps < c/(d+1), r <= d-3, d > (r+1) log2(2d/r) count.

    Examples
    --------
    >>> found = largest_supported_constant_high_accuracy(Grid([32, 64], [4], ["0.02"]))
    >>> found.limiting.d, found.constant > 1e14
    (32, True)
    """
    regime = T5a(c=c)

    def most(problem: Problem, least_heads: int) -> Fraction | None:
        if regime.why_not(problem) is not None:
            return None
        d, r = problem.d, problem.r
        return least_heads * Fraction(2 * d, r) ** (r + 1) / (1 << d)

    form = f"C 2^(d-(r+1)log2(2d/r)), eps < {c:g}/(d+1)"
    return _smallest("T5a", form, "C", grid, head_class, most)


def largest_supported_constant_high_dimensional(
    grid: Grid = DEFAULT_GRID, head_class: HeadClass = "standard"
) -> SupportedConstant:
    """The largest C such that T5b at every C' <= C is at most H_min in every cell.

    The form is not monotone in C: it rises from 1 to a peak and falls again. A
    cell whose H_min lies above that peak sets no limit; one with H_min = 1
    allows C = 0 and no more. The hidden factor is 1.

    Examples
    --------
    >>> found = largest_supported_constant_high_dimensional(Grid([64], [4], ["0.1", "0.05"]))
    >>> round(found.constant, 6), found.limiting.eps_text
    (0.610772, '0.1')
    """

    def most(problem: Problem, least_heads: int) -> Fraction | None:
        if problem.d < 5:
            return None
        with working_precision(_BITS):
            crossing = first_crossing(problem.d, problem.r, arb(least_heads).log())
        return None if crossing is None else Fraction(crossing) * problem.target_eps

    return _smallest("T5b", "(d/(r+C/eps))^(C/eps)", "C", grid, head_class, most)


def supported_constants(
    ds: Sequence[int] = DEFAULT_GRID.ds,
    rs: Sequence[int] = DEFAULT_GRID.rs,
    epss: Sequence[str] = DEFAULT_GRID.epss,
    head_class: HeadClass = "standard",
) -> list[SupportedConstant]:
    """The constants that T1 supports in each published form, on one grid.

    Parameters
    ----------
    ds, rs, epss, head_class
        As in `Grid`; cells with r >= d are left out.

    Examples
    --------
    >>> [(s.id, s.symbol) for s in supported_constants([32], [2], ["0.1", "0.02"])]
    [('T5', 'a'), ('T5a', 'C'), ('T5b', 'C')]
    """
    grid = Grid(ds, rs, epss)
    return [
        largest_supported_exponent(grid, head_class),
        largest_supported_constant_high_accuracy(grid, head_class),
        largest_supported_constant_high_dimensional(grid, head_class),
    ]


def _smallest(
    id: str,
    form: str,
    symbol: str,
    grid: Grid,
    head_class: HeadClass,
    most: Callable[[Problem, int], Fraction | None],
) -> SupportedConstant:
    """The least over the cells of what ``most(problem, H_min)`` allows; None is no limit."""
    limits = []
    for problem in grid.problems(head_class):
        least_heads = _least_heads(problem)
        limit = most(problem, least_heads)
        if limit is not None:
            limits.append((limit, problem, least_heads))
    if not limits:
        reason = "no cell of the grid limits it"
        return SupportedConstant(id, form, symbol, head_class, None, None, None, grid, reason)
    limit, problem, least_heads = min(limits, key=lambda found: found[0])
    constant = safe_float(limit, "down")
    return SupportedConstant(id, form, symbol, head_class, constant, problem, least_heads, grid)


@lru_cache(maxsize=2**12)
def _least_heads(problem: Problem) -> int:
    # The three forms ask the same cells.
    found = T1().heads(problem).heads
    if found is None:
        raise AssertionError(f"T1 gives no count for {problem}")
    return found
