"""Questions about T1 that several test files ask, in one line each."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from boundcheck.bounds.lower import T1, T1s
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem
from boundcheck.values import Enclosure

CLASSES = st.sampled_from(HEAD_CLASSES)
#: Errors that few degrees reach, so that the slow paths stay short.
EPS = st.builds(Fraction, st.integers(20, 490), st.just(1000))


def error(
    d: int, r: int, heads: int, head_class: HeadClass = "standard", skip: bool = False
) -> Enclosure:
    bound = T1s() if skip else T1()
    return bound.error(Problem.of(d, r, head_class=head_class, skip=skip), heads)


def least(
    d: int, r: int, eps: Fraction | str, head_class: HeadClass = "standard", skip: bool = False
) -> int:
    bound = T1s() if skip else T1()
    count = bound.heads(Problem.of(d, r, eps, head_class=head_class, skip=skip))
    assert count.sharp
    assert count.heads is not None
    return count.heads
