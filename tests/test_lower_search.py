import sys
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise

import mpmath  # type: ignore[import-untyped]
import pytest
from flint import arb
from lower_questions import error, least

from boundcheck.balls import ball, working_precision
from boundcheck.bounds import lower_balls, lower_rational
from boundcheck.bounds.falling_ratios import ratios_fall
from boundcheck.bounds.lower import T1, explanation
from boundcheck.capacity import Capacity, capacities
from boundcheck.errors import InputError
from boundcheck.harmonics import harmonic_dimension
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem
from boundcheck.values import Enclosure, HeadCount

# --- why the least H is found by bisection -----------------------------------


def problems_in_every_class(dimensions: Iterator[int]) -> Iterator[Capacity]:
    for d in dimensions:
        for r in range(1, d):
            for name in HEAD_CLASSES:
                yield from capacities(d, r, name)


def test_ratios_fall_once_they_are_at_most_one() -> None:
    # The step that lets the search stop: with exact rationals, directly, and by
    # the polynomial criterion for all later degrees at once.
    risen = 0
    for capacity in problems_in_every_class(iter(range(3, 25))):
        if capacity.r >= capacity.D or (capacity.r == capacity.D - 1 and capacity.now > 1):
            continue
        ratios = [Fraction(capacity(l), harmonic_dimension(capacity.D, l)) for l in range(1, 60, 2)]
        for i, (now, after) in enumerate(pairwise(ratios)):
            risen += now < after
            assert after <= now or now > 1, (capacity, i)
        first = next((i for i, ratio in enumerate(ratios) if ratio <= 1), None)
        if first is not None:
            assert ratios_fall(capacity, 2 * first + 1)
    # Above 1 they do rise: the search must not start there.
    assert risen > 0


@pytest.mark.parametrize("D", [100, 1000, 10**5, 10**6])
def test_ratios_fall_in_high_dimension(D: int) -> None:
    for r in (1, 2, 10, D // 20):
        for capacity in (Capacity(D, r, 2, 0, 1), Capacity(D, r, 2, 1, 1), Capacity(D, r, 2, r, 1)):
            assert capacity(1) <= D
            assert ratios_fall(capacity, 1)


def test_ratios_that_rise_are_noticed() -> None:
    capacity = Capacity(32, 29, 2, 29, 1)
    assert Fraction(capacity(3), harmonic_dimension(32, 3)) > Fraction(capacity(1), 32)
    assert not ratios_fall(capacity, 1)


@pytest.mark.parametrize(("D", "r"), [(16, 13), (32, 27), (64, 56), (100, 94)])
def test_counts_where_ratios_rise_at_first(D: int, r: int) -> None:
    # The error at the count, by the other path, tells whether it is the least.
    capacity = Capacity(D, r, 2, r, 1)
    for eps in (Fraction(1, 100), Fraction(1, 50), Fraction(1, 20)):
        count = lower_balls.least_heads(capacity, eps, skip=False)
        assert count.sharp
        assert count.heads is not None
        terms = 1024
        assert lower_rational._bound(capacity, count.heads, False, terms, 256).lo <= eps
        if count.heads > 1:
            assert lower_balls.error_at(capacity, count.heads - 1, skip=False).lo > eps


def test_the_search_is_not_misled_by_ratios_above_one() -> None:
    # Ratios that rise above 1 until past the middle of the search, then are
    # small: the crossing lies among the small ones, found here by trying all.
    capacity, eps, count, rising = Capacity(16, 4, 2, 0, 1), Fraction(4, 1000), 160, 90
    with working_precision(512):
        spectrum = lower_balls.Spectrum(capacity, 512)
        spectrum.extend(count)
        for i in range(rising):
            spectrum.ratios[i] = arb(2) ** (i + 1)
        low, high = lower_balls._crossing(spectrum, count, eps, skip=False)
        sums = spectrum.weighted_tails(count)
        values = [(spectrum.tails[k] - 2 * ball(eps)) / sums[k] for k in range(rising, count)]
        expected = max(int(value.mid().ceil().unique_fmpz() or 0) for value in values)
    assert low == high == expected
    assert low > 10**6


# --- precision ---------------------------------------------------------------


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
@pytest.mark.parametrize(
    ("d", "r", "heads"), [(64, 4, 1), (64, 4, 10**6), (3, 1, 3), (3, 1, 50), (1000, 30, 10**20)]
)
def test_errors_are_known_far_better_than_one_head_changes_them(
    d: int, r: int, heads: int, head_class: HeadClass
) -> None:
    found = error(d, r, heads, head_class)
    assert found.width * heads <= found.lo / 2**60


def test_a_degree_used_up_exactly_by_the_heads() -> None:
    # 2 rho_1 = 1 at d = 8, r = 1, H = 4: the degree's share is 0 from both sides.
    # For d = 6, H = 3 the ratio 1/3 is no dyadic number and stays undecided.
    for d, heads in ((8, 4), (6, 3), (18, 9)):
        found = error(d, 1, heads)
        exact = lower_rational._bound(capacities(d, 1, "standard")[0], heads, False, 400, 300)
        assert found.lo <= exact.hi
        assert exact.lo <= found.hi
        assert found.width < Fraction(1, 10**20)


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
def test_the_smallest_dimension(head_class: HeadClass) -> None:
    count = T1().heads(Problem.of(3, 1, "0.01", head_class=head_class))
    assert count.sharp
    assert count.heads is not None
    assert count.heads >= 1
    capacity = max(
        (
            lower_rational.least_heads(c, Fraction(1, 100), False)
            for c in capacities(3, 1, head_class)
        ),
        key=lambda other: other.heads or 0,
    )
    assert count.heads == capacity.heads


@pytest.mark.parametrize("d", [3, 8, 64])
@pytest.mark.parametrize("head_class", HEAD_CLASSES)
def test_rank_near_the_dimension(d: int, head_class: HeadClass) -> None:
    for r in (d - 1, d):
        count = T1().heads(Problem.of(d, r, "0.01", head_class=head_class))
        assert count.heads in (1, 2)
        assert count.reason is not None
        assert "r >= d-1" in count.reason
    assert T1().error(Problem.of(d, d, head_class=head_class), 1) == Enclosure(
        Fraction(0), Fraction(0)
    )
    # One full-rank head is exact (U1), so nothing may exclude it.
    assert least(d, d, "1/1000", head_class) == 1


def test_one_scalar_head_of_rank_one_less_than_the_dimension() -> None:
    # m_r/N falls from (D-1)/D to 1/2, so two heads are never excluded and one is.
    for eps in (Fraction(1, 50), Fraction(1, 10**5)):
        count = T1().heads(Problem.of(5, 4, eps, head_class="scalar"))
        assert count.heads == 2
        assert count.sharp
    assert error(5, 4, 1, "scalar").lo > Fraction(1, 50)
    assert error(5, 4, 2, "scalar").hi == 0


def test_counts_of_thousands_of_digits() -> None:
    d, r, eps = 8192, 4, Fraction(3, 1000)
    limit = sys.get_int_max_str_digits()
    count = T1().heads(Problem.of(d, r, "0.003", head_class="scalar"))
    assert sys.get_int_max_str_digits() == limit
    assert count.sharp
    assert count.heads is not None
    # Independent: max_k (T_k - 2 eps)/S_k by mpmath floats of 40 digits.
    mp = mpmath.MPContext()
    mp.dps = 40
    E = d * (mp.gamma(mp.mpf(d) / 2) / mp.gamma(mp.mpf(d + 1) / 2)) ** 2 / mp.pi
    energies, shares = [], []
    rho = mp.mpf(r) / d
    for l in range(1, 12000, 2):
        energies.append(E)
        shares.append(E * rho)
        step = mp.mpf((2 * l + d + 2) * (l + d - 1) * (l + d - 2))
        step /= (2 * l + d - 2) * (l + 1) * (l + 2)
        E *= step * mp.mpf(l) ** 2 / mp.mpf(l + d) ** 2
        rho *= mp.mpf((r + l) * (r + l + 1)) / ((l + 1) * (l + 2)) / step
    best, lost = mp.mpf(0), mp.mpf(0)
    tail = 1 - mp.fsum(energies)
    for energy, share in zip(reversed(energies), reversed(shares), strict=True):
        tail, lost = tail + energy, lost + share
        best = max(best, (tail - 2 * mp.mpf(eps.numerator) / eps.denominator) / lost)
    assert mp.mag(best) > 10000
    assert abs(mp.mpf(count.heads) / best - 1) < mp.mpf(10) ** -25


def test_an_error_far_out_of_reach_gives_a_valid_count() -> None:
    count = T1().heads(Problem.of(8, 2, "1e-400"))
    assert not count.sharp
    assert count.reason is not None
    assert "the sharpest count may be larger" in count.reason
    assert count.heads is not None
    # More than for a larger error that is decided, and indeed excluded.
    assert count.heads > least(8, 2, "1/1000")
    assert error(8, 2, count.heads - 1).lo > Fraction(1, 10**400)


def test_the_error_beyond_all_degrees_followed_is_bounded_from_above_too() -> None:
    # One scalar rank-1 head uses up 1/(2l+1) of degree l at d = 3: ten million
    # heads leave all of degree 10^7 and more, whose energy is about 4e-8 (H6).
    found = error(3, 1, 10**7, "scalar")
    assert 0 <= found.lo <= found.hi < Fraction(1, 10**5)
    assert found.hi > Fraction(1, 10**9)


@pytest.mark.parametrize("bits", [66, 70, 80, 96, 128])
def test_too_few_bits_leave_the_count_open_instead_of_wrong(bits: int) -> None:
    # Counts of up to 180 binary digits; few bits must not decide them wrongly.
    capacity, decided = Capacity(40, 3, 2, 0, 1), 0
    for eps in (Fraction(k, 400) for k in range(8, 120, 3)):
        exact = lower_balls.least_heads(capacity, eps, skip=False).heads
        assert exact is not None
        for count in (8, 16, 40, 100):
            with working_precision(bits):
                spectrum = lower_balls.Spectrum(capacity, bits)
                low, high = lower_balls._crossing(spectrum, count, eps, skip=False)
            assert low <= exact
            if low == high:
                assert low == exact
                decided += 1
    assert decided > 0


def test_a_search_cut_short_gives_a_smaller_count(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = Problem.of(16, 2, "0.02", head_class="generalized")
    whole = T1().heads(problem)
    monkeypatch.setattr(lower_balls, "MAX_TERMS", 16)
    cut = T1().heads(problem)
    assert whole.sharp
    assert not cut.sharp
    assert cut.heads is not None
    assert whole.heads is not None
    assert 1 <= cut.heads <= whole.heads


def test_a_condition_cut_short_is_not_hidden_by_the_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The first of the two conditions might exclude more than the second's 5.
    def answer(capacity: Capacity, eps: Fraction, skip: bool) -> HeadCount:
        return HeadCount(3, "cut", sharp=False) if capacity.D == 15 else HeadCount(5)

    monkeypatch.setattr(lower_balls, "least_heads", answer)
    found = T1().heads(Problem.of(16, 2, "0.02", head_class="generalized"))
    assert found == HeadCount(5, "cut", sharp=False)


def test_a_question_without_eps() -> None:
    with pytest.raises(InputError, match="eps"):
        T1().heads(Problem.of(8, 2))


@pytest.mark.parametrize("bad", [-1, 0.5, True, "two"])
def test_bad_head_counts(bad: int) -> None:
    with pytest.raises(InputError, match=r"heads: got .*allowed: a whole number, 0 or more"):
        T1().error(Problem.of(8, 2), bad)
    with pytest.raises(InputError, match=r"heads: got .*allowed: a whole number, 1 or more"):
        explanation(Problem.of(8, 2), bad)
