"""How long the lower bound takes, beside a plain loop over T1 in mpmath.

`pytest tests/benchmarks/test_lower_speed.py --benchmark-enable` prints the
times; ``extra_info`` of the plain loops holds how many times slower they are.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any

import mpmath  # type: ignore[import-untyped]
import pytest

from boundcheck.bounds.lower import T1
from boundcheck.bounds.lower_balls import forget_spectra
from boundcheck.problem import Problem


def least(d: int, r: int, eps: str) -> int:
    heads = T1().heads(Problem.of(d, r, eps)).heads
    assert heads is not None
    return heads


def forget() -> None:
    """Let the next call start from nothing."""
    forget_spectra()


def seconds(call: Callable[[], object], repeats: int) -> float:
    """The best of a few runs."""
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def plain_error(d: int, r: int, heads: int, degrees: int) -> mpmath.mpf:
    """T1 standard as the formula stands, at 60 digits.

    All energy beyond the last degree counts in full, which is right to many
    digits where no heads reach that far.
    """
    mp = mpmath.MPContext()
    mp.dps = 60
    c = mp.gamma(mp.mpf(d) / 2) / (mp.sqrt(mp.pi) * mp.gamma(mp.mpf(d - 1) / 2))
    value = 2 * c / (d - 1)
    total, left = mp.mpf(0), mp.mpf(1)
    for l in range(1, degrees, 2):
        N = mp.binomial(d + l - 1, l) - (mp.binomial(d + l - 3, l - 2) if l > 1 else 0)
        m = 2 * mp.binomial(r + l - 1, l) + (mp.binomial(r + l - 3, l - 2) if l > 1 else 0)
        E = N * value**2
        left -= E
        total += E * max(mp.mpf(0), 1 - heads * m / N)
        value = -value * l / (l + d)
    return (total + left) / 2


def plain_least(d: int, r: int, eps: str, degrees: int) -> int:
    """The least H by doubling and halving on `plain_error`."""
    goal = Fraction(eps)

    def exceeds(heads: int) -> bool:
        return bool(plain_error(d, r, heads, degrees) * goal.denominator > goal.numerator)

    low, high = 0, 1
    while exceeds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high


@pytest.mark.parametrize(
    ("d", "r", "eps"),
    [(64, 4, "1/10"), (64, 4, "1/20"), (64, 4, "1/10000"), (100_000, 100, "1/20")],
)
@pytest.mark.parametrize("state", ["warm", "cold"])
def test_least_heads(benchmark: Any, d: int, r: int, eps: str, state: str) -> None:
    expected = least(d, r, eps)
    found = benchmark.pedantic(
        least,
        (d, r, eps),
        setup=forget if state == "cold" else None,
        rounds=3 if eps == "1/10000" else 20,
    )
    assert found == expected


@pytest.mark.parametrize(("d", "r", "eps"), [(64, 4, "1/10"), (64, 4, "1/20"), (16, 1, "1/20")])
def test_a_plain_loop_for_the_least_heads(benchmark: Any, d: int, r: int, eps: str) -> None:
    degrees = 160
    found = benchmark.pedantic(plain_least, (d, r, eps, degrees), rounds=1)
    assert found == least(d, r, eps)
    if benchmark.enabled:
        loop = seconds(lambda: plain_least(d, r, eps, degrees), 1)
        warm = seconds(lambda: least(d, r, eps), 20)

        def cold() -> int:
            forget()
            return least(d, r, eps)

        benchmark.extra_info["times slower than warm"] = round(loop / warm)
        benchmark.extra_info["times slower than cold"] = round(loop / seconds(cold, 10))


@pytest.mark.parametrize("heads", [1, 10**6])
def test_a_plain_loop_for_the_error(benchmark: Any, heads: int) -> None:
    problem, degrees = Problem.of(64, 4), 160
    found = benchmark.pedantic(plain_error, (64, 4, heads, degrees), rounds=3)
    assert float(found) == pytest.approx(float(T1().error(problem, heads).lo), rel=1e-12)
    if benchmark.enabled:
        loop = seconds(lambda: plain_error(64, 4, heads, degrees), 3)
        warm = seconds(lambda: T1().error(problem, heads), 20)
        benchmark.extra_info["times slower than warm"] = round(loop / warm)


def test_a_grid_of_a_thousand_questions(benchmark: Any) -> None:
    dimensions = [16, 24, 32, 48, 64, 96, 128, 192, 256, 512]
    ranks = range(1, 11)
    errors = ["0.4", "0.3", "0.25", "0.2", "0.15", "0.1", "0.08", "0.06", "0.05", "0.04"]

    def grid() -> list[int]:
        return [least(d, r, eps) for d, r, eps in product(dimensions, ranks, errors)]

    counts = benchmark.pedantic(grid, setup=forget, rounds=1)
    assert len(counts) == 1000
    # Along each row of ten the error falls, so the count rises.
    rows = [counts[i : i + 10] for i in range(0, 1000, 10)]
    assert all(row == sorted(row) for row in rows)
