"""How long certificates take to make and to check, and how large they are.

`pytest tests/benchmarks/test_certificate_speed.py --benchmark-enable` prints
the times.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from boundcheck.bounds.lower_balls import forget_spectra
from boundcheck.certificate import certificate_text, lower_certificate, upper_certificate
from boundcheck.checker import check
from boundcheck.problem import Problem

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

#: A question for each size of certificate: d, r, eps, and bytes that the file may have.
QUESTIONS = [(64, 4, "1/20", 10_000), (1024, 16, "1/20", 20_000), (1024, 1, "1/50", 200_000)]


def made(d: int, r: int, eps: str) -> str:
    """The certificate from nothing: no series kept from before."""
    forget_spectra()
    return certificate_text(lower_certificate(Problem.of(d, r, eps)))


def test_is_made_within_a_second_and_checked_within_two() -> None:
    start = time.perf_counter()
    text = made(64, 4, "1/20")
    middle = time.perf_counter()
    assert check(text)[0]
    end = time.perf_counter()
    assert middle - start < 1
    assert end - middle < 2


@pytest.mark.parametrize(("d", "r", "eps", "size"), QUESTIONS)
def test_make(benchmark: BenchmarkFixture, d: int, r: int, eps: str, size: int) -> None:
    assert len(benchmark(made, d, r, eps)) < size


@pytest.mark.parametrize(("d", "r", "eps", "size"), QUESTIONS)
def test_check(benchmark: BenchmarkFixture, d: int, r: int, eps: str, size: int) -> None:
    assert benchmark(check, made(d, r, eps))[0]


def test_make_t2(benchmark: BenchmarkFixture) -> None:
    assert benchmark(upper_certificate, Problem.of(64, 4, "1/20"), "T2")
