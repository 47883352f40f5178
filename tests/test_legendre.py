import math
from fractions import Fraction

import flint
import mpmath  # type: ignore[import-untyped]
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import beta, eval_jacobi

from boundcheck.balls import ball, enclosure, working_precision
from boundcheck.harmonics import harmonic_dimension, sign_coefficient
from boundcheck.legendre import legendre, legendre_balls, step_coefficient, step_coefficients

INSIDE = st.fractions(-1, 1, max_denominator=50)


def test_a_value_where_floats_overflow() -> None:
    # (t^3 (D+2) - 3t) / (D-1) at t = 1/2, D = 4096; ratios of float Gegenbauer
    # values are nan from degree 171 on here.
    assert legendre(4096, 3, Fraction(1, 2)) == Fraction(227, 1820)
    with working_precision(80):
        assert legendre_balls(4096, 401, arb(1))[400].contains(1)
    assert legendre(4096, 400, 1) == 1


@pytest.mark.parametrize("D", [2, 3, 4, 64, 4096])
def test_odd_degrees_vanish_at_zero_exactly(D: int) -> None:
    for l in range(1, 60, 2):
        assert legendre(D, l, 0) == 0
        assert legendre_balls(D, l + 1, arb(0))[l] == 0


@given(st.integers(2, 200), st.integers(0, 40), INSIDE)
def test_symmetry_bound_and_value_at_one(D: int, degree: int, t: Fraction) -> None:
    value = legendre(D, degree, t)
    assert abs(value) <= 1
    assert legendre(D, degree, -t) == (-1) ** degree * value
    assert legendre(D, degree, 1) == 1


@given(st.integers(0, 25), st.fractions(-3, 3, max_denominator=40))
def test_chebyshev_and_legendre_by_their_sums(degree: int, t: Fraction) -> None:
    n = degree
    # T_n(t) = sum C(n, 2k) (t^2-1)^k t^{n-2k}; P_n(t) = 2^-n sum C(n,k)^2 (t-1)^{n-k} (t+1)^k.
    chebyshev = sum(
        (math.comb(n, 2 * k) * (t * t - 1) ** k * t ** (n - 2 * k) for k in range(n // 2 + 1)),
        Fraction(0),
    )
    legendre_sum = sum(
        (math.comb(n, k) ** 2 * (t - 1) ** (n - k) * (t + 1) ** k for k in range(n + 1)),
        Fraction(0),
    ) / Fraction(2**n)
    assert legendre(2, n, t) == chebyshev
    assert legendre(3, n, t) == legendre_sum


@pytest.mark.parametrize("D", [4, 5, 30])
def test_gegenbauer_by_mpmath(D: int) -> None:
    mp = mpmath.MPContext()
    mp.dps = 40
    a = mp.mpf(D - 2) / 2
    for l in (0, 1, 2, 9, 40):
        value = legendre(D, l, Fraction(3, 7))
        expected = mp.gegenbauer(l, a, mp.mpf(3) / 7) / mp.gegenbauer(l, a, 1)
        assert abs(mp.mpf(value.numerator) / value.denominator - expected) < mp.mpf(10) ** -30


def test_orthogonality_fixes_the_norm() -> None:
    # E P_l^2 = 1/N(D,l), by Gauss quadrature that is exact up to degree 39.
    import numpy as np

    t, w = np.polynomial.legendre.leggauss(20)
    for D in (3, 5, 9):
        weights = w * (1 - t**2) ** ((D - 3) // 2)
        weights /= weights.sum()
        values = [
            np.array([float(legendre(D, l, Fraction(float(x)))) for x in t]) for l in range(6)
        ]
        for i in range(6):
            for j in range(6):
                expected = 1 / harmonic_dimension(D, i) if i == j else 0
                assert weights @ (values[i] * values[j]) == pytest.approx(expected, abs=1e-14)


@given(st.integers(2, 300), INSIDE, st.integers(1, 60))
@settings(max_examples=50)
def test_balls_contain_the_exact_values(D: int, t: Fraction, count: int) -> None:
    with working_precision(60):
        found = legendre_balls(D, count, ball(t))
        assert len(found) == count
        for l in range(0, count, 7):
            at = enclosure(found[l])
            assert legendre(D, l, t) in at
            # |P_l'| <= l (l+D-2)/(D-1), and t was known to 60 bits.
            slope = Fraction(l * (l + D - 2), D - 1)
            assert at.width <= (4 + 4 * slope) * Fraction(1, 2**58)


@given(st.integers(2, 30), st.fractions(-2, 2, max_denominator=30), st.integers(0, 20))
def test_wide_balls_contain_the_values_at_their_ends(D: int, t: Fraction, degree: int) -> None:
    with working_precision(60):
        wide = ball(t) + arb(0, 1e-3)
        found = enclosure(legendre(D, degree, wide))
    for point in (t - Fraction(1, 1001), t, t + Fraction(1, 1001)):
        assert legendre(D, degree, point) in found


def test_high_degrees_stay_sharp() -> None:
    before = flint.ctx.prec
    with working_precision(64):
        value = legendre_balls(8, 2001, arb(1) / 8)[2000]
        assert value.rad() < arb(2) ** -60
    assert flint.ctx.prec == before
    assert legendre(8, 2000, Fraction(1, 8)) in enclosure(value)


# --- H2 -------------------------------------------------------------------


@pytest.mark.parametrize("D", [2, 3, 4, 7, 12])
@pytest.mark.parametrize("tau", [Fraction(0), Fraction(1, 2), Fraction(-3, 10), Fraction(9, 10)])
def test_steps_by_quadrature(D: int, tau: Fraction) -> None:
    # scipy's Jacobi polynomials and adaptive quadrature in the angle.
    cut = math.acos(tau)
    mass = beta((D - 1) / 2, 0.5)
    with working_precision(100):
        found = [enclosure(x) for x in step_coefficients(D, 7, tau)]
    for l in (0, 1, 2, 5, 6):
        a = (D - 3) / 2
        at_one = float(eval_jacobi(l, a, a, 1.0))

        def integrand(phi: float, l: int = l, a: float = a, at_one: float = at_one) -> float:
            value = eval_jacobi(l, a, a, math.cos(phi)) / at_one
            return float(value * math.sin(phi) ** (D - 2))

        above, _ = quad(integrand, 0, cut, epsabs=1e-13)
        below, _ = quad(integrand, cut, math.pi, epsabs=1e-13)
        assert float(found[l].lo) == pytest.approx((above - below) / mass, abs=1e-12)
        assert found[l].width < Fraction(1, 10**24)


@given(st.integers(2, 40), st.integers(0, 15))
@settings(max_examples=40)
def test_a_step_at_zero_is_the_sign(D: int, degree: int) -> None:
    # H2 against H3; the mean and all even degrees are 0.
    with working_precision(120):
        found = enclosure(step_coefficient(D, degree, 0))
        expected = enclosure(sign_coefficient(D, degree).ball())
    assert found.lo <= expected.hi
    assert expected.lo <= found.hi
    assert found.width < Fraction(1, 2**80)


@given(st.integers(2, 60), st.fractions(Fraction(-9, 10), Fraction(9, 10), max_denominator=20))
@settings(max_examples=40)
def test_the_energies_of_a_step_add_up_to_one(D: int, tau: Fraction) -> None:
    # Parseval for a function of values +-1: partial sums stay below 1 and grow.
    with working_precision(80):
        energies = [
            harmonic_dimension(D, l) * c * c for l, c in enumerate(step_coefficients(D, 80, tau))
        ]
        assert not any(e < 0 for e in energies)
        total = sum(energies, arb(0))
        assert not total > 1
        assert float(total.mid()) > 0.9


def test_steps_in_high_dimension_do_not_overflow() -> None:
    found = step_coefficients(10**5, 20, Fraction(1, 2))
    assert all(x.is_finite() for x in found)
    assert 0 < found[5] < arb(10) ** -6000
    assert found[0].contains(-1) or found[0] > -1


@pytest.mark.parametrize("tau", [1, -1, Fraction(5, 4), arb(1, 0.1)])
def test_a_step_beyond_the_sphere_is_refused(tau: Fraction | int | arb) -> None:
    with pytest.raises(ValueError, match="-1 < tau < 1"):
        step_coefficient(5, 1, tau)
