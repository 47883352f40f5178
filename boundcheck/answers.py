"""The two questions in one call each: how many heads, and what error (T1)."""

from __future__ import annotations

from fractions import Fraction

from boundcheck.bounds.registry import bound_named, lower_bound_id
from boundcheck.problem import Problem, whole_number
from boundcheck.values import Enclosure, HeadCount


def heads_lower_bound(
    d: int,
    r: int,
    eps: Fraction | float | str,
    *,
    head_class: str = "standard",
    skip: bool = False,
) -> HeadCount:
    """The least number of rank-r heads that T1 does not exclude at squared error eps.

    Parameters
    ----------
    d, r, eps, head_class, skip
        As in `Problem.of`.

    Returns
    -------
    HeadCount
        Certified: no layer with fewer heads of the class reaches eps.

    Raises
    ------
    InputError
        For a value outside the ranges of `Problem.of`.

    Examples
    --------
    >>> heads_lower_bound(16, 1, "1/20", head_class="generalized").heads
    4837667
    """
    problem = Problem.of(d, r, eps, head_class=head_class, skip=skip)
    return bound_named(lower_bound_id(skip)).heads(problem)


def error_lower_bound(
    d: int, r: int, heads: int, *, head_class: str = "standard", skip: bool = False
) -> Enclosure:
    """The squared error that T1 keeps any layer of ``heads`` rank-r heads from going below.

    Parameters
    ----------
    heads : int
        H >= 0.
    d, r, head_class, skip
        As in `Problem.of`.

    Returns
    -------
    Enclosure
        Of the bound; its ``lo`` is the safe end.

    Raises
    ------
    InputError
        For a value outside these ranges.

    Examples
    --------
    >>> round(float(error_lower_bound(16, 4, heads=1).lo), 6)
    0.332401
    """
    problem = Problem.of(d, r, head_class=head_class, skip=skip)
    heads = whole_number(heads, "heads", "a whole number, 0 or more", 0)
    found = bound_named(lower_bound_id(skip)).error(problem, heads)
    assert isinstance(found, Enclosure)
    return found
