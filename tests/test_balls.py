import pickle
import threading
from fractions import Fraction

import flint
import mpmath  # type: ignore[import-untyped]
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from boundcheck.balls import ball, ball_between, enclosure, working_precision
from boundcheck.bounds.lower import T1, explanation
from boundcheck.bounds.lower_balls import Spectrum, forget_spectra, least_heads
from boundcheck.capacity import Capacity
from boundcheck.harmonics import EnergySeries
from boundcheck.problem import Problem

RATIONALS = st.fractions(-(10**6), 10**6)


def test_precision_is_put_back() -> None:
    before = flint.ctx.prec
    with working_precision(200):
        assert flint.ctx.prec == 200
        with working_precision(30):
            assert flint.ctx.prec == 30
        assert flint.ctx.prec == 200
    assert flint.ctx.prec == before


def test_precision_is_put_back_after_an_exception() -> None:
    before = flint.ctx.prec
    with pytest.raises(KeyboardInterrupt), working_precision(200), working_precision(300):
        raise KeyboardInterrupt
    assert flint.ctx.prec == before


def test_threads_take_turns() -> None:
    # Without a lock the second thread would put back the first one's 111 bits.
    before = flint.ctx.prec
    inside, leave = threading.Event(), threading.Event()
    seen: list[int] = []

    def first() -> None:
        with working_precision(111):
            inside.set()
            leave.wait(5)
            seen.append(flint.ctx.prec)

    def second() -> None:
        inside.wait(5)
        with working_precision(222):
            seen.append(flint.ctx.prec)

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    for thread in threads:
        thread.start()
    inside.wait(5)
    threads[1].join(0.05)
    leave.set()
    for thread in threads:
        thread.join()
    assert seen == [111, 222]
    assert flint.ctx.prec == before


def test_bounds_agree_between_threads() -> None:
    expected = [T1().heads(Problem.of(d, 2, "0.07")).heads for d in range(20, 24)]
    forget_spectra()
    found: dict[int, int | None] = {}

    def work(place: int) -> None:
        found[place] = T1().heads(Problem.of(20 + place % 4, 2, "0.07")).heads

    threads = [threading.Thread(target=work, args=(place,)) for place in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [found[place] for place in range(16)] == expected * 4


@given(RATIONALS, st.integers(2, 80))
def test_an_enclosure_contains_the_number(x: Fraction, bits: int) -> None:
    with working_precision(bits):
        found = enclosure(ball(x))
    assert x in found
    assert found.width <= abs(x) * Fraction(4, 2**bits)


@given(RATIONALS, RATIONALS)
def test_an_enclosure_contains_what_was_computed(x: Fraction, y: Fraction) -> None:
    with working_precision(12):
        a, b = ball(x), ball(y)
        assert x + y in enclosure(a + b)
        assert x * y in enclosure(a * b)
        both = enclosure(ball_between(a, b))
    assert x in both
    assert y in both


def test_exact_balls_have_exact_endpoints() -> None:
    with working_precision(64):
        assert enclosure(ball(Fraction(3, 8))).width == 0
        assert enclosure(ball(2**60 + 1)).lo == 2**60 + 1
        tiny = enclosure(arb(2) ** -5000)
    assert tiny.lo == tiny.hi == Fraction(1, 2**5000)


@pytest.mark.parametrize("endless", [arb("nan"), arb("inf"), arb(0, "inf")])
def test_no_enclosure_without_bounds(endless: arb) -> None:
    with pytest.raises(ArithmeticError, match="finite"):
        enclosure(endless)


def test_an_undecided_comparison_is_not_its_opposite() -> None:
    with working_precision(53):
        x = 3 * ball(Fraction(1, 3))
        assert not x < 1
        assert not x >= 1
    # rho_1 = r/D is 1/3 for one head of a scalar layer: three heads use up
    # degree 1 exactly, which a ball cannot tell from a little less.
    with working_precision(192):
        spectrum = Spectrum(Capacity(9, 3, 1, 0, 0), 192)
        assert not 3 * spectrum.ratios[0] < 1
        assert not 3 * spectrum.ratios[0] >= 1


@pytest.mark.parametrize("where", [0, 1, 5])
def test_a_ratio_of_one_up_to_rounding_counts_as_open(where: int) -> None:
    # Only ratios that are shown to be >= 1 may be left out of the search.
    spectrum = Spectrum(Capacity(9, 3, 2, 0, 1), 96)
    with working_precision(96):
        spectrum.extend(12)
        for i in range(where):
            spectrum.ratios[i] = arb(2)
        spectrum.ratios[where] = arb(1, 1e-20)
    assert spectrum.first_open(12) == where


def test_more_bits_are_taken_until_the_count_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    from boundcheck.bounds import lower_balls

    capacity, eps = Capacity(64, 4, 2, 0, 1), Fraction(1, 1000)
    tried: list[int] = []
    original = lower_balls._spectrum

    def watched(capacity: Capacity, bits: int) -> Spectrum:
        tried.append(bits)
        return original(capacity, bits)

    monkeypatch.setattr(lower_balls, "_spectrum", watched)
    count = least_heads(capacity, eps, skip=False)
    assert count.sharp
    assert count.heads is not None
    # The first precision holds fewer digits than the answer has.
    assert min(tried) < count.heads.bit_length() < max(tried)


def test_a_callers_precision_changes_nothing_and_stays() -> None:
    problem = Problem.of(63, 3, "0.083")
    expected = T1().heads(problem), T1().error(problem, 10**6)
    bits, dps = flint.ctx.prec, mpmath.mp.dps
    try:
        flint.ctx.prec, mpmath.mp.dps = 20, 5
        forget_spectra()
        assert (T1().heads(problem), T1().error(problem, 10**6)) == expected
        explanation(problem, 100)
        assert (flint.ctx.prec, mpmath.mp.dps) == (20, 5)
    finally:
        flint.ctx.prec, mpmath.mp.dps = bits, dps


def test_a_callers_precision_stays_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Spectrum, count: int) -> list[arb]:
        raise KeyboardInterrupt

    before = flint.ctx.prec
    with monkeypatch.context() as patch:
        patch.setattr(Spectrum, "weighted_tails", interrupted)
        with pytest.raises(KeyboardInterrupt):
            T1().heads(Problem.of(64, 4, "0.1"))
    assert flint.ctx.prec == before
    assert T1().heads(Problem.of(64, 4, "0.1")).heads == 78614


def test_a_series_recovers_from_an_interrupt() -> None:
    whole, broken = EnergySeries(12, 128), EnergySeries(12, 128)
    whole.extend(20)
    broken.extend(7)
    broken.tails.append(broken.tails[-1])  # an interrupt before the energy came
    broken.extend(20)
    for expected, found in ((whole.energies, broken.energies), (whole.tails, broken.tails)):
        assert [enclosure(x) for x in expected] == [enclosure(x) for x in found]

    capacity = Capacity(12, 2, 2, 0, 1)
    with working_precision(128):
        smooth, cut = Spectrum(capacity, 128), Spectrum(capacity, 128)
        smooth.extend(20)
        cut.extend(7)
        cut.ridges.append(cut.ridges[-1])
        cut.extend(20)
    assert [enclosure(x) for x in smooth.ratios] == [enclosure(x) for x in cut.ratios]
    assert len(cut.ridges) == len(cut.ratios) == 20


def test_balls_cannot_travel_but_results_can() -> None:
    with pytest.raises(TypeError):
        pickle.dumps(arb(1))
    problem = Problem.of(16, 4, "0.1")
    for result in (T1().heads(problem), T1().error(problem, 3), explanation(problem, 3)):
        assert pickle.loads(pickle.dumps(result)) == result
    assert pickle.loads(pickle.dumps(T1())).heads(problem) == T1().heads(problem)
