from fractions import Fraction

import flint
import mpmath  # type: ignore[import-untyped]
import pytest
from flint import arb, arb_poly
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from boundcheck.balls import ball, enclosure, working_precision
from boundcheck.series_tail import telescoped_sum


def power_sum(s: int, start: int, order: int) -> arb:
    """1/start^s + 1/(start+1)^s + ..."""
    n = arb_poly([0, 1])
    return telescoped_sum(n**s, (n + 1) ** s, arb(start), arb(start) ** -s, order)


@pytest.mark.parametrize("s", [2, 3, 5, 10])
@pytest.mark.parametrize("start", [6, 40, 1000])
def test_powers_against_zeta(s: int, start: int) -> None:
    with working_precision(200):
        found = power_sum(s, start, 24)
        exact = arb(s).zeta(arb(start))  # Hurwitz
        assert found.overlaps(exact)
        # A series in s/n whose coefficients grow like factorials.
        assert found.rad() < exact * (arb(s + 3) / start) ** 12


@given(
    st.fractions(-2, 5, max_denominator=12),
    st.fractions(Fraction(1, 5), 6, max_denominator=12),
    st.integers(8, 200),
)
@settings(max_examples=60)
def test_gamma_quotients_against_their_closed_form(a: Fraction, gap: Fraction, start: int) -> None:
    # u_n = Gamma(n+a)/Gamma(n+b) with b = a + 1 + gap falls like n^{-1-gap}; its
    # sum telescopes by itself: u_N (N+b-1)/gap.
    assume(start + a > 0)
    b = a + 1 + gap
    n = arb_poly([0, 1])
    with working_precision(128):
        found = telescoped_sum(n + ball(a), n + ball(b), arb(start), arb(1), 16)
        exact = ball((start + b - 1) / gap)
        assert found.overlaps(exact)
        assert found.rad() < exact / 100


def test_a_quotient_of_two_quadratics_against_nsum() -> None:
    # Terms without a closed form: u_{n+1}/u_n = (n^2 + 1)/(n^2 + 3n + 5), u_0 = 1 at n = 30.
    mp = mpmath.MPContext()
    mp.dps = 30

    def term(j: mpmath.mpf) -> mpmath.mpf:
        # By gamma functions at the complex roots.
        n = 30 + mp.mpf(j)
        root = mp.mpc(-1.5, mp.sqrt(mp.mpf(11)) / 2)

        def at(n: mpmath.mpf) -> mpmath.mpf:
            above = mp.loggamma(n - 1j) + mp.loggamma(n + 1j)
            below = mp.loggamma(n - root) + mp.loggamma(n - mp.conj(root))
            return (above - below).real

        return mp.exp(at(n) - at(mp.mpf(30)))

    expected = mp.nsum(term, [0, mp.inf])
    with working_precision(100):
        found = enclosure(
            telescoped_sum(arb_poly([1, 0, 1]), arb_poly([5, 3, 1]), arb(30), arb(1), 24)
        )
    value = Fraction(mp.nstr(expected, 25))
    assert found.lo - Fraction(1, 10**15) < value < found.hi + Fraction(1, 10**15)
    assert found.width < Fraction(1, 10**15)


@pytest.mark.parametrize("start", [Fraction(47, 4), Fraction(13)])
def test_a_small_first_deviation_is_not_taken_for_all(start: Fraction) -> None:
    # At order 3 the deviation changes sign near n = 12, so later terms deviate
    # more than the first. The sum is a hypergeometric function, by mpmath.
    mp = mpmath.MPContext()
    mp.dps = 20
    n, root = mp.mpf(start.numerator) / start.denominator, mp.sqrt(11)
    exact = Fraction(mp.nstr(mp.hyp3f2(1, n, n, n + 4 - root, n + 4 + root, 1), 18))
    with working_precision(100):
        above, below = arb_poly([0, 0, 1]), arb_poly([5, 8, 1])
        found = enclosure(telescoped_sum(above, below, ball(start), arb(1), 3))
    assert exact in found
    assert found.width < Fraction(1, 100)


def test_the_sum_contains_the_rest_of_a_longer_one() -> None:
    # S(N) = u_N + S(N+1), at every order.
    with working_precision(100):
        for order in (2, 4, 8, 16, 32):
            whole, rest = power_sum(2, 20, order), power_sum(2, 21, order)
            assert whole.overlaps(rest + arb(1) / 400)
            assert whole.overlaps(arb(2).zeta(arb(20)))


def test_more_terms_are_sharper_at_first() -> None:
    with working_precision(300):
        radii = [power_sum(2, 60, order).rad() for order in (4, 8, 16, 32)]
    assert radii[0] > 1000 * radii[1] > 10**6 * radii[2] > 10**9 * radii[3]


def test_a_ball_as_first_term_carries_its_radius() -> None:
    n = arb_poly([0, 1])
    with working_precision(100):
        wide = telescoped_sum(n**2, (n + 1) ** 2, arb(10), arb(0.01, 0.001), 12)
        for first in (0.0091, 0.01, 0.0109):
            assert wide.contains(telescoped_sum(n**2, (n + 1) ** 2, arb(10), arb(first), 12))


@pytest.mark.parametrize(
    ("above", "below", "start"),
    [
        # Coefficients below 0 after the shift; and a start where the series in 1/n is useless.
        (arb_poly([0, 0, 1]), arb_poly([400, -38, 1]), 10),
        (arb_poly([0, 0, 1]), arb_poly([10**8, 2 * 10**4, 1]), 1),
    ],
)
def test_nothing_proved_is_an_infinite_ball(above: arb_poly, below: arb_poly, start: int) -> None:
    found = telescoped_sum(above, below, arb(start), arb(1), 16)
    assert not found.is_finite()
    # Comparisons with it must not pass for an answer, as they do with nan's radius.
    assert not found.rad() < 1
    assert not found.rad() * 16 < arb(1)
    assert not found < 10**9
    assert not found > -(10**9)


def test_the_callers_precision_stays() -> None:
    before = flint.ctx.prec
    power_sum(2, 30, 12)
    assert flint.ctx.prec == before
