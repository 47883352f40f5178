import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice

import mpmath  # type: ignore[import-untyped]
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import beta, eval_jacobi

from boundcheck.balls import enclosure, working_precision
from boundcheck.harmonics import (
    EnergySeries,
    PiFraction,
    density_constant,
    density_constant_ball,
    dimension_ratio,
    energy,
    energy_ratio,
    energy_series,
    harmonic_dimension,
    sign_coefficient,
    tail_estimate,
)


def sign_coefficients_by_integration(D: int) -> Iterator[Fraction]:
    """lambda_1, lambda_3, ... for odd D: exact integrals of Gram-Schmidt polynomials.

    Orthogonal polynomials from the moments of (1-t^2)^{(D-3)/2} alone, so
    neither a recurrence nor a formula for the density constant enters.
    """
    weight = [
        Fraction((-1) ** i * math.comb((D - 3) // 2, i)) if i >= 0 else Fraction(0)
        for i in range((D - 1) // 2)
    ]

    def half_integral(p: list[Fraction]) -> Fraction:
        # Integral over [0, 1] of p(t) times the weight; p[i] goes with t^i.
        return sum(
            (a * w / (i + 2 * j + 1) for i, a in enumerate(p) for j, w in enumerate(weight)),
            Fraction(0),
        )

    def product(p: list[Fraction], q: list[Fraction]) -> list[Fraction]:
        out = [Fraction(0)] * (len(p) + len(q) - 1)
        for i, a in enumerate(p):
            for j, b in enumerate(q):
                out[i + j] += a * b
        return out

    mass = half_integral([Fraction(1)])
    found: list[list[Fraction]] = []
    degree = 1
    while True:
        p = [Fraction(0)] * degree + [Fraction(1)]
        for q in found:
            share = half_integral(product(p, q)) / half_integral(product(q, q))
            p = [a - share * (q[i] if i < len(q) else 0) for i, a in enumerate(p)]
        found.append(p)
        yield half_integral(p) / mass / sum(p)  # scaled to 1 at t = 1
        degree += 2


# --- H1 -------------------------------------------------------------------


def test_harmonic_dimensions_by_hand() -> None:
    assert [harmonic_dimension(2, l) for l in range(5)] == [1, 2, 2, 2, 2]
    assert [harmonic_dimension(3, l) for l in range(5)] == [1, 3, 5, 7, 9]
    assert [harmonic_dimension(4, l) for l in range(5)] == [1, 4, 9, 16, 25]
    assert harmonic_dimension(7, -1) == 0


def test_dimensions_do_not_wrap() -> None:
    # Above 2^64; sums of fixed-width integers give 0 here.
    assert harmonic_dimension(64, 21) == 30748196481121342080
    assert harmonic_dimension(10**5, 100).bit_length() > 1000


@given(st.integers(2, 30), st.integers(0, 30))
def test_dimensions_fill_the_homogeneous_polynomials(D: int, degree: int) -> None:
    # Homogeneous polynomials of degree l on the sphere: degrees l, l-2, ...
    assert sum(harmonic_dimension(D, l) for l in range(degree, -1, -2)) == math.comb(
        D + degree - 1, degree
    )


@given(st.integers(2, 10**5), st.integers(1, 60))
def test_dimension_ratio(D: int, degree: int) -> None:
    above, below = dimension_ratio(D, degree)
    assert above * harmonic_dimension(D, degree) == below * harmonic_dimension(D, degree + 2)


# --- H3 -------------------------------------------------------------------


def test_density_constants_integrate_to_one() -> None:
    mp = mpmath.MPContext()
    mp.dps = 30
    for D in (2, 3, 4, 5, 8, 9, 64, 65):
        total = mp.quad(lambda phi, D=D: mp.sin(phi) ** (D - 2), [0, mp.pi / 2, mp.pi])
        c = density_constant(D)
        exact = mp.mpf(c.coefficient.numerator) / c.coefficient.denominator * mp.pi**c.power
        assert abs(exact * total - 1) < mp.mpf(10) ** -25


def test_energies_of_the_theory() -> None:
    # THEORY.md, H3.
    assert [energy(3, l) for l in (1, 3, 5)] == [
        PiFraction(Fraction(3, 4)),
        PiFraction(Fraction(7, 64)),
        PiFraction(Fraction(11, 256)),
    ]
    assert energy(4, 1) == PiFraction(Fraction(64, 9), -2)
    for l in range(1, 40, 2):
        assert energy(2, l) == PiFraction(Fraction(8, l * l), -2)
    assert energy(7, 4).coefficient == 0


@pytest.mark.parametrize("D", [3, 5, 7, 11])
def test_sign_coefficients_by_exact_integration(D: int) -> None:
    expected = islice(sign_coefficients_by_integration(D), 6)
    for l, value in zip(range(1, 12, 2), expected, strict=True):
        assert sign_coefficient(D, l) == PiFraction(value)
        assert energy(D, l) == PiFraction(value**2 * harmonic_dimension(D, l))


@pytest.mark.parametrize("D", [2, 4, 6, 10, 64])
def test_sign_coefficients_by_quadrature(D: int) -> None:
    # scipy's Jacobi polynomials and adaptive quadrature in the angle.
    mass = beta((D - 1) / 2, 0.5)
    a = (D - 3) / 2
    for l in (1, 3, 7, 15):
        at_one = float(eval_jacobi(l, a, a, 1.0))

        def integrand(phi: float, l: int = l, at_one: float = at_one) -> float:
            value = eval_jacobi(l, a, a, math.cos(phi)) / at_one
            return float(value * math.sin(phi) ** (D - 2))

        half, _ = quad(integrand, 0, math.pi / 2, epsabs=1e-13)
        assert float(sign_coefficient(D, l)) == pytest.approx(2 * half / mass, abs=1e-12)
        assert sign_coefficient(D, l + 1).coefficient == 0


@given(st.integers(2, 2000), st.integers(0, 30))
def test_energy_ratio(D: int, k: int) -> None:
    l = 2 * k + 1
    above, below = energy_ratio(D, l)
    assert energy(D, l + 2) == energy(D, l) * Fraction(above, below)


def test_exact_numbers_multiply_and_convert() -> None:
    x, y = PiFraction(Fraction(2, 3), -1), PiFraction(Fraction(3, 4), 3)
    assert x * y == PiFraction(Fraction(1, 2), 2)
    assert x * 3 == x * Fraction(3) == PiFraction(Fraction(2), -1)
    assert str(x * y) == "1/2 * pi^2"
    assert str(PiFraction(Fraction(1, 3))) == "1/3"
    assert float(x) == pytest.approx(2 / 3 / math.pi, rel=1e-15)
    with working_precision(80):
        assert (x.ball() * y.ball()).overlaps((x * y).ball())


def test_nothing_overflows() -> None:
    D = 10**5
    found = float(energy(D, 1))
    # H6: the limit of E_1 is 2/pi, at distance O(1/D).
    assert found == pytest.approx(2 / math.pi, rel=1e-4)
    assert 0 < float(energy(D, 301)) < 1e-3
    assert math.isfinite(float(density_constant(10**5)))
    assert 0 < float(energy(3, 10**4 + 1)) < 1e-7


# --- H4, the series in balls ----------------------------------------------


@pytest.mark.parametrize("D", [2, 3, 4, 9, 64, 1001])
def test_the_series_in_balls_contains_the_exact_energies(D: int) -> None:
    series = EnergySeries(D, 160)
    series.extend(25)
    left = Fraction(1)
    for i, found in enumerate(series.energies[:25]):
        exact = energy(D, 2 * i + 1)
        with working_precision(400):
            at = enclosure(exact.ball())
        assert at.lo <= enclosure(found).hi
        assert enclosure(found).lo <= at.hi
        assert enclosure(found).width < Fraction(1, 2**140)
        if D % 2:
            # Parseval with exact rationals.
            left -= exact.coefficient
            assert left in enclosure(series.tails[i + 1])


def test_energies_up_to_degree_39_leave_a_tail_at_dimension_64() -> None:
    # A known figure; an upper bound that drops this tail is wrong.
    left = 1 - sum(float(energy(64, l)) for l in range(1, 40, 2))
    assert left == pytest.approx(0.062941773, abs=5e-10)
    series = energy_series(64, 128)
    series.extend(20)
    assert float(series.tails[20].mid()) == pytest.approx(0.062941773, abs=5e-10)


@given(st.integers(2, 300), st.integers(1, 40))
@settings(max_examples=30)
def test_partial_sums_rise_to_one(D: int, count: int) -> None:
    series = energy_series(D, 128)
    series.extend(count)
    total = sum(float(x) for x in series.energies[:count])
    assert total < 1
    assert total + float(series.tails[count]) == pytest.approx(1, abs=1e-13)
    assert all(x > 0 for x in series.energies[:count])


@pytest.mark.parametrize("t", [0.0, 0.3, -0.9, 1.0])
def test_the_energies_expand_the_arcsine(t: float) -> None:
    # H5: E sign<x,y> sign<x',y> = sum E_l P_l(<x,x'>), which is (2/pi) arcsin <x,x'>.
    for D in (2, 3, 8):
        series = energy_series(D, 128)
        series.extend(60)
        total, before, now = 0.0, 1.0, t
        for l in range(1, 120):
            if l % 2:
                total += float(series.energies[l // 2]) * now
            before, now = now, ((2 * l + D - 2) * t * now - l * before) / (l + D - 2)
        left_out = float(series.tails[60])
        assert abs(total - 2 / math.pi * math.asin(t)) <= left_out + 1e-12


def test_density_constant_as_a_ball() -> None:
    for D in (2, 3, 4, 101, 1000):
        with working_precision(100):
            assert density_constant_ball(D).overlaps(density_constant(D).ball())
            assert density_constant_ball(D).rel_accuracy_bits() > 80


# --- H6 -------------------------------------------------------------------


def test_energies_in_the_limit_of_large_dimension() -> None:
    series = energy_series(10**6, 128)
    series.extend(8)
    for i in range(8):
        # Coefficient of s^(2i+1) in arcsin(s).
        coefficient = math.comb(2 * i, i) / 4**i / (2 * i + 1)
        assert float(series.energies[i]) == pytest.approx(2 / math.pi * coefficient, rel=3e-4)


@pytest.mark.parametrize(("D", "within"), [(3, 0.39), (64, 0.015), (1000, 0.015), (10**5, 0.015)])
def test_the_tail_estimate_is_as_close_as_stated(D: int, within: float) -> None:
    series = energy_series(D, 160)
    series.extend(600)
    for i in (10, 40, 150, 600):
        exact = float(series.tails[i])
        assert tail_estimate(D, 2 * i + 1) == pytest.approx(exact, rel=within)
    assert tail_estimate(D, 1) == 1
