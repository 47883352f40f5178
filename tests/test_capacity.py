import itertools
import math
import random
from collections import defaultdict

import flint
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundcheck.capacity import Capacity, capacities, ridge_dimension
from boundcheck.harmonics import harmonic_dimension

#: Homogeneous polynomial: exponents of x_1..x_D -> integer coefficient.
Poly = dict[tuple[int, ...], int]


def monomials(D: int, r: int, degree: int) -> list[Poly]:
    """All monomials of that degree in the first r of D variables."""
    found: list[Poly] = []
    for chosen in itertools.combinations_with_replacement(range(r), degree):
        found.append({tuple(chosen.count(i) for i in range(D)): 1})
    return found


def times(p: Poly, q: Poly) -> Poly:
    out: defaultdict[tuple[int, ...], int] = defaultdict(int)
    for (a, x), (b, y) in itertools.product(p.items(), q.items()):
        out[tuple(map(sum, zip(a, b, strict=True)))] += x * y
    return dict(out)


def laplacian(p: Poly) -> Poly:
    out: defaultdict[tuple[int, ...], int] = defaultdict(int)
    for a, x in p.items():
        for i, e in enumerate(a):
            if e >= 2:
                out[(*a[:i], e - 2, *a[i + 1 :])] += x * e * (e - 1)
    return dict(out)


def modulo_norm(p: Poly) -> Poly:
    """p with x_D^2 replaced by -(x_1^2 + ...) until x_D has degree at most 1."""
    while True:
        out: defaultdict[tuple[int, ...], int] = defaultdict(int)
        done = True
        for a, x in p.items():
            if a[-1] >= 2:
                done = False
                for i in range(len(a) - 1):
                    out[(*a[:i], a[i] + 2, *a[i + 1 : -1], a[-1] - 2)] -= x
            else:
                out[a] += x
        p = dict(out)
        if done:
            return p


def harmonic_rank(functions: list[Poly], degree: int) -> int:
    """Dimension of the span of the degree-l harmonic parts on the sphere.

    p = sum |x|^2j h_j with h_j harmonic, so applying the Laplacian until degree
    l is left gives a multiple of the degree-l part, up to multiples of |x|^2;
    and polynomials modulo |x|^2 are a copy of the harmonics. All exact.
    """
    rows = []
    for p in functions:
        while p and sum(next(iter(p))) > degree:
            p = laplacian(p)
        rows.append(modulo_norm(p))
    columns = sorted(set().union(*rows))
    if not columns:
        return 0
    return int(flint.fmpz_mat([[row.get(c, 0) for c in columns] for row in rows]).rank())


def quadratic_form(D: int, rng: random.Random) -> Poly:
    return {
        tuple((k == i) + (k == j) for k in range(D)): rng.randint(-9, 9)
        for i, j in itertools.combinations_with_replacement(range(D), 2)
    }


def linear_form(D: int, rng: random.Random) -> Poly:
    return {tuple(int(k == i) for k in range(D)): rng.randint(1, 9) for i in range(D)}


CASES = [(3, 1, 1), (3, 1, 3), (4, 1, 5), (4, 2, 1), (4, 2, 3), (5, 2, 3), (6, 2, 3), (6, 3, 3)]


@pytest.mark.parametrize(("D", "r", "degree"), CASES)
def test_functions_of_r_coordinates_meet_each_degree_in_the_ridge_dimension(
    D: int, r: int, degree: int
) -> None:
    # L1, by exact linear algebra on polynomials of degree l, l+2, l+4.
    functions = [p for e in (degree, degree + 2, degree + 4) for p in monomials(D, r, e)]
    assert harmonic_rank(functions, degree) == ridge_dimension(r, degree)


@pytest.mark.parametrize(("D", "r", "degree"), CASES)
def test_a_quadratic_form_reaches_what_the_standard_class_counts(
    D: int, r: int, degree: int
) -> None:
    # L2: never above 2 m_r(l) + m_r(l-2), and attained for r <= D - r.
    rng = random.Random(1)
    V = quadratic_form(D, rng)
    functions = [
        times(V, p)
        for e in (degree - 2, degree, degree + 2, degree + 4)
        if e >= 0
        for p in monomials(D, r, e)
    ]
    (standard,) = capacities(D, r, "standard")
    found = harmonic_rank(functions, degree)
    assert found <= standard(degree)
    assert found == min(standard(degree), harmonic_dimension(D, degree))


@pytest.mark.parametrize(("D", "r", "degree"), CASES)
def test_linear_forms_add_what_the_generalized_class_counts(D: int, r: int, degree: int) -> None:
    rng = random.Random(2)
    V = quadratic_form(D, rng)
    on_z, on_x = capacities(D + 1, r, "generalized")[0], capacities(D, r, "generalized")[1]
    assert (on_z.D, on_x.D) == (D, D)
    quadratic = [
        times(V, p)
        for e in (degree - 2, degree, degree + 2, degree + 4)
        if e >= 0
        for p in monomials(D, r, e)
    ]
    for capacity, forms in ((on_z, 1), (on_x, r)):
        linear = [
            times(form, p)
            for form in (linear_form(D, rng) for _ in range(forms))
            for e in (degree - 1, degree + 1, degree + 3)
            for p in monomials(D, r, e)
        ]
        found = harmonic_rank(quadratic + linear, degree)
        assert found <= capacity(degree)
        if capacity is on_z and r < D - r:
            assert found == min(capacity(degree), harmonic_dimension(D, degree))


def test_ridge_dimensions_by_counting() -> None:
    for r in range(1, 5):
        for degree in range(6):
            assert ridge_dimension(r, degree) == len(monomials(r, r, degree))
    assert ridge_dimension(3, -1) == ridge_dimension(1, -7) == 0
    assert ridge_dimension(100, 60) == math.comb(159, 60)


@given(
    st.integers(1, 500),
    st.integers(0, 100),
    st.integers(1, 3),
    st.integers(0, 500),
    st.integers(0, 3),
)
def test_the_share_over_one_ridge_space(
    r: int, k: int, now: int, before: int, before2: int
) -> None:
    capacity, degree = Capacity(1000, r, now, before, before2), 2 * k + 1
    above, below = capacity.over_ridge(degree)
    assert capacity(degree) * below == above * ridge_dimension(r, degree)
    assert above <= capacity.over_ridge_limit * below


@given(st.integers(3, 60), st.integers(1, 60), st.integers(0, 20))
def test_classes_reach_more_and_more(d: int, r: int, k: int) -> None:
    degree = 2 * k + 1
    (scalar,), (standard,) = capacities(d, r, "scalar"), capacities(d, r, "standard")
    given_z, given_x = capacities(d, r, "generalized")
    assert [capacity.D for capacity in (given_z, given_x)] == [d - 1, d]
    assert scalar(degree) <= standard(degree) <= min(given_z(degree), given_x(degree))
    # THEORY.md's multiplicities, written out.
    m = ridge_dimension(r, degree), ridge_dimension(r, degree - 1), ridge_dimension(r, degree - 2)
    assert scalar(degree) == m[0]
    assert standard(degree) == 2 * m[0] + m[2]
    assert given_z(degree) == 2 * m[0] + m[1] + m[2]
    assert given_x(degree) == 2 * m[0] + m[2] + r * m[1]
