"""T5: published forms, the constants T1 supports, and the certified closed form."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import flint
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from boundcheck.bounds.base import Bound
from boundcheck.bounds.closed_form import closed_form_heads_lower_bound
from boundcheck.bounds.lower import T1, T1s
from boundcheck.bounds.lower_rational import energy_interval
from boundcheck.bounds.published import T5a, T5b
from boundcheck.bounds.supported_constants import (
    DEFAULT_GRID,
    Grid,
    largest_supported_constant_high_accuracy,
    largest_supported_constant_high_dimensional,
    largest_supported_exponent,
    supported_constants,
)
from boundcheck.capacity import capacities
from boundcheck.errors import InputError
from boundcheck.harmonics import harmonic_dimension
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem

# Small enough for tests, with cells in the high-accuracy regime.
GRID = Grid((32, 64), (1, 4, 8), ("0.2", "0.05", "0.02", "0.01"))

# --- the forms, against Python's decimals evaluating them as they are written ----


def log2_form_a(d: int, r: int, digits: int) -> Decimal:
    with localcontext() as context:
        context.prec = digits
        return d - (r + 1) * (Decimal(2 * d) / r).ln() / Decimal(2).ln()


def form_a(d: int, r: int, digits: int) -> Decimal:
    exponent = log2_form_a(d, r, digits)
    with localcontext() as context:
        context.prec = digits
        return Decimal(2) ** exponent


def form_b(d: int, r: int, eps: Fraction, C: Fraction, digits: int) -> Decimal:
    with localcontext() as context:
        context.prec = digits
        u = Decimal(C.numerator) * eps.denominator / (C.denominator * eps.numerator)
        return (d / (r + u)) ** u


@given(d=st.integers(4, 400), data=st.data())
def test_high_accuracy_form_is_the_floor_of_its_formula(d: int, data: st.DataObject) -> None:
    r = data.draw(st.integers(1, d - 3))
    problem = Problem.of(d, r, Fraction(1, 2 * (d + 1)))
    exponent = log2_form_a(d, r, 60)
    assume(abs(exponent) > Decimal("1e-20"))
    assert (T5a().why_not(problem) is None) == (exponent > 0)
    heads = T5a(C=2.5).heads(problem).heads
    assert heads is not None
    # More digits than d log10(2); whole values, as at (64, 4), are up to their rounding.
    value = Fraction(form_a(d, r, d + 40)) * Fraction(5, 2)
    assert heads - Fraction(1, 10**8) <= value < heads + 1


@given(
    d=st.integers(5, 300),
    r=st.integers(1, 60),
    eps=st.fractions(Fraction(1, 300), Fraction(49, 100), max_denominator=10**4),
    C=st.sampled_from([0.1, 0.5, 1.0, 3.0]),
)
def test_high_dimensional_form_is_the_floor_of_its_formula(
    d: int, r: int, eps: Fraction, C: float
) -> None:
    assume(r <= d)
    problem = Problem.of(d, r, eps)
    exact = Fraction(str(C))
    applies = T5b(C=C).why_not(problem) is None
    assert applies == (d > r + exact / eps)
    if applies:
        heads = T5b(C=C).heads(problem).heads
        assert heads is not None
        # The form is below e^{d/e}, 48 digits.
        value = Fraction(form_b(d, r, eps, exact, 100))
        assert heads - Fraction(1, 10**15) <= value < heads + 1
        halved = T5b(C=C, factor=0.5).heads(problem).heads
        assert halved is not None
        assert halved - Fraction(1, 10**15) <= value / 2 < halved + 1


def test_whole_values_are_hit_exactly() -> None:
    # 2^{64 - 5 log2 32} = 2^39, (64/8)^4 = 2^12, 27^{7/3} = 3^7.
    assert T5a().heads(Problem.of(64, 4, "0.01")).heads == 2**39
    assert T5b().heads(Problem.of(64, 4, "1/4")).heads == 2**12
    assert T5b().heads(Problem.of(90, 1, "3/7")).heads == 3**7


@pytest.mark.parametrize(("d", "r"), [(100_000, 10), (100_000, 20_000)])
def test_no_overflow_in_high_dimension(d: int, r: int) -> None:
    high_accuracy = T5a().heads(Problem.of(d, r, "1e-400")).heads
    high_dimensional = T5b().heads(Problem.of(d, r, "0.001")).heads
    assert high_accuracy is not None
    assert high_dimensional is not None
    log2_expected = log2_form_a(d, r, 40)
    log_expected = form_b(d, r, Fraction(1, 1000), Fraction(1), 40).ln()
    assert abs(Decimal(high_accuracy).ln() / Decimal(2).ln() - log2_expected) < Decimal("1e-9")
    assert abs(Decimal(high_dimensional).ln() - log_expected) < Decimal("1e-9")


def test_the_forms_call_themselves_published_and_name_their_constants() -> None:
    bounds: list[Bound] = [T5a(c=2.0), T5b()]
    problem = Problem.of(64, 4, "0.02")
    for bound in bounds:
        assert (bound.kind, bound.direction, bound.depth, bound.scores) == (
            "published", "lower", 1, "any",
        )  # fmt: skip
        assert bound.why_not(problem) is None
        assert bound.rank(problem) == 4
        assert bound.error(problem, 10).kind == "published"
    assert T5a(c=2.0).heads(problem).reason == "asymptotic form, constants c=2, C=1"
    assert T5b().heads(problem).reason == "asymptotic form, constants C=1, factor=1"
    assert T5a(c=2.0).error(problem, 10).constants == {"c": 2.0, "C": 1.0}
    assert T5b(factor=3.0).error(problem, 10).constants == {"C": 1.0, "factor": 3.0}


def test_at_constants_one_a_form_may_lie_above_what_is_proved() -> None:
    # Why it must not be taken for a bound.
    problem = Problem.of(64, 4, "0.2")
    assert (T5b().heads(problem).heads or 0) > (T1().heads(problem).heads or 0)


@pytest.mark.parametrize(
    ("bound", "question", "words"),
    [
        (T5a(), (64, 4, "1/65"), "eps < c/(d+1) = 1/65"),
        (T5a(), (64, 62, "0.001"), "r <= d-3 = 61"),
        (T5a(), (16, 8, "0.001"), "(r+1) log2(2d/r)"),
        # (r+1) log2(2d/r) = 2 * 4 = d.
        (T5a(), (8, 1, "0.001"), "(r+1) log2(2d/r)"),
        (T5b(), (4, 1, "0.4"), "d >= 5"),
        (T5b(), (64, 4, "1/60"), "d > r + C/eps"),
        (T5b(C=30.0), (64, 4, None), "d > r + 2C"),
    ],
)
def test_why_not_names_the_condition(
    bound: Bound, question: tuple[int, int, str | None], words: str
) -> None:
    found = bound.why_not(Problem.of(*question))
    assert found is not None
    assert words in found


def test_regimes_are_open_at_exact_decimals() -> None:
    # 0.1 as a binary float is above 1/10.
    assert T5a(c=1.1).why_not(Problem.of(10, 1, "0.1")) is not None
    assert T5a(c=1.1).why_not(Problem.of(10, 1, "0.0999999999999999999999")) is None
    assert T5a().why_not(Problem.of(64, 4, "0.01", skip=True)) is not None
    assert T5b().why_not(Problem.of(64, 4, "0.1", skip=True)) is not None
    assert T5a().why_not(Problem.of(64, 4)) is None
    assert T5b().why_not(Problem.of(64, 4)) is None


@pytest.mark.parametrize("constant", [0.0, -1.0, math.nan, math.inf])
def test_constants_must_be_positive_and_finite(constant: float) -> None:
    for make in (
        lambda: T5a(c=constant),
        lambda: T5a(C=constant),
        lambda: T5b(C=constant),
        lambda: T5b(factor=constant),
    ):
        with pytest.raises(InputError):
            make()


def test_high_accuracy_error_is_a_threshold() -> None:
    bound, problem = T5a(c=0.5), Problem.of(64, 4)
    heads = bound.heads(problem).heads
    assert heads is not None
    assert bound.error(problem, 0).value == 0.5 / 65
    assert bound.error(problem, heads - 1).value == 0.5 / 65
    assert bound.error(problem, heads).value == 0.0
    assert T5a(c=100.0).error(problem, 0).value == 0.5


@given(
    d=st.integers(8, 200),
    r=st.integers(1, 20),
    C=st.sampled_from([0.2, 1.0, 4.0]),
    factor=st.sampled_from([0.1, 1.0, 7.0]),
    log_heads=st.floats(0, 30),
)
@settings(max_examples=50)
def test_high_dimensional_error_is_the_largest_eps_where_the_form_exceeds_the_heads(
    d: int, r: int, C: float, factor: float, log_heads: float
) -> None:
    assume(r + 2 * C < d)
    heads = round(math.exp(log_heads))
    bound, problem = T5b(C=C, factor=factor), Problem.of(d, r)
    value = bound.error(problem, heads).value
    assert 0 <= value <= 0.5

    def form(u: float) -> float:
        return float(factor * (d / (r + u)) ** u)

    least = C / value if value else d - r
    # Scan: nothing between eps = 1/2 and the value exceeds the heads.
    for i in range(201):
        u = 2 * C + (least - 2 * C) * i / 200
        assert form(u) <= heads * (1 + 1e-9) or value == 0.5
    if value:
        assert form(least * (1 + 1e-7)) > heads


def test_high_dimensional_error_at_the_ends() -> None:
    problem = Problem.of(60, 4)  # at eps = 1/2: (60/6)^2 = 100
    assert T5b().error(problem, 0).value == 0.5
    assert T5b().error(problem, 99).value == 0.5
    assert T5b().error(problem, 100).value == pytest.approx(0.5, rel=1e-12)
    assert T5b().error(problem, 101).value < 0.4999
    assert T5b().error(problem, 10**5000).value == 0.0
    # It inverts heads at the form's exact values: (64/8)^4 at eps = 1/4.
    assert T5b().error(Problem.of(64, 4), 4096).value == pytest.approx(0.25, rel=1e-12)
    # Past the peak at eps = 1/2 already: (10/9)^8 = 2.32, largest value for eps < 1/2.
    past_peak = T5b(C=4.0)
    assert past_peak.error(Problem.of(10, 1), 2).value == 0.5
    assert past_peak.error(Problem.of(10, 1), 3).value == 0.0


# --- constants that T1 supports --------------------------------------------


def least_heads(problem: Problem) -> int:
    heads = T1().heads(problem).heads
    assert heads is not None
    return heads


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
def test_supported_exponent_holds_in_every_cell_and_no_more(head_class: HeadClass) -> None:
    found = largest_supported_exponent(GRID, head_class)
    assert found.constant is not None
    assert found.limiting is not None
    assert found.constant > 0

    def form(problem: Problem, a: Fraction) -> Decimal:
        with localcontext() as context:
            context.prec = 60
            exponent = a / problem.target_eps
            u = Decimal(exponent.numerator) / exponent.denominator
            return (Decimal(problem.d) / problem.r) ** u

    a = Fraction(found.constant)
    assert all(form(problem, a) <= least_heads(problem) for problem in GRID.problems(head_class))
    assert found.heads == least_heads(found.limiting)
    assert form(found.limiting, a * (1 + Fraction(1, 2**50))) > found.heads


def test_supported_high_accuracy_constant_holds_in_every_cell_and_no_more() -> None:
    found = largest_supported_constant_high_accuracy(GRID, c=0.9)
    assert found.constant is not None
    assert found.limiting is not None
    cells = 0
    for problem in GRID.problems("standard"):
        d, r = problem.d, problem.r
        if problem.target_eps < Fraction(9, 10) / (d + 1) and 2**d * r ** (r + 1) > (2 * d) ** (
            r + 1
        ):
            cells += 1
            form = Fraction(2**d * r ** (r + 1), (2 * d) ** (r + 1))
            assert Fraction(found.constant) * form <= least_heads(problem)
            if problem == found.limiting:
                above = math.nextafter(found.constant, math.inf)
                assert Fraction(above) * form > least_heads(problem)
    # eps 0.02 and 0.01 below 0.9/33, 0.01 below 0.9/65, at three ranks each.
    assert cells == 9


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
def test_supported_high_dimensional_constant_holds_up_to_it_and_no_further(
    head_class: HeadClass,
) -> None:
    found = largest_supported_constant_high_dimensional(GRID, head_class)
    assert found.constant is not None
    assert found.limiting is not None
    for problem in GRID.problems(head_class):
        d, r, eps = problem.d, problem.r, problem.target_eps
        heads = least_heads(problem)
        for part in range(1, 9):
            smaller = Fraction(found.constant) * part / 8
            assert form_b(d, r, eps, smaller, 60) <= heads
        if problem == found.limiting:
            above = Fraction(found.constant) * (1 + Fraction(1, 2**50))
            assert form_b(d, r, eps, above, 60) > heads


def test_a_cell_with_one_head_supports_no_positive_constant() -> None:
    grid = Grid((16, 64), (8,), ("0.2",))
    problem = Problem.of(16, 8, "0.2")
    assert least_heads(problem) == 1
    for found in (
        largest_supported_exponent(grid),
        largest_supported_constant_high_dimensional(grid),
    ):
        assert (found.constant, found.limiting, found.heads) == (0.0, problem, 1)


def test_a_grid_that_limits_nothing_says_so() -> None:
    # H_min above the form's peak, and no cell in the regime.
    peaks = largest_supported_constant_high_dimensional(Grid((32,), (8,), ("0.005",)))
    regime = largest_supported_constant_high_accuracy(Grid((64,), (4,), ("0.1",)))
    for found in (peaks, regime):
        assert found.constant is None
        assert found.limiting is None
        assert found.reason is not None


def test_more_cells_never_support_more() -> None:
    small = supported_constants((64,), (2, 4), ("0.1", "0.01"))
    large = supported_constants((32, 64), (1, 2, 4), ("0.1", "0.05", "0.01"))
    for few, many in zip(small, large, strict=True):
        assert few.constant is not None
        assert many.constant is not None
        assert many.constant <= few.constant


def test_the_default_grid_has_no_trivial_cell() -> None:
    # H_min falls in eps, so the largest eps decides.
    top = max(DEFAULT_GRID.epss, key=Fraction)
    largest_eps = Grid(DEFAULT_GRID.ds, DEFAULT_GRID.rs, (top,))
    for head_class in HEAD_CLASSES:
        assert all(least_heads(problem) > 1 for problem in largest_eps.problems(head_class))
    cells = DEFAULT_GRID.problems("standard")
    regime = {problem.d for problem in cells if problem.target_eps < Fraction(1, problem.d + 1)}
    assert regime == set(DEFAULT_GRID.ds)


def test_a_bad_cell_is_an_input_error() -> None:
    with pytest.raises(InputError, match="eps"):
        supported_constants((64,), (4,), ("0.7",))


def test_flint_precision_is_left_as_it_was() -> None:
    before = flint.ctx.prec
    T5b().heads(Problem.of(1000, 4, "0.01"))
    T5b().error(Problem.of(1000, 4), 10**9)
    supported_constants((32,), (4,), ("0.1", "0.02"))
    closed_form_heads_lower_bound(Problem.of(64, 4, "0.1"))
    assert flint.ctx.prec == before


# --- the closed form --------------------------------------------------------


def closed_form_in_rationals(problem: Problem, degrees: int) -> int:
    """The same by exact rationals: energies from their closed form, every degree tried."""
    best = 1
    for capacity in capacities(problem.d, problem.r, problem.head_class):
        tail = Fraction(1)
        for degree in range(1, 2 * degrees, 2):
            if not (problem.skip and degree == 1):
                theta = 1 - 2 * problem.target_eps / tail
                share = Fraction(harmonic_dimension(capacity.D, degree), capacity(degree))
                best = max(best, math.ceil(theta * share))
            tail -= energy_interval(capacity.D, degree)[1]
            if tail <= 2 * problem.target_eps:
                break
        else:
            raise AssertionError("more degrees are needed")
    return best


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
@pytest.mark.parametrize(
    ("d", "r", "eps"), [(64, 4, "0.1"), (64, 1, "0.1"), (16, 1, "0.05"), (9, 2, "0.04")]
)
@pytest.mark.parametrize("skip", [False, True])
def test_closed_form_agrees_with_exact_rationals(
    d: int, r: int, eps: str, head_class: HeadClass, skip: bool
) -> None:
    problem = Problem.of(d, r, eps, head_class=head_class, skip=skip)
    found = closed_form_heads_lower_bound(problem)
    assert found.heads == closed_form_in_rationals(problem, 200)
    assert found.sharp


@given(
    d=st.integers(3, 80),
    data=st.data(),
    eps=st.fractions(Fraction(1, 100), Fraction(49, 100), max_denominator=1000),
    head_class=st.sampled_from(HEAD_CLASSES),
    skip=st.booleans(),
)
@settings(deadline=None)
def test_closed_form_never_exceeds_the_harmonic_bound(
    d: int, data: st.DataObject, eps: Fraction, head_class: HeadClass, skip: bool
) -> None:
    r = data.draw(st.integers(1, d))
    problem = Problem.of(d, r, eps, head_class=head_class, skip=skip)
    weaker = closed_form_heads_lower_bound(problem).heads
    full = (T1s() if skip else T1()).heads(problem).heads
    assert weaker is not None
    assert full is not None
    assert 1 <= weaker <= full


@pytest.mark.parametrize(
    ("d", "r", "eps", "least", "most"),
    # How far the closed form falls short, as measured: 5.0, 6.7, 7.3, 80.4.
    [
        (64, 4, "0.1", 4.9, 5.1),
        (64, 1, "0.1", 6.6, 6.8),
        (16, 1, "0.05", 7.2, 7.4),
        (128, 4, "0.01", 80, 81),
    ],
)
def test_closed_form_falls_short_by_a_known_factor(
    d: int, r: int, eps: str, least: float, most: float
) -> None:
    problem = Problem.of(d, r, eps)
    weaker = closed_form_heads_lower_bound(problem).heads
    assert weaker is not None
    assert least < Fraction(least_heads(problem), weaker) < most


@given(
    d=st.integers(4, 40),
    data=st.data(),
    theta=st.fractions(Fraction(1, 20), Fraction(19, 20), max_denominator=50),
    degree=st.integers(0, 8).map(lambda i: 2 * i + 1),
    head_class=st.sampled_from(HEAD_CLASSES),
)
@settings(deadline=None)
def test_the_implication_itself(
    d: int, data: st.DataObject, theta: Fraction, degree: int, head_class: HeadClass
) -> None:
    # At H <= theta N/m heads T1's error is at least (1-theta)/2 sum_{l'>=l} E_l'.
    r = data.draw(st.integers(1, d - 2))
    error_bounds = []
    for capacity in capacities(d, r, head_class):
        share = Fraction(harmonic_dimension(capacity.D, degree), capacity(degree))
        heads = math.floor(theta * share)
        if heads >= 1:
            tail = 1 - sum(energy_interval(capacity.D, l)[1] for l in range(1, degree, 2))
            error_bounds.append((heads, (1 - theta) / 2 * tail))
    assume(error_bounds)
    for heads, error in error_bounds:
        assert T1().error(Problem.of(d, r, head_class=head_class), heads).hi >= error


def test_a_search_cut_short_is_marked() -> None:
    found = closed_form_heads_lower_bound(Problem.of(64, 4, "1e-9"))
    assert not found.sharp
    assert (found.heads or 0) > 10**100


@pytest.mark.parametrize("eps", ["0.1", "0.05", "0.03"])
def test_harmonic_bound_grows_with_the_exponent_stated_for_large_dimension(eps: str) -> None:
    # T5: exponent about (0.254/eps)^2; the growth from d to 10 d shows an odd degree beside it.
    small, large = (least_heads(Problem.of(d, 1, eps, head_class="scalar")) for d in (10**5, 10**6))
    exponent = math.log10(large) - math.log10(small)
    assert abs(exponent - (0.254 / float(eps)) ** 2) < 1.2
