"""Numbers put into each formula, against the library's certified values.

The formulas are evaluated by sympy and mpmath from their own definitions (Gamma functions,
binomials, quadrature); the library's values come from recurrences in balls or from its
own quadrature. Infinite sums are cut, and what is cut off is bounded by the formulas
themselves: energies above a degree add up to 1 less those below (H4).
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import mpmath  # type: ignore[import-untyped]
import numpy as np
import pytest
import sympy as sp

from boundcheck import formula_symbols as sym
from boundcheck.balls import enclosure, working_precision
from boundcheck.bounds.arbitrary_scores import arbitrary_scores_error_infimum
from boundcheck.bounds.closed_form import closed_form_heads_lower_bound
from boundcheck.bounds.full_rank import (
    U1,
    full_rank_softmax_error,
    sufficient_inverse_temperature,
)
from boundcheck.bounds.haar_heads import advantage_moments, haar_heads_error
from boundcheck.bounds.lower import T1, T1s
from boundcheck.bounds.majority_vote import (
    majority_vote_error,
    majority_vote_error_upper_bound,
    majority_vote_error_upper_bound_closed_form,
    soft_vote_error,
)
from boundcheck.bounds.published import T5a, T5b
from boundcheck.bounds.zonal_measure import zonal_measure
from boundcheck.capacity import capacities, ridge_dimension
from boundcheck.cli import run
from boundcheck.constructions.rank_one_error import target_correlation
from boundcheck.formula_printing import plain_text
from boundcheck.formulas import FORMULA_IDS, Formula, formulas_of
from boundcheck.harmonics import energy, energy_series, harmonic_dimension, sign_coefficient
from boundcheck.legendre import step_coefficient
from boundcheck.problem import HEAD_CLASSES, Problem
from boundcheck.statements import STATEMENT_IDS, claim_of, statement_named
from boundcheck.voting import right_vote_probability
from proofs_numeric.registry import all_claims

#: Digits of the evaluation.
DIGITS = 40


def formula(statement: str, label: str = "") -> Formula:
    (found,) = (one for one in formulas_of(statement) if one.label == label)
    return found


@cache
def written_out(expression: Any) -> Any:
    return sym.written_out(expression)


def put_in(expression: Any, **values: float | Fraction) -> Any:
    """The expression with numbers for its symbols, named functions written out."""
    expression = written_out(expression)
    symbols = {symbol.name: symbol for symbol in expression.free_symbols}
    # A part of a formula need not have all of its symbols.
    given = {symbols[name]: sp.Rational(x) for name, x in values.items() if name in symbols}
    return expression.subs(given)


def number(expression: Any, **values: float | Fraction) -> Any:
    """Its value as an mpmath number, integrals by mpmath; infinite sums have to be cut before."""
    expression = put_in(expression, **values).replace(sp.Sum, added_up)
    assert not expression.free_symbols, expression
    integrals = (one for one in expression.atoms(sp.Integral) if not one.free_symbols)
    return mpmath.mpf(
        sp.N(expression.xreplace({one: integrated(one) for one in integrals}), DIGITS)._mpf_
    )


def integrated(integral: Any) -> Any:
    """The value of an integral without free symbols; inner integrals may depend on its own."""
    ((variable, low, high),) = integral.limits
    with mpmath.workdps(20):
        value = mpmath.quad(sp.lambdify(variable, integral.function, "mpmath"), [low, high])
    return sp.Float(value, DIGITS)


def added_up(summand: Any, limits: Any) -> Any:
    """A finite sum, term by term."""
    index, low, high = limits
    return sp.Add(*(summand.subs(index, i) for i in range(int(low), int(high) + 1)))


@pytest.fixture(autouse=True)
def digits() -> Iterator[None]:
    with mpmath.workdps(DIGITS):
        yield


def cut(expression: Any, terms: int) -> Any:
    """The expression with so many first terms in place of each infinite sum."""

    def shortened(summand: Any, limits: Any) -> Any:
        index, low, high = limits
        return sp.Sum(summand, (index, low, low + terms - 1 if high == sp.oo else high))

    return expression.replace(sp.Sum, shortened)


def energy_from(D: int, k: int) -> Any:
    """E_{2k+1} + E_{2k+3} + ..."""
    return number(formula("H4").expression, D=D, j=k)


def close(value: Any, expected: Any, tolerance: float) -> bool:
    return bool(abs(value - expected) <= tolerance * max(1e-300, abs(expected)))


def fraction(x: Fraction) -> Any:
    return mpmath.mpf(x.numerator) / x.denominator


def check_h1() -> None:
    for D, l in ((3, 0), (3, 1), (5, 4), (64, 21)):
        for label in ("difference", "product"):
            value = put_in(formula("H1", label).expression, D=D, l=l)
            assert value == harmonic_dimension(D, l)


def check_h2() -> None:
    for D, l, tau in ((3, 2, Fraction(1, 3)), (8, 5, Fraction(-1, 4))):
        with working_precision(160):
            expected = enclosure(step_coefficient(D, l, tau))
        value = number(formula("H2").expression, D=D, l=l, tau=tau)
        assert close(value, fraction(expected.lo), 1e-30)


def check_h3() -> None:
    for D, l in ((3, 1), (4, 3), (7, 9), (64, 5)):
        value = put_in(formula("H3", "coefficient").expression, D=D, l=l)
        exact = sign_coefficient(D, l)
        expected = sp.Rational(exact.coefficient) * sp.pi**exact.power
        assert sp.simplify(value - expected) == 0
        exact = energy(D, l)
        expected = sp.Rational(exact.coefficient) * sp.pi**exact.power
        assert sp.simplify(put_in(formula("H3", "energy").expression, D=D, l=l) - expected) == 0


def check_h4() -> None:
    series = energy_series(8, 160)
    series.extend(10)
    for k in (0, 1, 7):
        assert close(energy_from(8, k), fraction(enclosure(series.tails[k]).lo), 1e-30)


def check_h6() -> None:
    for l in (1, 3, 9):
        found = number(formula("H6").expression, l=l)
        assert close(found, float(energy(10**5, l)), 1e-3)


def check_l1() -> None:
    for r, l in ((1, 5), (4, 3), (16, 0)):
        assert put_in(formula("L1").expression, r=r, l=l) == ridge_dimension(r, l)


def check_l2() -> None:
    labels = {
        "scalar": ("scalar",),
        "standard": ("standard",),
        "generalized": ("generalized, D = d-1", "generalized, D = d"),
    }
    for head_class in HEAD_CLASSES:
        for r, l in ((1, 1), (1, 3), (4, 1), (4, 5)):
            found = [put_in(formula("L2", one).expression, r=r, l=l) for one in labels[head_class]]
            assert found == [share(l) for share in capacities(16, r, head_class)]


def check_k1() -> None:
    assert close(number(formula("K1").expression, s=Fraction(1, 2)), 1 / mpmath.mpf(3), 1e-30)


def check_k2() -> None:
    for d, s in ((8, 0.3), (16, -0.75)):
        expected = target_correlation(d, np.array([s]))[0]
        assert close(number(cut(formula("K2").expression, 20), d=d, s=s), expected, 1e-8)


#: Labels of T1's conditions by class, and D - d.
CONDITIONS = {
    "scalar": (("scalar", 0),),
    "standard": (("standard", 0),),
    "generalized": (("generalized, D = d-1", -1), ("generalized, D = d", 0)),
}


def lower_bound_between(
    statement: str, label: str, shift: int, d: int, r: int, heads: int, terms: int
) -> tuple[Any, Any]:
    """Where a sum of E_l max(0, 1 - H m/N) / 2 lies: the first degrees and the others' energy.

    There m/N falls, so the others keep at least the part of the first of them.
    """
    degree, D = 2 * terms + 1, d + shift
    found = number(cut(formula(statement, label).expression, terms), d=d, r=r, H=heads)
    skipped = 1 if statement == "T1s" else 0
    m = put_in(formula("L2", label).expression, r=r, l=degree + 2 * skipped)
    N = put_in(formula("H1", "product").expression, D=D, l=degree + 2 * skipped)
    rest = energy_from(D, terms + skipped) / 2
    least = rest * max(0, 1 - mpmath.mpf(heads * int(m)) / int(N))
    return found + least, found + rest


def check_lower(
    statement: str, bound: T1, skip: bool, cases: Sequence[tuple[int, int, int, int]]
) -> None:
    for d, r, heads, terms in cases:
        for head_class, conditions in CONDITIONS.items():
            exact = bound.error(Problem.of(d, r, head_class=head_class, skip=skip), heads)
            between = [
                lower_bound_between(statement, label, shift, d, r, heads, terms)
                for label, shift in conditions
            ]
            low, high = (max(ends) for ends in zip(*between, strict=True))
            assert low <= fraction(exact.hi) + mpmath.mpf(10) ** -25
            assert fraction(exact.lo) <= high + mpmath.mpf(10) ** -25
            assert high - low < 1e-6


def check_t1() -> None:
    check_lower("T1", T1(), False, ((16, 4, 1, 12), (64, 4, 78614, 6)))
    # The least heads: the largest over j of (T_j - 2 eps)/S_j, rounded up.
    d, r, eps = 64, 4, Fraction(1, 10)
    (counts,) = (one for one in formulas_of("T1") if one.quantity == "H")
    largest = mpmath.mpf(0)
    for first in range(6):
        # Later degrees add less than 10^-6 of a head to S_j.
        taken = cut(counts.expression, 12)
        missing = energy_from(d, first + 12)
        numerator, denominator = sp.fraction(sp.together(taken.subs(sym.j, first)))
        value = (number(numerator, d=d, r=r, epsilon=eps) + missing) / number(denominator, d=d, r=r)
        largest = max(largest, value)
    assert math.ceil(largest) == T1().heads(Problem.of(d, r, eps)).heads == 78614


def check_t1s() -> None:
    check_lower("T1s", T1s(), True, ((8, 1, 1, 12),))


def check_t2() -> None:
    # r = 1 is T1's sum for scalar heads.
    terms = 40
    for d, heads in ((4, 2), (8, 5)):
        exact = arbitrary_scores_error_infimum(d, 1, heads)
        found = number(cut(formula("T2", "r = 1").expression, terms), d=d, H=heads)
        rest = energy_from(d, terms) / 2
        N = harmonic_dimension(d, 2 * terms + 1)
        assert found + rest * (1 - mpmath.mpf(heads) / N) <= fraction(exact.hi)
        assert fraction(exact.lo) <= found + rest
    for d, r, heads in ((16, 4, 10), (8, 2, 3)):
        exact = arbitrary_scores_error_infimum(d, r, heads)
        found = number(cut(formula("T2", "r > 1").expression, terms), d=d, r=r, H=heads)
        rest = energy_from(d, terms) / 2
        share = mpmath.mpf(ridge_dimension(r, 2 * terms + 1)) / harmonic_dimension(d, 2 * terms + 1)
        assert found + rest * (1 - share) ** heads <= fraction(exact.hi)
        assert fraction(exact.lo) <= found + rest


def check_t5() -> None:
    problem = Problem.of(64, 4, "0.1")
    found = closed_form_heads_lower_bound(problem)
    degree = int((found.reason or "").rsplit(" ", 1)[1])
    expression = formula("T5", "closed form, standard").expression.subs(sym.l, degree)
    tail = energy_from(64, degree // 2)
    expression = expression.replace(sp.Sum, lambda *_: sp.Float(tail, DIGITS))
    value = number(expression, d=64, r=4, epsilon=Fraction(1, 10))
    assert math.ceil(value) == found.heads


def check_t5a() -> None:
    value = number(formula("T5a", "heads").expression, d=64, r=4, C=1)
    assert round(value) == T5a().heads(Problem.of(64, 4, "0.01")).heads
    assert number(formula("T5a", "regime").expression, d=64, c=1) == mpmath.mpf(1) / 65


def check_t5b() -> None:
    value = number(formula("T5b").expression, d=64, r=4, C=1, C_0=1, epsilon=Fraction(1, 6))
    assert math.floor(value) == T5b().heads(Problem.of(64, 4, "1/6")).heads


def check_u1() -> None:
    exact = U1().error(Problem.of(8, 8), 1)
    assert formula("U1").expression == exact.lo == exact.hi == 0


def check_u2() -> None:
    d, beta = 8, 10.0
    exact = full_rank_softmax_error(d, beta)
    assert close(number(formula("U2", "V = I").expression, d=d, beta=beta), exact.value, 1e-12)
    exact = full_rank_softmax_error(d, beta, best_value=True)
    found = number(formula("U2", "best V = a I").expression, d=d, beta=beta)
    assert close(found, exact.value, 1e-12)
    enough = number(formula("U2", "enough for epsilon").expression, d=d, epsilon=Fraction(1, 10))
    stated = fraction(sufficient_inverse_temperature(d, Fraction(1, 10)))
    assert enough <= stated <= enough * (1 + 2**-38)


def check_u3() -> None:
    d, node, weight, terms = 8, 0.75, 4.25, 40
    exact = zonal_measure(d, [node], [weight])
    atom = cut(formula("U3").expression, terms).replace(
        sym.moment, lambda l: sp.Rational(weight) * sym.P(d, l, sp.Rational(node))
    )
    for heads in (1, 1024):
        value = number(atom, d=d, A=weight, H=heads)
        # Later degrees add their energies times (1 - lambda c)^2, |lambda c| <= a.
        a = abs(float(sign_coefficient(d, 2 * terms + 1))) * weight
        rest = energy_from(d, terms) / 2
        error = exact.error(heads)
        assert value + rest * (1 - a) ** 2 - rest * a * a <= fraction(error.hi)
        assert fraction(error.lo) <= value + rest * (1 + a) ** 2


def rank_one(expression: Any) -> Any:
    """p_1(t) = 1/2 + arcsin(t)/pi put in for p_r, so that no double integral is left."""
    half = sp.Rational(1, 2)
    for _ in range(3):
        for one in sym.definitions():
            if one.function in (sym.mean_advantage, sym.mean_square, sym.advantage):
                expression = expression.replace(one.function, lambda *_, one=one: one.expression)
    return expression.replace(sym.right, lambda d, r, t: half + sp.asin(t) / sp.pi)


def check_u3r() -> None:
    for d in (3, 8):
        moments = advantage_moments(d, 1)
        for function, expected in (
            (sym.mean_advantage, moments.b),
            (sym.mean_square, moments.m),
        ):
            assert close(number(rank_one(function(sym.d, sym.r)), d=d), expected, 1e-12)
    found = number(rank_one(formula("U3r").expression), d=64, H=1024)
    assert close(found, haar_heads_error(64, 1, 1024).value, 1e-12)


def test_right_vote_probability() -> None:
    # The definition of p_r as it stands: a double integral.
    d, r, t = 6, 2, 0.3
    (definition,) = (one for one in sym.definitions() if one.function == sym.right)
    value = number(definition.expression, d=d, r=r, t=t)
    expected = right_vote_probability(d, r, np.array([t]))[0]
    assert close(value, expected, 1e-6)


def check_u4() -> None:
    found = number(rank_one(formula("U4", "odd H").expression), d=8, H=15)
    assert close(found, majority_vote_error(8, 1, 15).value, 1e-12)
    found = number(rank_one(formula("U4", "Hoeffding").expression), d=8, H=15)
    assert close(found, majority_vote_error_upper_bound(8, 1, 15).value, 1e-12)
    found = number(formula("U4", "leading term, r = 1").expression, d=8, H=10**10)
    assert close(found, majority_vote_error(8, 1, 10**10).value, 1e-8)


def check_u4b() -> None:
    exact = majority_vote_error_upper_bound_closed_form(8, 15)
    assert close(number(formula("U4b").expression, d=8, H=15), fraction(exact.lo), 1e-15)


def check_u4s() -> None:
    found = number(rank_one(formula("U4s").expression), d=8, H=5, b=0.125)
    assert close(found, soft_vote_error(8, 1, 5, 0.125).value, 1e-12)


CHECKS: dict[str, Callable[[], None]] = {
    name.removeprefix("check_").upper(): value
    for name, value in list(globals().items())
    if name.startswith("check_") and name != "check_lower"
}


@pytest.mark.parametrize("statement", FORMULA_IDS)
def test_numbers_in_the_formula_give_the_certified_value(statement: str) -> None:
    CHECKS[statement.upper()]()


def test_every_formula_is_checked() -> None:
    assert set(CHECKS) == {statement.upper() for statement in FORMULA_IDS}


@pytest.mark.parametrize("statement", FORMULA_IDS)
def test_texts(statement: str) -> None:
    for one in formulas_of(statement):
        latex = one.latex()
        assert latex.count("{") == latex.count("}")
        assert latex.count(r"\left") == latex.count(r"\right")
        expanded = one.expanded()
        assert not any(
            expanded.has(definition.function) for definition in sym.definitions_used(one.expression)
        )
        # Given the names of its symbols, sympy reads the expanded text back.
        names = {symbol.name for symbol in expanded.free_symbols}
        read = sp.sympify(plain_text(expanded), locals={name: sp.Symbol(name) for name in names})
        assert {symbol.name for symbol in read.free_symbols} == names


# The command line.


def test_formula_prints_every_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formula", "t2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("T2: r = 1")
    assert lines[1].startswith("error = Sum(E(d, 2*k + 1)*Max(0, 1 - H/N(d, 2*k + 1))")
    assert "where" in lines
    assert "N(D, l) = (D + 2*l - 2)*binomial(D + l - 2, l)/(D + l - 2)" in lines


def test_formula_in_latex(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formula", "T1", "--latex"]) == 0
    out = capsys.readouterr().out
    assert r"\mathbb{E}\|f-g\|^2 \ge \frac{1}{2} \sum_{k=0}^{\infty} E_{2 k + 1}(d)" in out
    # Comments start with %, so that the whole output can be put into a paper.
    assert all(line.startswith(("%", "\\", "H", "N", "E", "m")) for line in out.splitlines())


def test_expanded_formula_has_no_named_functions(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formula", "T1", "--expand"]) == 0
    out = capsys.readouterr().out
    assert "where" not in out
    assert "binomial(" in out
    assert "N(" not in out


def test_formula_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["formula", "U4b", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    (one,) = found["formulas"]
    assert found["id"] == "U4b"
    assert one["relation"] == "<="
    assert one["expression"] == "2*hyper((1/2,), (d/2,), -2*H/pi**2)"


@pytest.mark.parametrize("command", ["formula", "explain"])
def test_unknown_statement(capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert run([command, "Z9"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "T1s" in captured.err


@pytest.mark.parametrize("statement", STATEMENT_IDS)
def test_explain(capsys: pytest.CaptureFixture[str], statement: str) -> None:
    assert run(["explain", statement, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["origin"] in ("published", "explicit", "classical")
    assert facts["source"]
    assert facts["checked"]
    claim = claim_of(statement_named(statement))
    if claim is None:
        assert facts["evidence"] == []
    else:
        assert facts["evidence"] == list(claim.evidence)
        assert f"boundcheck verify {claim.id}" in facts["commands"]
    assert run(["explain", statement]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"{statement}: ")
    assert f"\n  origin    {facts['origin']}" in out


def test_a_published_form_is_not_presented_as_explicit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["explain", "T5a"]) == 0
    out = capsys.readouterr().out
    assert "  origin    published\n" in out
    assert "explicit" not in out


def test_every_claim_and_formula_is_explained() -> None:
    assert {claim.id for claim in all_claims()} <= set(STATEMENT_IDS)
    assert set(FORMULA_IDS) <= set(STATEMENT_IDS)


def test_start_up_does_not_load_sympy() -> None:
    code = (
        "import sys, boundcheck, boundcheck.formulas, boundcheck.cli\n"
        "boundcheck.cli.run(['--help'])\n"
        "boundcheck.cli.run(['explain', 'T1'])\n"
        "print('sympy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "False"
