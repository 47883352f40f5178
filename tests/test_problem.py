import pickle
import sys
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundcheck.errors import InputError
from boundcheck.problem import (
    MAX_DIGITS,
    Problem,
    exact_fraction,
    head_class_named,
    whole_number,
)


def complaint(*args: Any, **options: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        Problem.of(*args, **options)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith(f"{caught.value.parameter}: got ")
    assert "allowed: " in message
    assert len(message) < 200
    return caught.value


@pytest.mark.parametrize(
    ("given_eps", "eps", "text"),
    [
        ("0.1", Fraction(1, 10), "0.1"),
        ("1/10", Fraction(1, 10), "1/10"),
        (" 2/20 ", Fraction(1, 10), "2/20"),
        (".1", Fraction(1, 10), ".1"),
        ("1e-1", Fraction(1, 10), "1e-1"),
        ("+1.00E-01", Fraction(1, 10), "+1.00E-01"),
        (0.1, Fraction(1, 10), "0.1"),
        (1e-5, Fraction(1, 10**5), "1e-05"),
        (np.float64(0.1), Fraction(1, 10), "0.1"),
        (np.float32(0.1), Fraction(1, 10), "0.1"),
        (Decimal("0.1"), Fraction(1, 10), "0.1"),
        (Fraction(1, 10), Fraction(1, 10), "1/10"),
        ("1e-400", Fraction(1, 10**400), "1e-400"),
        ("0.4999999999999999999999", Fraction(1, 2) - Fraction(1, 10**22), None),
    ],
)
def test_eps_is_the_number_that_is_written(given_eps: Any, eps: Fraction, text: str | None) -> None:
    problem = Problem.of(64, 4, given_eps)
    assert problem.eps == eps
    assert problem.target_eps == eps
    if text is not None:
        assert problem.eps_text == text


@given(st.integers(1, 10**9), st.integers(0, 30))
def test_decimals_are_read_exactly(mantissa: int, places: int) -> None:
    text = f"{mantissa}e-{places}"
    assert exact_fraction(text, "x", "any") == Fraction(mantissa, 10**places)
    whole = str(mantissa).rjust(places + 1, "0")
    point = len(whole) - places
    decimal = f"{whole[:point]}.{whole[point:]}"
    assert exact_fraction(decimal, "x", "any") == Fraction(mantissa, 10**places)


@pytest.mark.parametrize(
    "bad",
    [
        *("0", "-0.1", "-1/10", "0/5", "-1e-400", 0, 0.0, -0.1, Fraction(0)),
        *("nan", "inf", "-inf", float("nan"), float("inf"), True, [0.1], 1j),
        *("0,1", "", "one tenth", "1/0", "1/2/3", "0.1.2", "0x1", "1_0", "1e", "1 / 10"),
        *("1e-9999999", "0.1\n0.2"),
    ],
)
def test_bad_eps(bad: Any) -> None:
    error = complaint(64, 4, bad)
    assert error.parameter == "eps"
    assert "between 0 and 1/2" in error.allowed


@pytest.mark.parametrize("bad", ["0.5", "1/2", 0.5, 1, 2, "7", Fraction(1, 2), "1e300", "1e99999"])
def test_eps_from_one_half_on_says_why(bad: Any) -> None:
    error = complaint(64, 4, bad)
    assert error.parameter == "eps"
    assert "less than 1/2" in error.allowed
    assert "mean of the two points" in error.allowed


def test_the_value_given_is_named() -> None:
    assert str(complaint(64, 4, "0,1")).startswith("eps: got '0,1', allowed: ")
    assert str(complaint(64, 0)) == "r: got 0, allowed: a whole number from 1 to d = 64"
    assert "got 'nan'" in str(complaint(64, 4, float("nan")))


@pytest.mark.parametrize("d", [2, 1, 0, -5, 3.5, 64.0, "64.0", "2", "", "x", "6 4", "64 128", None])
def test_bad_dimensions(d: Any) -> None:
    error = complaint(d, 1)
    assert error.parameter == "d"
    assert "from 3 to" in error.allowed


@pytest.mark.parametrize("r", [0, -1, 9, "9", 1.5, "1/2", True, False, np.array([1, 2]), None])
def test_bad_ranks(r: Any) -> None:
    error = complaint(8, r)
    assert error.parameter == "r"
    assert error.allowed == "a whole number from 1 to d = 8"


def test_too_large_dimension() -> None:
    assert complaint(10**6 + 1, 1).parameter == "d"
    # Above the size that str() prints.
    assert "(5001 characters)" in str(complaint(10**5000, 1))
    assert complaint(10**10, 10).parameter == "d"


@pytest.mark.parametrize(("d", "r"), [(3, 1), (3, 2), (3, 3), (64, 63), (64, 64), (10**6, 1)])
def test_every_rank_up_to_d_is_a_question(d: int, r: int) -> None:
    problem = Problem.of(d, r, "0.1")
    assert (problem.d, problem.r) == (d, r)


@pytest.mark.parametrize("d", [64, "64", " 64 ", "+64", np.int64(64), np.uint8(64), np.array(64)])
def test_whole_numbers_of_every_kind(d: Any) -> None:
    problem = Problem.of(d, d)
    assert problem.d == problem.r == 64
    assert type(problem.d) is int


@pytest.mark.parametrize("bad", [True, np.True_, 1.0, np.float64(3), "3.0", "1e3", "٣", "", "--3"])
def test_what_is_no_whole_number(bad: Any) -> None:
    with pytest.raises(InputError, match=r"^heads: got .*allowed: a whole number, 0 or more$"):
        whole_number(bad, "heads", "a whole number, 0 or more", 0)


@pytest.mark.parametrize("bad", [-1, "-1", "0.5", 0.5, "1/2"])
def test_negative_or_fractional_heads(bad: Any) -> None:
    with pytest.raises(InputError, match="heads"):
        whole_number(bad, "heads", "a whole number, 0 or more", 0)


def test_numbers_of_thousands_of_digits() -> None:
    limit = sys.get_int_max_str_digits()
    digits = "1" + "0" * 9999
    assert whole_number(digits, "heads", "any", 0) == 10**9999
    assert exact_fraction("0." + "0" * 9999 + "1", "eps", "any") == Fraction(1, 10**10000)
    assert exact_fraction("1/" + digits, "eps", "any") == Fraction(1, 10**9999)
    problem = Problem.of(64, 4, Fraction(1, 10**9999))
    assert problem.eps == Fraction(1, 10**9999)
    assert problem.eps_text == "1/" + digits
    assert sys.get_int_max_str_digits() == limit


def test_endless_digit_strings_are_refused_shortly() -> None:
    endless = "9" * (MAX_DIGITS + 1)
    assert complaint(endless, 1).parameter == "d"
    assert complaint(64, 4, "0." + endless).parameter == "eps"
    assert f"({MAX_DIGITS + 1} characters)" in str(complaint(endless, 1))


def test_a_value_of_several_lines_is_shown_on_one() -> None:
    assert str(InputError("r", np.eye(2), "a whole number")).count("\n") == 0
    assert str(InputError("r", "1\n2", "a whole number")).count("\n") == 0
    assert str(InputError("eps", Fraction(1, 10**5000), "less")).count("\n") == 0


def test_head_classes() -> None:
    assert head_class_named("scalar") == "scalar"
    error = complaint(8, 1, head_class="Scalar")
    assert error.parameter == "head-class"
    assert error.allowed == "scalar, standard, generalized"
    assert Problem.of(8, 1).head_class == "standard"
    assert Problem.of(8, 1).of_class("scalar") == Problem.of(8, 1, head_class="scalar")


def test_a_question_without_eps_says_so_when_asked() -> None:
    problem = Problem.of(8, 1)
    assert problem.eps is None
    with pytest.raises(InputError, match=r"^eps: got"):
        _ = problem.target_eps


def test_a_problem_is_a_value() -> None:
    problem = Problem.of(8, 1, "1/10", skip=True)
    assert pickle.loads(pickle.dumps(problem)) == problem
    assert len({problem, Problem.of("8", "1", "1/10", skip=True)}) == 1
    with pytest.raises(AttributeError):
        problem.d = 9  # type: ignore[misc]
