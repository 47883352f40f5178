"""Numbers as text: what is printed is read back and compared with the exact number."""

from __future__ import annotations

import json
import math
import re
import sys
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from boundcheck.formatting import (
    Rounding,
    Style,
    decimal_text,
    digits,
    enclosure_json,
    error_text,
    heads_text,
    json_int,
    latex_escape,
    markdown_escape,
    nearest_text,
    safe_float,
    significant_text,
)
from boundcheck.values import Direction, Enclosure, Numeric, Published

STYLES: list[Style] = ["plain", "unicode", "markdown", "latex"]

fractions = st.fractions() | st.builds(
    lambda m, n, e: Fraction(m, n) * Fraction(10) ** e,
    st.integers(-(10**30), 10**30),
    st.integers(1, 10**30),
    st.integers(-400, 400),
)
# Close to a power of ten.
fractions |= st.builds(
    lambda e, m: Fraction(10) ** e * (1 + Fraction(1, m)),
    st.integers(-40, 40),
    st.integers(-(10**30), 10**30).filter(bool),
)
positive = fractions.map(abs).filter(bool)
roundings: st.SearchStrategy[Rounding] = st.sampled_from(["down", "up", "nearest"])
directions: st.SearchStrategy[Direction] = st.sampled_from(["lower", "upper"])


def read_back(text: str) -> tuple[Fraction, Fraction]:
    """The number a text shows, in any style, and one unit of its last figure."""
    text = text.replace("{,}", "").replace(",", "").strip("~$")
    found = re.fullmatch(r"(-?\d+)\.?(\d*)(?:\D+10(?:\^|<sup>|\^\{)(-?\d+)\D*)?", text)
    assert found, text
    whole, decimals, power = found.groups()
    unit = Fraction(10) ** (int(power or 0) - len(decimals))
    return int(whole + decimals) * unit, unit


def assert_rounded(shown: Fraction, unit: Fraction, x: Fraction, rounding: Rounding) -> None:
    if rounding == "down":
        assert shown <= x < shown + unit
    elif rounding == "up":
        assert shown - unit < x <= shown
    else:
        assert abs(shown - x) <= unit / 2


# --- integers -------------------------------------------------------------


def digits_by_chunks(n: int) -> str:
    """The digits of n >= 0 by repeated division, nine at a time."""
    chunks = []
    while n >= 10**9:
        n, chunk = divmod(n, 10**9)
        chunks.append(f"{chunk:09}")
    return str(n) + "".join(reversed(chunks))


@given(st.integers())
def test_digits_of_moderate_integers_are_those_python_prints(n: int) -> None:
    assert digits(n) == str(n)


def test_digits_beyond_pythons_limit_leave_the_limit_alone() -> None:
    before = sys.get_int_max_str_digits()
    for n in (7**23_700, 10**20_000, 10**20_000 - 1):
        with pytest.raises(ValueError, match="limit"):
            str(n)
        assert digits(n) == digits_by_chunks(n)
        assert len(digits(n)) >= 20_000
        assert digits(-n) == "-" + digits_by_chunks(n)
    assert sys.get_int_max_str_digits() == before


@given(st.integers(-(2**60), 2**60) | st.integers(2**53 - 3, 2**53 + 3))
def test_json_integers_survive_a_reader_that_uses_doubles(n: int) -> None:
    value = json.loads(json.dumps(json_int(n)), parse_int=float)
    assert int(value) == n
    assert isinstance(json_int(n), int) == (-(2**53) <= n <= 2**53)


def test_json_integers_of_any_size() -> None:
    value = json_int(10**5000)
    assert json.dumps(value) == '"1' + "0" * 5000 + '"'


@given(st.integers(0, 10**15 - 1), directions, st.sampled_from(STYLES))
def test_moderate_head_counts_show_every_digit(n: int, direction: Direction, style: Style) -> None:
    text = heads_text(n, direction, style)
    assert text.replace("{,}", ",").replace(",", "") == str(n)


@given(
    st.integers(10**15, 10**40)
    | st.builds(lambda m, e: m * 10**e, st.integers(1, 999), st.integers(15, 900)),
    st.integers(-1, 1),
    directions,
    st.sampled_from(STYLES),
)
def test_large_head_counts_lie_on_the_safe_side(
    n: int, offset: int, direction: Direction, style: Style
) -> None:
    n = max(n + offset, 10**15)
    shown, unit = read_back(heads_text(n, direction, style))
    assert_rounded(shown, unit, Fraction(n), "down" if direction == "lower" else "up")
    assert 10 <= shown / unit < 100  # two figures


def test_head_counts_in_each_style() -> None:
    n = 12 * 10**16
    texts = {style: heads_text(n, "lower", style) for style in STYLES}
    assert texts == {
        "plain": "1.2 x 10^17",
        "unicode": "1.2 × 10^17",
        "markdown": "1.2 × 10<sup>17</sup>",
        "latex": r"$1.2 \times 10^{17}$",
    }
    assert [heads_text(191901, "lower", style) for style in STYLES] == ["191,901"] * 3 + [
        "191{,}901"
    ]


def test_head_counts_carry_into_the_next_power() -> None:
    assert heads_text(999_000, "upper", most_digits=5) == "1.0 x 10^6"
    assert heads_text(999_000, "lower", most_digits=5) == "9.9 x 10^5"
    assert heads_text(10**15 - 1, "upper", most_digits=14) == "1.0 x 10^15"
    assert heads_text(99_999, "upper", most_digits=5) == "99,999"


@pytest.mark.parametrize("power", [15, 308, 309, 4300, 30_000])
def test_head_counts_next_to_a_power_of_ten(power: int) -> None:
    # Where a float logarithm alone cannot tell 10^power - 1 from 10^power.
    def text(n: int, direction: Direction) -> str:
        return heads_text(n, direction, most_digits=10)

    assert text(10**power, "lower") == f"1.0 x 10^{power}"
    assert text(10**power, "upper") == f"1.0 x 10^{power}"
    assert text(10**power - 1, "lower") == f"9.9 x 10^{power - 1}"
    assert text(10**power - 1, "upper") == f"1.0 x 10^{power}"
    assert text(10**power + 1, "upper") == f"1.1 x 10^{power}"


# --- fractions ------------------------------------------------------------


@given(fractions, st.integers(0, 40), roundings)
def test_decimals_lie_on_the_right_side(x: Fraction, places: int, rounding: Rounding) -> None:
    text = decimal_text(x, places, rounding)
    assert len(text.partition(".")[2]) == places
    assert_rounded(*read_back(text), x, rounding)


def test_decimals_of_negative_numbers_and_ties() -> None:
    x = Fraction(-1, 8)
    roundings: list[Rounding] = ["down", "up", "nearest"]
    assert [decimal_text(x, 2, rounding) for rounding in roundings] == ["-0.13", "-0.12", "-0.12"]
    assert [decimal_text(Fraction(n, 2), 0, "nearest") for n in (1, 3, 5)] == ["0", "2", "2"]
    assert decimal_text(Fraction(-1, 1000), 1, "up") == "0.0"


def test_more_decimals_than_python_prints() -> None:
    # 1/7 = 0.(142857)
    assert decimal_text(Fraction(1, 7), 6000, "down") == "0." + "142857" * 1000


@given(fractions, st.integers(1, 25), roundings, st.sampled_from(STYLES))
def test_significant_figures_lie_on_the_right_side(
    x: Fraction, figures: int, rounding: Rounding, style: Style
) -> None:
    shown, unit = read_back(significant_text(x, figures, rounding, style))
    assert_rounded(shown, unit, x, rounding)
    if x:
        assert 10 ** (figures - 1) <= abs(shown) / unit < 10**figures


def test_significant_figures_choose_where_the_point_goes() -> None:
    def text(x: Fraction) -> str:
        return significant_text(x, 3, "up")

    assert text(Fraction(0)) == "0"
    assert text(Fraction(1, 8)) == "0.125"
    assert text(Fraction(1234, 10)) == "124"
    assert text(Fraction(999_001, 1000)) == "1.00 x 10^3"
    assert text(Fraction(1, 10**4)) == "0.000100"
    assert text(Fraction(1, 10**5)) == "1.00 x 10^-5"
    assert text(Fraction(-1, 3 * 10**5)) == "-3.33 x 10^-6"


@pytest.mark.parametrize("power", range(5, 31))
def test_significant_figures_next_to_a_power_of_ten(power: int) -> None:
    # A difference of logarithms in floats falls on either side of these powers.
    for little in (Fraction(1, 10**16 + 61), Fraction(1, 3 * 10**17 + 1)):
        above, below = (Fraction(10) ** power * (1 + sign * little) for sign in (1, -1))
        assert significant_text(above, 3, "down") == f"1.00 x 10^{power}"
        assert significant_text(above, 3, "up") == f"1.01 x 10^{power}"
        assert significant_text(below, 3, "down") == f"9.99 x 10^{power - 1}"
        assert significant_text(below, 3, "up") == f"1.00 x 10^{power}"


@given(fractions, positive, st.integers(0, 30))
def test_nearest_decimals_are_right_for_every_number_enclosed(
    x: Fraction, width: Fraction, places: int
) -> None:
    enclosure = Enclosure(x, x + width)
    text = nearest_text(enclosure, places)
    unit = Fraction(1, 10**places)
    if text is None:
        assert round(x / unit) != round((x + width) / unit)
    else:
        shown, _ = read_back(text)
        assert abs(shown - x) <= unit / 2
        assert abs(shown - x - width) <= unit / 2


@given(fractions, positive)
def test_enclosures_in_json_contain_the_enclosure(x: Fraction, width: Fraction) -> None:
    enclosure = Enclosure(x, x + width)
    lo, hi = map(Fraction, json.loads(json.dumps(enclosure_json(enclosure))))
    assert lo <= enclosure.lo
    assert enclosure.hi <= hi
    # Twenty figures: each end moves by less than 10^-19 of its size.
    assert enclosure.lo - lo <= abs(enclosure.lo) / 10**19
    assert hi - enclosure.hi <= abs(enclosure.hi) / 10**19
    # Reading and writing again changes nothing.
    assert enclosure_json(Enclosure(lo, hi)) == enclosure_json(enclosure)


def test_enclosures_in_json_are_short_where_they_are_exact() -> None:
    def texts(lo: Fraction, hi: Fraction) -> list[str]:
        return enclosure_json(Enclosure(lo, hi))

    assert texts(Fraction(0), Fraction(1, 2)) == ["0", "0.5"]
    assert texts(Fraction(-3), Fraction(1000)) == ["-3", "1000"]
    assert texts(Fraction(1, 10**400), Fraction(10**400)) == ["1e-400", "1e400"]


@given(fractions | st.floats(allow_nan=False, allow_infinity=False).map(Fraction))
def test_safe_floats_are_the_nearest_on_their_side(x: Fraction) -> None:
    down, up = safe_float(x, "down"), safe_float(x, "up")
    assert down <= x <= up
    # No float lies between: they are equal or neighbours.
    assert down == up == x or up == math.nextafter(down, math.inf)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_safe_floats_keep_floats(x: float) -> None:
    assert safe_float(Fraction(x), "down") == safe_float(Fraction(x), "up") == x


def test_safe_floats_at_the_ends_of_the_range() -> None:
    largest, least = sys.float_info.max, math.ulp(0.0)
    huge, tiny = Fraction(10) ** 5000, Fraction(1, 10**5000)
    assert (safe_float(huge, "down"), safe_float(huge, "up")) == (largest, math.inf)
    assert (safe_float(-huge, "down"), safe_float(-huge, "up")) == (-math.inf, -largest)
    assert (safe_float(tiny, "down"), safe_float(tiny, "up")) == (0.0, least)
    assert (safe_float(-tiny, "down"), safe_float(-tiny, "up")) == (-least, 0.0)
    assert math.copysign(1, safe_float(-tiny, "up")) == 1
    assert safe_float(Fraction(5, 2) * Fraction(least), "down") == 2 * least


# --- errors ---------------------------------------------------------------


@given(fractions, positive, directions, st.sampled_from(STYLES))
def test_certified_errors_show_the_safe_end(
    x: Fraction, width: Fraction, direction: Direction, style: Style
) -> None:
    x = abs(x)
    shown, unit = read_back(error_text(Enclosure(x, x + width), direction, style))
    if direction == "lower":
        assert_rounded(shown, unit, x, "down")
    else:
        assert_rounded(shown, unit, x + width, "up")


def test_certified_errors_are_never_below_zero() -> None:
    around_zero = Enclosure(Fraction(-1, 10**30), Fraction(1, 10**30))
    assert error_text(around_zero, "lower") == "0"
    assert error_text(around_zero, "upper") == "1.00000 x 10^-30"
    assert error_text(around_zero, "upper", "latex") == r"$1.00000 \times 10^{-30}$"


@given(
    st.floats(0, 1e300),
    st.floats(0, 2) | st.integers(0, 20).map(lambda n: 10.0**-n),
    directions,
)
def test_numeric_errors_move_by_their_estimate(
    value: float, share: float, direction: Direction
) -> None:
    estimate = value * share
    shown, unit = read_back(error_text(Numeric(value, estimate), direction))
    exact, width = Fraction(value), Fraction(estimate)
    if direction == "lower":
        assert 0 <= shown <= max(exact - width, Fraction(0))
    else:
        assert shown >= exact + width
    # No figure is worth less than the estimate, and none that it supports is missing.
    assert shown == 0 or unit >= width
    if shown:
        assert unit < 10 * width or unit <= shown / 10**5
        assert abs(shown - exact) <= unit + width


def test_numeric_errors_by_hand() -> None:
    value = Numeric(0.50502, 3e-5)
    assert error_text(value, "upper") == "0.5051"  # 0.50505 up at 10^-4
    assert error_text(value, "lower") == "0.5049"  # 0.50499 down at 10^-4
    assert error_text(Numeric(0.50508, 3e-5), "upper") == "0.5052"  # 0.50511 up at 10^-4
    assert error_text(Numeric(0.5, 0.0), "upper") == "0.500000"
    assert error_text(Numeric(0.1, 0.0), "upper") == "0.100001"  # the float is above 1/10
    assert error_text(Numeric(0.1, 0.5), "lower") == "0"
    assert error_text(Numeric(0.1, 0.5), "upper") == "1"
    assert error_text(Numeric(3e-9, 2e-4), "upper") == "0.001"
    assert error_text(Numeric(3e-9, 2e-4), "lower") == "0"


def test_published_errors_are_marked_and_short() -> None:
    assert error_text(Published(0.123456), "lower") == "~0.123"
    assert error_text(Published(0.123456), "upper") == "~0.123"
    assert error_text(Published(1.23456e-7), "upper", "latex") == r"$\sim$$1.23 \times 10^{-7}$"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_no_text_for_numbers_that_are_not_finite(value: float) -> None:
    for given_value in (Numeric(value, 0.0), Numeric(0.1, value), Published(value)):
        with pytest.raises(ValueError, match="finite"):
            error_text(given_value, "upper")


# --- markup ---------------------------------------------------------------

LATEX_MEANING = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    **{rf"\{c}": c for c in "{}$&#%_"},
    "{[}": "[",
    "{*}": "*",
    "-{}-": "--",
}


def latex_meaning(source: str) -> str:
    """What LaTeX prints for the source; fails on a special character left bare."""
    out, i = "", 0
    while i < len(source):
        if source.startswith("-{}", i):
            assert source[i + 3] == "-"
            out, i = out + "-", i + 3
            continue
        for macro in (m for m in LATEX_MEANING if source.startswith(m, i)):
            out, i = out + LATEX_MEANING[macro], i + len(macro)
            break
        else:
            assert source[i] not in "\\~^<>|{}$&#%_[*", source[i:]
            assert not source.startswith("--", i)
            out, i = out + source[i], i + 1
    return out


markup = st.text(
    st.sampled_from("\\~^<>|{}$&#%_[]*`-!()+.:/ab1 \"'") | st.characters(codec="utf-8")
)


@given(markup)
def test_latex_text_prints_as_it_stands(text: str) -> None:
    assert latex_meaning(latex_escape(text)) == text


def test_latex_specials() -> None:
    assert latex_escape(r"a_b & 50% #1 $x^2$ ~{}\n") == (
        r"a\_b \& 50\% \#1 \$x\textasciicircum{}2\$ "
        r"\textasciitilde{}\{\}\textbackslash{}n"
    )
    assert latex_escape("---") == "-{}-{}-"


@given(markup)
@example("~~a~~ *b* __c__ `d` [e](f) ![g](h)")
@example("&amp; &#35; <b> <https://a.b> | \\|")
def test_markdown_cells_print_as_they_stand(text: str) -> None:
    text = f"x{text}x"  # a cell's outer spaces do not count
    # The independent reader is a CommonMark parser with GitHub's tables and strikethrough.
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    tokens = parser.parse(f"| head |\n|---|\n| {markdown_escape(text)} |\n")
    cells = [token for token in tokens if token.type == "inline"]
    assert [cell.content for cell in cells[:1]] == ["head"]
    assert len(cells) == 2
    assert {child.type for child in cells[1].children or []} <= {"text", "text_special"}
    printed = "".join(child.content for child in cells[1].children or [])
    assert printed == " ".join(text.replace("\0", "\N{REPLACEMENT CHARACTER}").splitlines())
