"""The figure's data: every point is a bound's own answer, and lines between points are safe."""

from __future__ import annotations

import random
import subprocess
import sys
from bisect import bisect_right
from fractions import Fraction
from math import log10

import pytest

from boundcheck.bounds.registry import all_bounds, bound_named
from boundcheck.curves import EPS_RANGE, Curve, heads_curves
from boundcheck.errors import InputError
from boundcheck.problem import Problem
from boundcheck.values import Direction, Enclosure, HeadCount, Kind

#: A share of the figure's height that is thinner than a line.
HAIRLINE = 0.008
SUFFICIENT = {
    "two layers": ("U4", "U4b"),
    "arbitrary scores": ("T2",),
    "one layer": ("U3", "U3r"),
}


def excluded(curves: list[Curve], head_class: str) -> Curve:
    return next(curve for curve in curves if curve.head_class == head_class)


@pytest.mark.parametrize("head_class", ["scalar", "standard", "generalized"])
def test_excluded_counts_are_the_bound_s(head_class: str) -> None:
    curve = excluded(heads_curves(64, 4).of_role("excluded"), head_class)
    bound = bound_named("T1")
    for place, count in list(zip(curve.places, curve.heads, strict=True))[::10]:
        problem = Problem.of(64, 4, Fraction(place), head_class=head_class)
        assert count == bound.heads(problem).heads


def drawn_points(curve: Curve) -> list[tuple[float, float]]:
    return [
        (log10(place), log10(count))
        for place, count in zip(curve.places, curve.heads, strict=True)
        if count
    ]


def drawn_height(points: list[tuple[float, float]], eps: Fraction) -> float | None:
    """The height of the straight line between two places; None beyond the curve's ends."""
    x = log10(eps)
    i = bisect_right([place for place, _ in points], x)
    if i in (0, len(points)):
        return None
    (x0, y0), (x1, y1) = points[i - 1], points[i]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)


def some_eps(count: int) -> list[Fraction]:
    generator = random.Random(1)
    return [Fraction(f"{generator.uniform(0.021, 0.39):.6f}") for _ in range(count)]


@pytest.mark.parametrize(("d", "r"), [(64, 4), (16, 1), (8192, 4)])
def test_lines_between_places_keep_to_the_bound(d: int, r: int) -> None:
    # The line drawn between two places must not exclude more than T1 does there.
    points = drawn_points(excluded(heads_curves(d, r).of_role("excluded"), "standard"))
    height = 3 + max(y for _, y in points)
    for eps in some_eps(60):
        drawn = drawn_height(points, eps)
        if drawn is not None:
            true = log10(bound_named("T1").heads(Problem.of(d, r, eps)).heads or 1)
            assert drawn - true < HAIRLINE * height


@pytest.mark.parametrize("role", ["two layers", "arbitrary scores", "one layer"])
@pytest.mark.parametrize(("d", "r"), [(64, 4), (16, 1), (3, 2)])
def test_lines_between_places_do_not_promise_more(d: int, r: int, role: str) -> None:
    # Nor may it show fewer heads to suffice than a search for that eps finds.
    (curve,) = [c for c in heads_curves(d, r).curves if c.role == role]
    points = drawn_points(curve)
    height = 3 + max(y for _, y in points)
    compared = 0
    for eps in some_eps(25):
        drawn = drawn_height(points, eps)
        if drawn is not None:
            problem = Problem.of(d, r, eps)
            counts = [bound_named(i).heads(problem).heads for i in SUFFICIENT[role]]
            least = min(n for n in counts if n is not None)
            assert drawn - log10(least) > -HAIRLINE * height
            compared += 1
    assert compared > 10


@pytest.mark.parametrize("role", ["two layers", "arbitrary scores", "one layer"])
def test_sufficient_counts_reach_their_eps(role: str) -> None:
    ids = SUFFICIENT[role]
    (curve,) = [c for c in heads_curves(30, 2).curves if c.role == role]
    for place, count in list(zip(curve.places, curve.heads, strict=True))[::7]:
        eps = Fraction(place)
        if count is None or eps >= Fraction(1, 2) or eps < Fraction(EPS_RANGE[0]):
            continue
        problem = Problem.of(30, 2, eps)
        least = min(n for i in ids if (n := bound_named(i).heads(problem).heads) is not None)
        # Not fewer than the least count that a search for this very eps finds, but for
        # U3, where another measure may serve a hair better.
        assert count >= least * (1 - 1e-4 * (role == "one layer"))
        assert log10(count) - log10(least) < 0.05 or count - least <= 1


def test_sweeps_over_r_and_d() -> None:
    by_r = heads_curves(16, 4, against="r")
    curve = excluded(by_r.of_role("excluded"), "standard")
    least = bound_named("T1").heads(Problem.of(16, 4, "0.1")).heads
    assert curve.heads[curve.places.index(4)] == least
    assert (by_r.first, by_r.last) == (1, 16)
    by_d = heads_curves(16, 4, against="d", eps="0.2")
    assert excluded(by_d.of_role("excluded"), "standard").places[0] == 8


class TenHeads:
    """A construction that no paper knows: ten heads reach every error."""

    id = "X"
    name = "ten heads"
    direction: Direction = "upper"
    kind: Kind = "certified"
    depth = 1
    scores = "hardmax"

    def why_not(self, problem: Problem) -> str | None:
        return None

    def rank(self, problem: Problem) -> int:
        return problem.r

    def error(self, problem: Problem, heads: int) -> Enclosure:
        error = Fraction(heads < 10)
        return Enclosure(error, error)

    def heads(self, problem: Problem) -> HeadCount:
        return HeadCount(10)


@pytest.mark.parametrize("against", ["eps", "r"])
def test_a_new_bound_joins_its_curve(monkeypatch: pytest.MonkeyPatch, against: str) -> None:
    bounds = (*all_bounds(), TenHeads())
    monkeypatch.setattr("boundcheck.curves.all_bounds", lambda: bounds)
    (curve,) = heads_curves(16, 2, against=against).of_role("one layer")
    assert "X" in curve.main_ids
    assert max(count for count in curve.heads if count) == 10


def test_the_data_need_no_drawing() -> None:
    script = (
        "import sys; from boundcheck.curves import heads_curves; heads_curves(8, 2); "
        "print([m for m in ('matplotlib', 'scipy', 'sympy') if m in sys.modules])"
    )
    run = [sys.executable, "-c", script]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_the_published_form_ends_at_its_peak() -> None:
    # As eps falls the form decays beyond its peak; the line stops there.
    (curve,) = heads_curves(64, 4).of_role("published")
    shown = [count for count in curve.heads if count is not None]
    assert shown == sorted(shown, reverse=True)
    assert curve.heads[0] is None
    assert max(shown) > 10**8


def test_counts_of_thousands_of_digits() -> None:
    curves = heads_curves(8192, 2, eps_range=("0.003", "0.0031"))
    count = max(n for n in excluded(curves.of_role("excluded"), "standard").heads if n)
    assert log10(count) > 1500


@pytest.mark.parametrize(
    ("options", "parameter"),
    [
        ({"against": "heads"}, "against"),
        ({"eps": "0.1"}, "eps"),
        ({"eps_range": ("0.4", "0.1")}, "eps"),
        ({"eps_range": ("0", "0.1")}, "eps"),
        ({"against": "r", "eps": "0.6"}, "eps"),
    ],
)
def test_bad_input(options: dict[str, str], parameter: str) -> None:
    with pytest.raises(InputError, match=f"^{parameter}: got"):
        heads_curves(16, 2, **options)  # type: ignore[arg-type]
