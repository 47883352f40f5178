import math
import os
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import mpmath  # type: ignore[import-untyped]
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from lower_questions import CLASSES, EPS, error, least

from boundcheck.bounds import lower_balls, lower_rational
from boundcheck.bounds.lower import T1, T1s
from boundcheck.capacity import capacities
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem


@cache
def plain_energies(D: int) -> list[mpmath.mpf]:
    """E_1, E_3, ..., E_199 from Gamma: |lambda_l| = Gamma(D/2) Gamma(l/2) / (pi Gamma((D+l)/2))."""
    mp = context(60)
    energies = []
    for l in range(1, 200, 2):
        value = mp.gamma(mp.mpf(D) / 2) * mp.gamma(mp.mpf(l) / 2)
        value /= mp.pi * mp.gamma(mp.mpf(D + l) / 2)
        energies.append(plain_dimension(D, l) * value**2)
    return energies


def plain_dimension(D: int, l: int) -> int:
    return math.comb(D + l - 1, l) - (math.comb(D + l - 3, l - 2) if l > 1 else 0)


def plain_bound(
    d: int, r: int, heads: int, head_class: HeadClass, skip: bool
) -> tuple[mpmath.mpf, mpmath.mpf]:
    """T1 by a plain loop in mpmath at 60 digits; the package has no part in it.

    All energy beyond degree 199 is taken to lose what degree 201 loses, or
    nothing: the truth lies in between.
    """
    mp = context(60)

    def m(l: int) -> int:
        return math.comb(r + l - 1, l) if l >= 0 else 0

    def capacity(l: int, kind: int) -> int:
        return [
            m(l),
            2 * m(l) + m(l - 2),
            2 * m(l) + m(l - 1) + m(l - 2),
            2 * m(l) + r * m(l - 1) + m(l - 2),
        ][kind]

    def kept(l: int, D: int, kind: int) -> mpmath.mpf:
        return max(mp.mpf(0), 1 - mp.mpf(heads * capacity(l, kind)) / plain_dimension(D, l))

    best_low = best_high = mp.mpf(0)
    conditions = {"scalar": [(d, 0)], "standard": [(d, 1)], "generalized": [(d - 1, 2), (d, 3)]}
    for D, kind in conditions[head_class]:
        total, left = mp.mpf(0), mp.mpf(1)
        for l, E in zip(range(1, 200, 2), plain_energies(D), strict=True):
            left -= E
            if l > 1 or not skip:
                total += E * kept(l, D, kind)
        best_low = max(best_low, (total + left * kept(201, D, kind)) / 2)
        best_high = max(best_high, (total + left) / 2)
    return best_low, best_high


def context(digits: int) -> mpmath.MPContext:
    mp = mpmath.MPContext()
    mp.dps = digits
    return mp


def as_mpf(x: Fraction) -> mpmath.mpf:
    mp = context(60)
    return mp.mpf(x.numerator) / x.denominator


# --- the numbers of THEORY.md, section 3 -----------------------------------


@pytest.mark.parametrize(
    ("d", "r", "eps", "counts"),
    [
        (64, 4, "1/10", (191901, 78614, 57374)),
        (64, 4, "0.1", (191901, 78614, 57374)),
        (64, 1, "1/10", (23219957, 7739986, 5804990)),
        (16, 1, "1/20", (19350668, 6450223, 4837667)),
    ],
)
def test_least_heads_of_the_theory(d: int, r: int, eps: str, counts: tuple[int, int, int]) -> None:
    assert tuple(least(d, r, eps, name) for name in HEAD_CLASSES) == counts


def test_errors_of_the_theory() -> None:
    found = [float(error(16, 4, 1, name).lo) for name in HEAD_CLASSES]
    assert found == pytest.approx([0.416364, 0.332401, 0.297449], abs=5e-7)


@pytest.mark.parametrize(
    ("d", "optima"),
    [(3, {1: 0.36338, 2: 0.22676, 3: 0.09014}), (4, {1: 0.40529, 2: 0.31057, 3: 0.21585})],
)
def test_at_rank_one_the_scalar_bound_is_the_optimum(d: int, optima: dict[int, float]) -> None:
    # T2's infima, as THEORY.md gives them: +-1 in the last digit.
    for heads, optimum in optima.items():
        assert float(error(d, 1, heads, "scalar").lo) == pytest.approx(optimum, abs=1e-5)


def test_a_standard_layer_passes_the_scalar_bound_only() -> None:
    # d = 3, r = 1, H = 5: a standard layer reaches .0638, the scalar optimum is .0669.
    assert float(error(3, 1, 5, "scalar").lo) == pytest.approx(0.0669, abs=5e-5)
    assert float(error(3, 1, 5, "standard").hi) < 0.0638


def test_a_free_residual_needs_the_weaker_bound() -> None:
    # d = 8: a y plus one scalar rank-1 head has error .4241. Dropping degree 1
    # must let it through, and T1 without that would wrongly exclude it.
    reached = 0.4241
    assert float(error(8, 1, 1, "scalar").lo) > reached
    assert float(error(8, 1, 1, "scalar", skip=True).hi) < reached
    assert T1().why_not(Problem.of(8, 1, skip=True)) is not None
    assert T1s().why_not(Problem.of(8, 1)) is not None
    assert T1().why_not(Problem.of(8, 1)) is None
    assert T1s().why_not(Problem.of(8, 1, skip=True)) is None


# --- against independent routes ----------------------------------------------


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(("d", "r"), [(64, 4), (16, 1), (9, 2), (40, 20)])
def test_errors_by_a_plain_loop_at_sixty_digits(
    d: int, r: int, head_class: HeadClass, skip: bool
) -> None:
    for heads in (1, 2, 7, 100):
        low, high = plain_bound(d, r, heads, head_class, skip)
        found = error(d, r, heads, head_class, skip)
        assert low - mpmath.mpf("1e-50") <= as_mpf(found.hi)
        assert as_mpf(found.lo) <= high + mpmath.mpf("1e-50")
        if (d, heads) in ((64, 1), (64, 100), (16, 1)):
            assert high - low < mpmath.mpf("1e-14")


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
@pytest.mark.parametrize(("d", "r", "eps"), [(64, 4, "1/10"), (16, 1, "1/20"), (30, 2, "0.07")])
def test_least_heads_by_a_plain_loop_at_sixty_digits(
    d: int, r: int, eps: str, head_class: HeadClass
) -> None:
    heads = least(d, r, eps, head_class)
    target = as_mpf(Fraction(eps))
    assert plain_bound(d, r, heads, head_class, False)[1] <= target
    assert plain_bound(d, r, heads - 1, head_class, False)[0] > target


def test_a_closed_form_in_dimension_four() -> None:
    # |lambda_l| = 4/(pi l (l+2)) at D = 4, so sum lambda_l^2 = 1 - 8/pi^2, and as
    # long as H <= N(4,1) = 4 the scalar bound at r = 1 is (1 - H (1 - 8/pi^2))/2.
    mp = context(60)
    for heads in (1, 2, 3, 4):
        exact = (1 - heads * (1 - 8 / mp.pi**2)) / 2
        assert abs(as_mpf(error(4, 1, heads, "scalar").lo) - exact) < mp.mpf("1e-30")


@given(st.integers(3, 24), st.integers(1, 24), CLASSES, st.booleans(), EPS, st.integers(1, 10**6))
@settings(max_examples=25)
@example(16, 13, "generalized", False, Fraction(20, 1000), 1)
@example(20, 18, "generalized", False, Fraction(20, 1000), 2)
@example(6, 1, "standard", False, Fraction(100, 1000), 3)
def test_balls_and_rationals_agree(
    d: int, r: int, head_class: HeadClass, skip: bool, eps: Fraction, heads: int
) -> None:
    assume(r <= d)
    for capacity in capacities(d, r, head_class):
        exact = lower_rational.least_heads(capacity, eps, skip)
        found = lower_balls.least_heads(capacity, eps, skip)
        assert found.sharp
        assert found.heads is not None
        assert exact.heads is not None
        if exact.sharp:
            assert found.heads == exact.heads
        else:
            assert found.heads >= exact.heads
        for H in {1, found.heads, heads % 1000 + 1}:
            a = lower_rational._bound(capacity, H, skip, 64, 256)
            b = lower_balls.error_at(capacity, H, skip)
            assert a.lo <= b.hi
            assert b.lo <= a.hi
            assert b.width <= b.lo / 2**60


def test_two_routes_to_energies_agree() -> None:
    for D in (2, 3, 8, 65):
        for a, b in zip(
            lower_balls.odd_energies(D, 40), lower_rational.odd_energies(D, 40), strict=True
        ):
            assert a.lo <= b.hi
            assert b.lo <= a.hi
            assert max(a.width, b.width) < Fraction(1, 2**170)


def test_pi_is_enclosed() -> None:
    mp = context(100)
    for bits in (20, 100, 256):
        low, high = lower_rational.pi_interval(bits)
        assert mp.mpf(low.numerator) / low.denominator < mp.pi
        assert mp.pi < mp.mpf(high.numerator) / high.denominator
        assert high - low < Fraction(1, 2 ** (bits - 4))


# --- without python-flint ----------------------------------------------------

QUESTION = """
import sys
{block}
from boundcheck.bounds.lower import T1, T1s, explanation
from boundcheck.problem import Problem
print(T1().heads(Problem.of(64, 4, "0.1")).heads)
print(T1().heads(Problem.of(16, 1, "0.05", head_class="generalized")).heads)
print(T1s().heads(Problem.of(64, 4, "0.1", skip=True)).heads)
print(f"{{float(T1().error(Problem.of(16, 4), 1).lo):.6f}}")
print(f"{{float(T1s().error(Problem.of(3, 1, skip=True), 0).lo):.6f}}")
print(explanation(Problem.of(16, 4), 1).shares[0].capacity)
print("flint" in sys.modules and sys.modules["flint"] is not None)
"""


def answers(block: str, path: Path | None = None) -> list[str]:
    environment = dict(os.environ)
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    done = subprocess.run(
        [sys.executable, "-c", QUESTION.format(block=block)],
        capture_output=True,
        text=True,
        env=environment,
        timeout=60,
        check=True,
    )
    return done.stdout.split()


def test_exact_rationals_serve_where_flint_is_missing_or_broken(tmp_path: Path) -> None:
    (tmp_path / "flint.py").write_text("raise ImportError('libflint.so.20: cannot open')\n")
    usual = answers("")
    assert usual.pop() == "True"
    for found in (answers("sys.modules['flint'] = None"), answers("", tmp_path)):
        assert found.pop() == "False"
        assert found == usual
    assert usual[:2] == ["78614", "4837667"]
