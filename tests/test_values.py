import pickle
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundcheck.values import Enclosure, HeadCount, Numeric, Published

RATIONALS = st.fractions(-10, 10, max_denominator=10**6)


def test_endpoints_belong_to_the_enclosure() -> None:
    x = Enclosure(Fraction(1, 3), Fraction(1, 2))
    assert Fraction(1, 3) in x
    assert Fraction(1, 2) in x
    assert Fraction(1, 3) - Fraction(1, 10**50) not in x
    assert Fraction(1, 2) + Fraction(1, 10**50) not in x
    assert x.width == Fraction(1, 6)


def test_endpoints_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(ValueError, match="lo <= hi"):
        Enclosure(Fraction(2), Fraction(1))


@given(RATIONALS, RATIONALS, RATIONALS, st.fractions(0, 5, max_denominator=1000))
def test_scaling_keeps_what_is_inside(
    a: Fraction, b: Fraction, c: Fraction, factor: Fraction
) -> None:
    low, middle, high = sorted((a, b, c))
    scaled = Enclosure(low, high).scaled(factor)
    assert factor * middle in scaled
    assert scaled.width == factor * (high - low)


def test_scaling_by_a_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="lo <= hi"):
        Enclosure(Fraction(1), Fraction(2)).scaled(Fraction(-1))


def test_kinds_are_told_apart_by_type() -> None:
    half = Fraction(1, 2)
    assert Enclosure(half, half).kind == "certified"
    assert Numeric(0.5, 0.0).kind == "numeric"
    assert Published(0.5, {"c": 1.0}).kind == "published"
    values: list[object] = [Enclosure(half, half), Numeric(0.5, 0.0), Published(0.5)]
    assert all(x != y for x in values for y in values if x is not y)


@pytest.mark.parametrize(
    "value",
    [
        Enclosure(Fraction(1, 3), Fraction(1, 2)),
        Numeric(0.5, 1e-9),
        Published(2.0, {"C": 1.0}),
        HeadCount(10**5000, "why", sharp=False),
    ],
)
def test_values_travel_between_processes(value: Any) -> None:
    assert pickle.loads(pickle.dumps(value)) == value


def test_values_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        HeadCount(3).heads = 2  # type: ignore[misc]
