"""Certificates: what is made, its form as JSON, and that four routes give one head count."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import mpmath  # type: ignore[import-untyped]
import pytest
from jsonschema import Draft202012Validator

import boundcheck
from boundcheck.bounds import lower_rational
from boundcheck.bounds.lower import T1, T1s
from boundcheck.bounds.registry import bound_named
from boundcheck.capacity import Capacity, capacities
from boundcheck.certificate import (
    _claim,
    certificate_text,
    excluding_certificate,
    lower_certificate,
    upper_certificate,
)
from boundcheck.checker import check
from boundcheck.cli import run
from boundcheck.errors import InputError, UndecidedError
from boundcheck.formatting import enclosure_json
from boundcheck.problem import HEAD_CLASSES, Problem, exact_fraction
from boundcheck.values import Enclosure


@cache
def schema() -> Draft202012Validator:
    path = Path(boundcheck.__file__).parent / "schemas" / "certificate-1.json"
    found: dict[str, Any] = json.loads(path.read_text())
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


def checked(certificate: dict[str, Any]) -> str:
    """The statement of a certificate that is valid, also after a round trip through JSON."""
    text = certificate_text(certificate)
    assert json.loads(text) == certificate
    schema().validate(certificate)
    valid, statement, _ = check(text)
    assert valid
    assert statement == certificate["statement"]
    return statement


def dyadic(text: str) -> Fraction:
    """p/2^n as a fraction, by another reader than the checker's."""
    above, power = text.split("/2^")
    return Fraction(int(Decimal(above)), 2 ** int(power))


# --- lower bounds ---------------------------------------------------------

# THEORY's counts H_min; the certificate is about one head fewer.
COUNTS = {
    (64, 4, "1/10"): (191901, 78614, 57374),
    (64, 1, "1/10"): (23219957, 7739986, 5804990),
    (16, 1, "1/20"): (19350668, 6450223, 4837667),
}


@pytest.mark.parametrize("question", COUNTS)
def test_theory_counts(question: tuple[int, int, str]) -> None:
    for head_class, least in zip(HEAD_CLASSES, COUNTS[question], strict=True):
        made = lower_certificate(Problem.of(*question, head_class=head_class))
        assert int(made["heads"]) == least - 1
        checked(made)


def test_statement_in_words() -> None:
    assert checked(lower_certificate(Problem.of(64, 4, "0.05"))) == (
        "No layer of 377421625486514 standard heads of rank 4 reaches squared error 1/20 "
        "on the nearest-neighbour target at d = 64 (N = 2)."
    )
    assert checked(lower_certificate(Problem.of(3, 1, "0.2", head_class="scalar"))).startswith(
        "No layer of 2 scalar heads of rank 1 reaches squared error 1/5 on "
    )
    assert checked(lower_certificate(Problem.of(3, 1, "0.3", head_class="scalar"))).startswith(
        "No layer of 1 scalar head of rank 1 reaches "
    )
    assert "plus A y, for any matrix A, reaches" in checked(
        lower_certificate(Problem.of(8, 1, "0.1", skip=True))
    )


@pytest.mark.parametrize("d", [3, 4, 7, 16, 65, 200, 1023, 1024])
@pytest.mark.parametrize("r", [1, 2, 5])
@pytest.mark.parametrize("eps", ["2/5", "0.17", "1/20"])
def test_round_trips(d: int, r: int, eps: str) -> None:
    if r >= d - 1:
        return
    for head_class in HEAD_CLASSES:
        for skip in (False, True):
            problem = Problem.of(d, r, eps, head_class=head_class, skip=skip)
            least = (T1s() if skip else T1()).heads(problem).heads
            assert least is not None
            if least == 1:
                with pytest.raises(InputError, match=r"eps: .* allowed: less than 0"):
                    lower_certificate(problem)
                continue
            made = lower_certificate(problem)
            assert made["heads"] == str(Decimal(least - 1))
            checked(made)
            # The terms alone, added up here in another way, prove the claim.
            taken = sum(dyadic(term["taken"]) for term in made["terms"])
            assert (1 - taken) / 2 == dyadic(made["error"]) > problem.target_eps


def test_heads_of_many_digits() -> None:
    made = lower_certificate(Problem.of(16_383, 1, "1/40"))
    assert len(made["heads"]) > 200
    checked(made)


def test_smaller_counts_have_certificates_too() -> None:
    problem = Problem.of(16, 2, "1/10")
    for heads in (1, 2, 100, int(lower_certificate(problem)["heads"])):
        assert checked(excluding_certificate(problem, heads)).startswith(f"No layer of {heads} ")


def test_no_certificate_where_nothing_is_excluded() -> None:
    with pytest.raises(InputError, match=r"eps: got '0.45', allowed: less than 0\.332"):
        lower_certificate(Problem.of(16, 4, "0.45"))
    with pytest.raises(InputError, match="r: got 8, allowed: a smaller rank"):
        lower_certificate(Problem.of(8, 8, "0.1"))
    with pytest.raises(InputError, match="d: got 20000, allowed: up to 16384"):
        lower_certificate(Problem.of(20_000, 1, "0.1"))
    problem = Problem.of(16, 2, "1/10")
    heads = int(lower_certificate(problem)["heads"])
    with pytest.raises(UndecidedError, match="not shown to exclude"):
        excluding_certificate(problem, heads + 1)


def test_progress_is_told() -> None:
    told: list[int] = []
    made = lower_certificate(Problem.of(8, 3, "0.01"), watch=lambda done, _: told.append(done))
    assert told == list(range(1, len(made["terms"])))


# --- upper bounds ---------------------------------------------------------


@pytest.mark.parametrize(
    ("d", "r", "eps"),
    [(3, 1, "1/5"), (3, 2, "1/10"), (3, 3, "1/10"), (8, 1, "0.03"), (6, 5, "0.01"), (12, 4, "1/9"),
     (64, 4, "1/10"), (64, 1, "1/10"), (64, 64, "1/10"), (1024, 700, "1/20"), (20, 19, "0.3")],
)  # fmt: skip
def test_t2(d: int, r: int, eps: str) -> None:
    for head_class in HEAD_CLASSES:
        problem = Problem.of(d, r, eps, head_class=head_class)
        made = upper_certificate(problem, "T2")
        heads = bound_named("T2").heads(problem).heads
        assert int(made["heads"]) == heads
        assert f"of {heads} {head_class} head" in checked(made)
        assert "with arbitrary scores has a squared error below" in made["statement"]
        taken = sum(dyadic(term["taken"]) for term in made["terms"])
        assert (1 - taken) / 2 == dyadic(made["error"]) < problem.target_eps


def test_t2_needs_one_head_more_than_t1_excludes_for_scalar_heads() -> None:
    # T2: for r = 1 the scalar bound is exact.
    for d, eps in ((3, "0.1"), (8, "0.05"), (64, "0.1")):
        problem = Problem.of(d, 1, eps, head_class="scalar")
        lower, upper = lower_certificate(problem), upper_certificate(problem, "T2")
        assert int(upper["heads"]) == int(lower["heads"]) + 1


@pytest.mark.parametrize("head_class", HEAD_CLASSES)
def test_u1(head_class: str) -> None:
    made = upper_certificate(Problem.of(64, 4, "1/10", head_class=head_class), "U1")
    assert checked(made) == (
        f"Some layer of 1 {head_class} head of rank 64 has squared error 0, which is below 1/10, "
        "on the nearest-neighbour target at d = 64 (N = 2)."
    )


def test_only_t2_and_u1_are_upper_certificates() -> None:
    with pytest.raises(InputError, match="bound: got 'U3', allowed: T2 or U1"):
        upper_certificate(Problem.of(8, 1, "0.1"), "U3")


# --- the form -------------------------------------------------------------


def test_schema_refuses_other_forms() -> None:
    problem = Problem.of(8, 1, "1/10")
    files = [lower_certificate(problem), *(upper_certificate(problem, b) for b in ("T2", "U1"))]
    for file in files:
        assert schema().is_valid(file)
        for name in file:
            assert not schema().is_valid({k: v for k, v in file.items() if k != name})
            values: tuple[object, ...] = (None, 1.5, [], {}, "", -1)
            for value in values:
                assert not schema().is_valid(file | {name: value})
        assert not schema().is_valid(file | {"remark": ""})
        for bound in {"T1", "T2", "U1"} - {file["bound"]}:
            assert not schema().is_valid(file | {"bound": bound})
        assert not schema().is_valid(file | {"skip": True})
    for term in ({"energy": "1/3"}, {"degree": "1"}, {"dimension": 8}, {"remark": ""}):
        first = files[0]["terms"][0] | term
        assert not schema().is_valid(files[0] | {"terms": [first, *files[0]["terms"][1:]]})


def random_fractions(seed: int) -> Iterator[Fraction]:
    rng = random.Random(seed)
    while True:
        size = rng.choice((1, 8, 60, 600, 20_000))
        sign = rng.choice((1, 1, -1))
        yield Fraction(sign * rng.getrandbits(size), rng.getrandbits(rng.choice((1, 60, size))) + 1)


def test_thousand_enclosures_survive_json() -> None:
    """As fractions in full they come back exactly; as short decimals they only widen once."""
    numbers = random_fractions(seed=0)
    for _ in range(1000):
        x = Enclosure(*sorted((next(numbers), next(numbers))))
        ends = (x.lo, x.hi)
        sent = json.dumps([f"{Decimal(e.numerator)}/{Decimal(e.denominator)}" for e in ends])
        assert Enclosure(*(exact_fraction(e, "end", "") for e in json.loads(sent))) == x
        short = json.loads(json.dumps(enclosure_json(x)))
        again = Enclosure(*(exact_fraction(e, "end", "") for e in short))
        assert again.lo <= x.lo <= x.hi <= again.hi
        assert enclosure_json(again) == short


# --- four routes to one head count ----------------------------------------


MP = mpmath.MPContext()
MP.dps = 60


def coefficient_at_60_digits(D: int, l: int) -> Any:
    """|lambda_l| = 2 c_D (1/2)_k / ((D-1) ((D+1)/2)_k), k = (l-1)/2: H2 at tau = 0."""
    k, half = (l - 1) // 2, MP.mpf(1) / 2
    c = MP.gamma(D * half) / (MP.sqrt(MP.pi) * MP.gamma((D - 1) * half))
    return 2 * c / (D - 1) * MP.rf(half, k) / MP.rf((D + 1) * half, k)


@cache
def ridge_sum_at_60_digits(D: int, r: int, i: int) -> Any:
    """The sum of lambda_l^2 m_r(l-i) over l = 5, 7, ...: a hypergeometric series at 1."""
    half, q = MP.mpf(1) / 2, 5 - i
    above = [5 * half, 5 * half, (r + q) * half, (r + q + 1) * half, 1]
    below = [(5 + D) * half, (5 + D) * half, (q + 1) * half, (q + 2) * half]
    first = coefficient_at_60_digits(D, 5) ** 2 * MP.binomial(r + q - 1, q)
    return first * MP.hyper(above, below, 1)


def bound_at_60_digits(capacity: Capacity, heads: int, skip: bool) -> Any:
    """T1 at H heads: degrees that are taken in full one by one, all others by their sum."""
    D, r, abc = capacity.D, capacity.r, (capacity.now, capacity.before, capacity.before2)
    if r >= D or (r == D - 1 and heads * capacity.now >= 2):
        return MP.mpf(0)  # every degree is taken in full
    rest = sum(a * ridge_sum_at_60_digits(D, r, i) for i, a in enumerate(abc) if a)
    taken = MP.mpf(0)
    for l in count(1, 2):
        square = coefficient_at_60_digits(D, l) ** 2
        N = MP.binomial(D + l - 2, l) + MP.binomial(D + l - 3, l - 1)
        m = sum(a * MP.binomial(r + l - i - 1, l - i) for i, a in enumerate(abc) if l >= i)
        if l > 3 and heads * m < N:
            return (1 - taken - heads * rest) / 2
        taken += square * (N if skip and l == 1 else min(N, heads * m))
        rest -= square * m if l > 3 else 0
    raise AssertionError


def agree(problem: Problem) -> bool:
    """Whether four routes give one head count; False where it is 1 and says nothing."""
    options = capacities(problem.d, problem.r, problem.head_class)
    eps, skip = problem.target_eps, problem.skip
    least = (T1s() if skip else T1()).heads(problem).heads
    assert least is not None

    # Exact rationals: other energies, bisection on the bound itself.
    found = [lower_rational.least_heads(c, eps, skip) for c in options]
    assert all(one.sharp for one in found)
    assert max(one.heads or 0 for one in found) == least

    # mpmath at 60 digits, where H - 1 and H have to be far enough from eps to tell.
    goal, noise = MP.mpf(eps.numerator) / eps.denominator, MP.mpf(10) ** -30
    at_least = max(bound_at_60_digits(c, least, skip) for c in options)
    assert at_least <= goal - noise or at_least == 0

    # The checker: right terms for one head fewer reach eps, for this many they do not.
    bound = (T1s() if skip else T1()).error(problem, least).lo
    if bound > 0:
        made = excluding_certificate(replace(problem, eps=bound * (1 - Fraction(1, 10**6))), least)
        assert check(certificate_text(made))[0]
        claim = certificate_text(made | _claim(problem, made["bound"], least))
        assert check(claim)[2].startswith("eps")
    if least == 1:
        return False
    assert max(bound_at_60_digits(c, least - 1, skip) for c in options) > goal + noise
    made = lower_certificate(problem)
    assert int(made["heads"]) == least - 1
    assert check(certificate_text(made))[0]
    return True


def random_problems(number: int, seed: int) -> Iterator[Problem]:
    rng = random.Random(seed)
    for _ in range(number):
        d = rng.randint(3, 24)
        r = rng.randint(1, d - 1 if rng.random() < 0.2 else min(d - 1, 6))
        eps = Fraction(rng.randint(20, 490), 1000)
        head_class = rng.choice(HEAD_CLASSES)
        yield Problem.of(d, r, eps, head_class=head_class, skip=rng.random() < 0.3)


def test_four_routes_agree() -> None:
    assert sum(agree(problem) for problem in random_problems(10, seed=2)) >= 5


@pytest.mark.slow
def test_four_routes_agree_on_five_hundred_problems() -> None:
    assert sum(agree(problem) for problem in random_problems(500, seed=0)) >= 250


# --- the command ----------------------------------------------------------


def test_command_writes_and_checks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(tmp_path / "cert.json")
    question = ["certify", "--d=64", "--r=4", "--eps=0.05", "--head-class=standard"]
    assert run([*question, "-o", path]) == 0
    statement = lower_certificate(Problem.of(64, 4, "0.05"))["statement"]
    assert capsys.readouterr() == (f"{statement}\n", f"wrote {path}\n")
    assert run(["certify", "--check", path]) == 0
    assert capsys.readouterr() == (f"valid: {statement}\n", "")
    assert run(["certify", "--check", path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found.keys() == {"valid", "statement", "reason"}
    assert (found["valid"], found["statement"]) == (True, statement)

    assert run([*question, "-o", path, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"statement": statement, "output": path}
    assert run(question) == 0
    assert capsys.readouterr().out == Path(path).read_text()

    Path(path).write_text(Path(path).read_text().replace("377421625486514", "377421625486515"))
    assert run(["certify", "--check", path, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert (found["valid"], found["statement"]) == (False, "")
    assert found["reason"]
    assert run(["certify", "--check", path]) == 1
    assert capsys.readouterr().out.startswith("not valid: ")


@pytest.mark.parametrize(
    ("options", "bound"),
    [([], "T1"), (["--skip"], "T1s"), (["--bound=T2"], "T2"), (["--bound=U1"], "U1"),
     (["--bound=T2", "--skip"], "T2"), (["--head-class=generalized"], "T1")],
)  # fmt: skip
def test_command_makes_every_kind(
    options: list[str], bound: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["certify", "--d=8", "--r=2", "--eps=1/10", *options]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["bound"] == bound
    checked(made)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--d=8", "--r=2"], "eps: got 'nothing'"),
        (["--r=2", "--eps=0.1"], "d: got 'nothing'"),
        (["--d=8", "--r=2", "--eps=0.5"], "eps: got '0.5'"),
        (["--d=8", "--r=2", "--eps=0.45"], "eps: got '0.45', allowed: less than 0."),
        (["--d=8", "--r=2", "--eps=0.1", "--bound=T3"], "bound: got 'T3'"),
        (["--d=8", "--r=2", "--eps=0.1", "--head-class=all"], "head-class: got 'all'"),
        (["--d=99999", "--r=2", "--eps=0.1"], "d: got 99999, allowed: up to 16384"),
        (["--d=8", "--r=8", "--eps=0.1"], "r: got 8, allowed: a smaller rank"),
        (["--check", "no-such-file.json"], "check: got 'no-such-file.json'"),
        (["--check", "."], "check: got '.'"),
        (["--check", "a.json", "--d=8"], "d: got '8', allowed: nothing"),
    ],
)
def test_command_refuses_in_one_line(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["certify", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"boundcheck: {says}")
    assert captured.err.count("\n") == 1
