"""The checker alone: what it accepts, what it refuses, and that it needs nothing but Python."""

from __future__ import annotations

import ast
import json
import math
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import mpmath  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundcheck import checker
from boundcheck.bounds.lower import T1
from boundcheck.capacity import Capacity
from boundcheck.certificate import (
    _claim,
    certificate_text,
    excluding_certificate,
    lower_certificate,
    upper_certificate,
)
from boundcheck.certificate_terms import Certificate, tail_start
from boundcheck.checker import check
from boundcheck.harmonics import energy, harmonic_dimension
from boundcheck.problem import Problem

SOURCE = Path(checker.__file__)


@cache
def standard() -> str:
    """The certificate that most corruptions start from."""
    return certificate_text(lower_certificate(Problem.of(64, 4, "1/20")))


@cache
def small() -> str:
    return certificate_text(lower_certificate(Problem.of(3, 1, "1/20")))


def refused(text: str | bytes) -> str:
    """The reason for which it is not valid."""
    valid, statement, reason = check(text)
    assert not valid
    assert statement == ""
    assert reason
    assert reason.isascii()
    assert len(reason) <= 200
    return reason


def with_claim(text: str, problem: Problem, bound: str, heads: int) -> str:
    """The same proof under another claim, whose statement says the same as its fields."""
    return certificate_text(json.loads(text) | _claim(problem, bound, heads))


# --- a file to read and to copy -------------------------------------------


def test_is_short_and_imports_three_modules() -> None:
    source = SOURCE.read_text()
    assert len(source.splitlines()) < 200
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add(node.module or "")
    assert imported == {"fractions", "json", "sys"}


def run_alone(folder: Path, data: str | bytes, *flags: str) -> subprocess.CompletedProcess[str]:
    """A copy of the checker on a file, in a Python without site packages."""
    shutil.copy(SOURCE, folder / "checker.py")
    (folder / "given.json").write_bytes(data.encode() if isinstance(data, str) else data)
    command = [sys.executable, "-I", "-S", *flags, "checker.py", "given.json"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_lone_copy_loads_only_the_standard_library(tmp_path: Path) -> None:
    run_alone(tmp_path, standard())
    program = """
import runpy, sys
try:
    runpy.run_path("checker.py", run_name="__main__")
except SystemExit as end:
    code = end.code
print(code, sorted({name.partition(".")[0] for name in sys.modules} - sys.stdlib_module_names))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", f"import sys; sys.argv[1:] = ['given.json']\n{program}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("valid: No layer of 377421625486514 standard heads of rank 4 ")
    assert lines[1] == "0 ['__main__']" or lines[1] == "0 []"


def test_exit_codes(tmp_path: Path) -> None:
    good = run_alone(tmp_path, standard())
    assert (good.returncode, good.stderr) == (0, "")
    bad = run_alone(tmp_path, standard().replace("377421625486514", "377421625486515"))
    assert (bad.returncode, bad.stderr) == (1, "")
    assert bad.stdout.startswith("not valid: ")
    for argument in ("missing.json", ".", "nul\0"[:3]):
        done = subprocess.run(
            [sys.executable, "checker.py", argument],
            cwd=tmp_path, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1
    assert subprocess.run([sys.executable, "checker.py"], cwd=tmp_path, check=False,
                          capture_output=True).returncode == 2  # fmt: skip


def test_runs_as_a_module(tmp_path: Path) -> None:
    (tmp_path / "given.json").write_text(standard())
    command = [sys.executable, "-m", "boundcheck.checker", "given.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_optimised_python_checks_as_well(tmp_path: Path) -> None:
    # -OO removes docstrings and assertions.
    assert run_alone(tmp_path, standard(), "-OO").returncode == 0
    assert run_alone(tmp_path, standard().replace("64", "65"), "-OO").returncode == 1


# --- its arithmetic, against other routes ---------------------------------


@given(st.integers(8, 3000))
def test_bounds_of_pi(bits: int) -> None:
    # mpmath's pi, at more digits.
    low, high = checker.pi_between(bits)
    with mpmath.workprec(bits + 40):
        assert low < mpmath.pi * mpmath.mpf(2) ** bits < high
    assert high - low <= bits + 12


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 40), st.integers(8, 200))
def test_powers_are_rounded_up(a: int, b: int, n: int, bits: int) -> None:
    # Exact rationals.
    above, below = sorted((a, b))
    exact = Fraction(above, below) ** n * 2**bits
    found = checker.power_at_most(above, below, n, 1 << bits)
    assert exact <= found <= math.ceil(exact) + 1
    # A rounding of the finer steps may only show where the exact value is next to an integer.
    if math.ceil(exact) - exact > Fraction(1, 2**40):
        assert found == math.ceil(exact)


@given(st.integers(0, 60), st.integers(-3, 70))
def test_binomials(n: int, k: int) -> None:
    assert checker.choose(n, k) == (math.comb(n, k) if k >= 0 else 0)


@given(st.integers(0, 10**60) | st.integers(1000, 50_000).map(lambda bits: 7**bits >> bits))
def test_long_numbers_are_read_and_written(n: int) -> None:
    # Decimal prints and reads integers of any size by another route.
    limit = sys.get_int_max_str_digits()
    text = str(Decimal(n))
    assert checker.digits(n) == text
    if len(text) <= checker.MAX_DIGITS:
        assert checker.number(text, "n", 0) == n
    else:
        with pytest.raises(ValueError, match="n: "):
            checker.number(text, "n", 0)
    assert sys.get_int_max_str_digits() == limit


@pytest.mark.parametrize(
    "text", ["", "-1", "+1", "01", " 1", "1 ", "1_0", "\u0661", "0x1", "1e3", "1.0"]
)
def test_other_spellings_of_numbers_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"n: |invalid literal"):
        checker.number(text, "n", 0)


@pytest.mark.parametrize(
    "case", [(3, 1, (1, 0, 0)), (8, 3, (2, 0, 1)), (9, 8, (2, 8, 1)), (16, 4, (2, 1, 1))]
)
@pytest.mark.parametrize("s", [3, 9, 31])
def test_tail_is_bounded_where_the_checker_says_so(
    case: tuple[int, int, tuple[int, int, int]], s: int
) -> None:
    D, r, abc = case
    capacity = Capacity(D, r, *abc)
    # u_l = lambda_l^2 m(l) in exact steps, first checked against E_l m(l)/N(D,l); 400 terms.
    u = [Fraction(1)]
    for l in range(s, s + 800, 2):
        u.append(u[-1] * Fraction(l, l + D) ** 2 * Fraction(capacity(l + 2), capacity(l)))
    for i, l in enumerate(range(s, s + 20, 2)):
        defined = [
            energy(D, k).coefficient * Fraction(capacity(k), harmonic_dimension(D, k))
            for k in (s, l)
        ]
        assert u[i] == defined[1] / defined[0]
    partial = sum(map(float, u))
    start = tail_start(capacity, s)
    assert start is not None
    unit = 1 << 80
    tail = math.ceil(start * unit)
    assert checker.tail_holds(D, r, list(abc), s, tail, unit)
    assert partial < tail / unit
    # Less than the sum of 400 terms cannot be shown, since it is false.
    assert not checker.tail_holds(D, r, list(abc), s, int(partial * 0.999999 * unit), unit)


def sign_energy(D: int, l: int) -> mpmath.mpf:
    """E_l(D) by quadrature of sign(t) P_l(t), with N from (1+x)/(1-x)^(D-1)."""
    mp = mpmath.MPContext()
    mp.dps = 30
    order, exponent = mp.mpf(D - 2) / 2, mp.mpf(D - 3) / 2
    mass = mp.quad(lambda t: (1 - t * t) ** exponent, [0, 1])
    moment = mp.quad(lambda t: mp.gegenbauer(l, order, t) * (1 - t * t) ** exponent, [0, 1])
    N = math.comb(D + l - 2, l) + math.comb(D + l - 3, l - 1)
    return N * (moment / mp.gegenbauer(l, order, 1) / mass) ** 2


@pytest.mark.parametrize("d", [5, 8])
def test_energies_are_those_of_the_sign(d: int) -> None:
    file = json.loads(certificate_text(lower_certificate(Problem.of(d, 1, "1/20"))))
    for term in file["terms"][:5]:
        above = (
            int(term["energy"].split("/")[0]) - sign_energy(d, term["degree"]) * 2 ** file["bits"]
        )
        assert -1e-6 < above < 1 + 1e-6


# --- corruptions ----------------------------------------------------------


def corruptions(text: str, count: int, seed: int) -> list[bytes]:
    """Single bytes replaced by others, at random."""
    rng = random.Random(seed)
    data = text.encode()
    found = []
    for _ in range(count):
        position, byte = rng.randrange(len(data)), rng.randrange(256)
        found.append(data[:position] + bytes([byte]) + data[position + 1 :])
    return found


def same_meaning(data: bytes, text: str) -> bool:
    """Whether both are the same JSON, so that only white space differs."""
    try:
        return bool(json.loads(data.decode()) == json.loads(text))
    except ValueError:
        return False


def test_single_byte_corruptions_are_refused() -> None:
    refusals = 0
    for data in corruptions(standard(), 200, seed=0):
        if not check(data)[0]:
            refusals += 1
        else:
            assert same_meaning(data, standard())
    assert refusals > 150


@pytest.mark.slow
def test_many_single_byte_corruptions_are_refused() -> None:
    others = [
        certificate_text(upper_certificate(Problem.of(16, 3, "1/8"), bound))
        for bound in ("T2", "U1")
    ]
    for text in (standard(), small(), *others):
        for data in corruptions(text, 5000, seed=1):
            assert not check(data)[0] or same_meaning(data, text)


def test_every_changed_digit_is_refused() -> None:
    # All of a small certificate; of a larger one all but the terms.
    whole = [(small(), position) for position in range(len(small()))]
    start, end = standard().index('"terms"'), standard().index('"tail"')
    rest = [(standard(), i) for i in range(len(standard())) if not start < i < end]
    for text, position in whole + rest:
        if text[position].isdigit():
            other = str((int(text[position]) + 1 + position % 9) % 10)
            refused(text[:position] + other + text[position + 1 :])


def test_deleted_doubled_and_swapped_bytes_are_refused() -> None:
    text, rng = standard(), random.Random(2)
    for _ in range(300):
        i = rng.randrange(len(text) - 1)
        for changed in (
            text[:i] + text[i + 1 :],
            text[:i] + text[i] + text[i:],
            text[:i] + text[i + 1] + text[i] + text[i + 2 :],
        ):
            assert not check(changed)[0] or same_meaning(changed.encode(), text)
    for end in (0, 1, len(text) // 2, len(text) - 3):
        refused(text[:end])


def test_layout_and_order_of_names_do_not_matter() -> None:
    file = json.loads(standard())
    for text in (json.dumps(file), json.dumps(file, indent=7), json.dumps(file, sort_keys=True)):
        assert check(text) == check(standard()) == check(standard().encode())
    assert check(standard())[0]


# --- claims that say too much ---------------------------------------------


STRONGER = {
    "one head more": (Problem.of(64, 4, "1/20"), "T1", 377421625486515),
    "larger eps": (Problem.of(64, 4, Fraction(1, 20) + Fraction(1, 10**16)), "T1", 377421625486514),
    "scalar heads": (Problem.of(64, 4, "1/20", head_class="scalar"), "T1", 377421625486514),
    "generalized heads": (
        Problem.of(64, 4, "1/20", head_class="generalized"), "T1", 377421625486514
    ),
    "a larger rank": (Problem.of(64, 5, "1/20"), "T1", 377421625486514),
    "a smaller rank": (Problem.of(64, 3, "1/20"), "T1", 377421625486514),
    "a smaller dimension": (Problem.of(63, 4, "1/20"), "T1", 377421625486514),
    "a larger dimension": (Problem.of(65, 4, "1/20"), "T1", 377421625486514),
    "an upper bound": (Problem.of(64, 4, "1/20"), "T2", 377421625486514),
    "fewer heads, true but not what the terms show": (
        Problem.of(64, 4, "1/20"), "T1", 377421625486513
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STRONGER)
def test_other_claims_with_the_same_terms_are_refused(name: str) -> None:
    problem, bound, heads = STRONGER[name]
    refused(with_claim(standard(), problem, bound, heads))


@pytest.mark.parametrize("eps", ["1/20", "1/10", "1/3"])
@pytest.mark.parametrize("head_class", ["scalar", "standard", "generalized"])
def test_terms_for_one_head_more_do_not_reach_eps(eps: str, head_class: str) -> None:
    """Right terms for the count that T1 does not exclude, made for a smaller eps."""
    problem = Problem.of(16, 3, eps, head_class=head_class)
    heads = int(lower_certificate(problem)["heads"]) + 1
    smaller = replace(problem, eps=T1().error(problem, heads).lo * (1 - Fraction(1, 10**9)))
    made = excluding_certificate(smaller, heads)
    assert check(certificate_text(made))[0]
    assert refused(with_claim(certificate_text(made), problem, "T1", heads)).startswith("eps")


def test_terms_that_keep_degree_1_do_not_allow_a_free_linear_part() -> None:
    # 20 heads leave some of degree 1, which A y would take.
    problem = Problem.of(64, 1, "2/5")
    made = lower_certificate(problem)
    assert int(made["heads"]) < 64 // 2
    text = with_claim(
        certificate_text(made), replace(problem, skip=True), "T1s", int(made["heads"])
    )
    assert refused(text).startswith("terms, degree 1")


def test_one_head_fewer_than_t2_needs_is_refused() -> None:
    for d, r in ((8, 1), (12, 3)):
        problem = Problem.of(d, r, "1/10")
        made = upper_certificate(Problem.of(d, r, "101/1000"), "T2")
        text = with_claim(certificate_text(made), problem, "T2", int(made["heads"]))
        assert refused(text).startswith("eps")


def test_u1_needs_full_rank() -> None:
    text = certificate_text(upper_certificate(Problem.of(8, 8, "1/10"), "U1"))
    assert check(text)[0]
    file = json.loads(text) | {"r": 7}
    file["statement"] = file["statement"].replace("rank 8", "rank 7")
    assert refused(json.dumps(file)).startswith("r:")


def test_terms_cannot_be_left_out() -> None:
    file = json.loads(standard())
    assert refused(json.dumps(file | {"terms": []})).startswith("number of terms")
    # Without any term nothing would have been taken, and the error would be 1/2.
    nothing = {"terms": [], "error": f"{2 ** file['bits']}/2^{file['bits'] + 1}"}
    refused(json.dumps(file | nothing))
    for terms in (file["terms"][:1], file["terms"][:-1], file["terms"][1:], file["terms"][::-1],
                  file["terms"] + file["terms"][-1:], dict(enumerate(file["terms"])), "ab", 7,
                  None):  # fmt: skip
        refused(json.dumps(file | {"terms": terms}))


def test_tail_must_be_the_least_that_holds() -> None:
    file = json.loads(standard())
    bits = file["bits"]
    least = int(file["tail"].split("/")[0])
    for tail in (1, 2**bits, least - 1, least + 1, 2 * least, least << bits):
        refused(json.dumps(file | {"tail": f"{tail}/2^{bits}"}))


# --- files that are no certificates ---------------------------------------


WRONG = [None, True, False, 0, -1, 1, 1.0, 64.0, "", "x", "0", "1/2", [], {}, [1], {"a": 1}, 10**30]


def test_fields_of_another_kind_are_refused() -> None:
    for text in (small(), certificate_text(upper_certificate(Problem.of(8, 2, "1/5"), "T2"))):
        file = json.loads(text)
        for name in file:
            for value in WRONG:
                if json.dumps(value).strip('"') != json.dumps(file[name]).strip('"'):
                    refused(json.dumps(file | {name: value}))
        for name, shown in file["terms"][0].items():
            for value in WRONG:
                if json.dumps(value).strip('"') != json.dumps(shown).strip('"'):
                    terms = [file["terms"][0] | {name: value}, *file["terms"][1:]]
                    refused(json.dumps(file | {"terms": terms}))


def test_missing_and_unknown_fields_are_refused() -> None:
    for bound in ("T1", "T2", "U1"):
        problem = Problem.of(8, 2, "1/5")
        made = lower_certificate(problem) if bound == "T1" else upper_certificate(problem, bound)
        for name in made:
            refused(json.dumps({k: v for k, v in made.items() if k != name}))
        for value in WRONG:
            refused(json.dumps(made | {"remark": value}))
        if bound != "U1":
            first = made["terms"][0]
            for name in first:
                short = {k: v for k, v in first.items() if k != name}
                refused(json.dumps(made | {"terms": [short, *made["terms"][1:]]}))
            refused(json.dumps(made | {"terms": [first | {"x": None}, *made["terms"][1:]]}))


@pytest.mark.parametrize("version", [0, 2, "1.0", 1.0, True, None, "2", [1]])
def test_unknown_versions_are_refused(version: object) -> None:
    refused(json.dumps(json.loads(standard()) | {"version": version}))


def test_repeated_names_are_refused() -> None:
    for name in ('"d": 64', '"degree": 1', '"heads": "377421625486514"'):
        doubled = standard().replace(name, f"{name}, {name}", 1)
        assert json.loads(doubled) == json.loads(standard())
        assert "twice" in refused(doubled)


@pytest.mark.parametrize(
    ("whole", "other"),
    [('"d": 64', '"d": 64.0'), ('"d": 64', '"d": 6.4e1'), ('"d": 64', '"d": 64e0'),
     ('"r": 4', '"r": NaN'), ('"r": 4', '"r": Infinity'), ('"r": 4', '"r": -4'),
     ('"bits": ', '"bits": -'), ('"1/20"', "0.05"), ('"1/20"', '"0.05"'), ('"1/20"', '"1/20/1"'),
     ('"1/20"', '"-1/20"'), ('"1/20"', '"1/0"'), ('"1/20"', '"01/20"'), ('"1/20"', '"2/40"'),
     ('"d": 64', '"d": 064'), ('"377421625486514"', "3.77421625486514e14"),
     ('"degree": 1,', '"degree": true,'), ('"skip": false', '"skip": 0')],
)  # fmt: skip
def test_inexact_and_odd_numbers_are_refused(whole: str, other: str) -> None:
    assert whole in standard()
    refused(standard().replace(whole, other, 1))


@pytest.mark.parametrize(
    "data",
    [b"", b"\xff", b"\xef\xbb\xbf{}", b"null", b"[]", b"{}", b"7", b'"x"', b"{", b"\x00", b"nan",
     b'{"bound": "\\ud800"}', b'{"\\ud800": 1}', b"[" * 100_000, b'{"a":' * 100_000,
     b"1" * 100_000, b'{"d": ' + b"9" * 100_000 + b"}"],
)  # fmt: skip
def test_what_is_no_certificate_is_refused(data: bytes) -> None:
    refused(data)


def test_byte_order_mark_utf16_and_lone_surrogates_are_refused() -> None:
    refused(b"\xef\xbb\xbf" + standard().encode())
    refused(standard().encode("utf-16"))
    refused("\ufeff" + standard())
    refused(standard().replace('"standard"', '"\\udcff"'))
    refused(standard().replace('"standard"', '"\udcff"'))
    refused(standard().replace('"T1"', '"\u0422\u0031"'))


@given(st.binary(max_size=300) | st.text(max_size=300))
def test_never_raises(data: bytes | str) -> None:
    refused(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.data())
def test_never_raises_on_json_like_a_certificate(data: st.DataObject) -> None:
    file: Certificate = json.loads(small())
    names = data.draw(st.lists(st.sampled_from(sorted(file)), min_size=1, max_size=3, unique=True))
    before = json.dumps(file, sort_keys=True)
    changed = file | {name: data.draw(JSON) for name in names}
    if json.dumps(changed, sort_keys=True) != before:
        refused(json.dumps(changed))


# --- files made to exhaust time or memory ---------------------------------


def hostile() -> dict[str, bytes]:
    """Files of the largest size read, and small ones that ask for much work."""
    size = checker.MAX_BYTES
    file = json.loads(standard())
    zeros: list[Any] = [0] * 10**5

    def small(**changes: object) -> bytes:
        return json.dumps(file | changes).encode()

    return {
        "too large": b" " * (size + 1),
        "nested lists": b"[" * size,
        "nested objects": b'{"a":' * (size // 5),
        "empty objects": (b"[" + b"{}," * (size // 3))[: size - 4] + b"0]",
        "a long number": b"9" * size,
        "a long fraction": b"0." + b"9" * (size - 2),
        "a long string of digits": small(heads="9" * (size - 10_000)),
        "many digits": small(heads="9" * checker.MAX_DIGITS),
        "a long name": b'{"' + b"x" * (size - 10) + b'": 1}',
        "many terms": small(terms=zeros),
        "many bits": small(bits=checker.MAX_BITS),
        "more bits": small(bits=10**9),
        "a large dimension": small(d=checker.MAX_DIMENSION, sphere=checker.MAX_DIMENSION, r=9000),
        "a larger dimension": small(d=10**9, sphere=10**9),
        "a large power": small(bound="T2", heads=str(10**18), bits=checker.MAX_BITS),
    }


@pytest.mark.skipif(sys.platform != "linux", reason="limits the memory of a process")
@pytest.mark.parametrize("name", hostile())
def test_hostile_files_need_little_memory_and_time(name: str, tmp_path: Path) -> None:
    shutil.copy(SOURCE, tmp_path / "checker.py")
    (tmp_path / "given.json").write_bytes(hostile()[name])
    program = (
        "import resource, runpy, sys; resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30)); "
        "sys.argv[1:] = ['given.json']; runpy.run_path('checker.py', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, "")
    assert "MemoryError" not in done.stdout


def test_numbers_above_pythons_limit_need_no_change_of_it(tmp_path: Path) -> None:
    # The least limit that Python allows.
    text = certificate_text(lower_certificate(Problem.of(12001, 1, "1/75")))
    shutil.copy(SOURCE, tmp_path / "checker.py")
    (tmp_path / "given.json").write_text(text)
    assert len(json.loads(text)["heads"]) > 640
    done = subprocess.run(
        [sys.executable, "checker.py", "given.json"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONINTMAXSTRDIGITS": "640"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
