"""Every claim holds, and every mutation of it is refuted."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest
from flint import arb, ctx

import proofs_numeric
from boundcheck.balls import working_precision
from boundcheck.errors import InputError, UndecidedError
from proofs_numeric.claim import BITS, Claim, Effort, Mutation, Source
from proofs_numeric.compare import (
    Finding,
    Verdict,
    at_least,
    at_most,
    ball_at_most,
    balls_agree,
    equal,
    weakest,
    within_sigmas,
)
from proofs_numeric.registry import MODULES, all_claims, claim_named

CLAIMS = all_claims()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claim_holds(claim: Claim[Any]) -> None:
    outcome = claim.run("quick")
    allowed = (Verdict.PROVED, Verdict.CONSISTENT)
    assert outcome.verdict in allowed, outcome.detail
    # "consistent" is what samples show; anything else is a proof.
    assert (outcome.verdict is Verdict.CONSISTENT) == ("statistical" in claim.evidence)
    assert outcome.comparisons > 1


@pytest.mark.parametrize(
    ("claim", "mutation"),
    [
        pytest.param(claim, mutation, id=f"{claim.id}-{mutation.words}")
        for claim in CLAIMS
        for mutation in claim.mutations
    ],
)
def test_mutation_is_refuted(claim: Claim[Any], mutation: Mutation[Any]) -> None:
    outcome = claim.run("quick", mutation.statement)
    assert outcome.verdict is Verdict.REFUTED
    assert outcome.detail


@pytest.mark.slow
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claim_holds_in_full(claim: Claim[Any]) -> None:
    outcome = claim.run("full")
    assert outcome.verdict in (Verdict.PROVED, Verdict.CONSISTENT), outcome.detail
    assert outcome.comparisons >= claim.run("quick").comparisons


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_claim_is_documented(claim: Claim[Any]) -> None:
    assert claim.mutations
    assert claim.evidence
    assert claim.source.where
    assert len(claim.words) < 100
    assert claim.latex.count("{") == claim.latex.count("}") > 0
    assert len({mutation.words for mutation in claim.mutations}) == len(claim.mutations)
    module = import_module(f"proofs_numeric.{claim.id.lower()}")
    assert (module.__doc__ or "").startswith(f"{claim.id}: ")


def test_every_module_with_a_claim_is_registered() -> None:
    with_claims = {
        module.name
        for module in pkgutil.iter_modules(proofs_numeric.__path__)
        if hasattr(import_module(f"proofs_numeric.{module.name}"), "CLAIM")
    }
    assert with_claims == set(MODULES)
    assert [claim.id.lower() for claim in CLAIMS] == list(MODULES)


def test_harmonic_analysis_is_proved_whole() -> None:
    # The ids of the theory's sections 1 and 2, and of the two kernels that section 4 uses.
    ids = {"H1", "H2", "H3", "H4", "H5", "H6", "H7", "L1", "L2", "L3", "K1", "K2"}
    assert ids <= {claim.id for claim in CLAIMS}


def test_unknown_claim_lists_the_ids() -> None:
    with pytest.raises(InputError, match="claim: got 'H99', allowed: H1"):
        claim_named("H99")


# The comparisons themselves.


def test_a_verdict_is_no_truth_value() -> None:
    with pytest.raises(TypeError, match="no yes or no"):
        bool(Verdict.PROVED)


def test_weakest_verdict() -> None:
    assert weakest([Verdict.UNDECIDED, Verdict.PROVED]) is Verdict.UNDECIDED
    assert weakest([Verdict.UNDECIDED, Verdict.REFUTED]) is Verdict.REFUTED
    with pytest.raises(ValueError, match="compares nothing"):
        weakest([])


def test_exact_comparisons() -> None:
    assert equal("x", Fraction(1, 3), Fraction(2, 6)).verdict is Verdict.PROVED
    assert equal("x", Fraction(1, 3), Fraction(1, 4)).verdict is Verdict.REFUTED
    assert at_most("x", 3, 3).verdict is at_least("x", 3, 3).verdict is Verdict.PROVED
    assert at_most("x", 4, 3).verdict is at_least("x", 3, 4).verdict is Verdict.REFUTED
    for inexact in (0.5, arb(1) / 2):
        with pytest.raises(TypeError, match="not exact"):
            equal("x", inexact, Fraction(1, 2))


@pytest.mark.parametrize(
    ("stated", "found", "verdict"),
    [
        (arb(1), arb(1, 1e-13), Verdict.PROVED),
        (arb(1), arb(1, 1e-11), Verdict.UNDECIDED),
        (arb(1, 1e-11), arb(1), Verdict.UNDECIDED),
        (arb(1), arb(2, 0.5), Verdict.REFUTED),
        (arb(1), arb(1 + 2**-40), Verdict.REFUTED),
        # Relative to a small value, absolute next to zero.
        (arb(1e-9), arb(1e-9, 1e-13), Verdict.UNDECIDED),
        (arb(0), arb(0, 1e-13), Verdict.PROVED),
        (arb(1), arb(1, float("inf")), Verdict.UNDECIDED),
    ],
)
def test_balls_agree(stated: arb, found: arb, verdict: Verdict) -> None:
    assert balls_agree("x", stated, found, 12).verdict is verdict


def test_ball_at_most() -> None:
    assert ball_at_most("x", arb(1, 0.1), arb(2)).verdict is Verdict.PROVED
    assert ball_at_most("x", arb(1, 0.1), arb(1)).verdict is Verdict.UNDECIDED
    assert ball_at_most("x", arb(2), arb(1, 0.1)).verdict is Verdict.REFUTED


def test_within_sigmas() -> None:
    assert within_sigmas("x", 0.0, 5.9, 1.0).verdict is Verdict.CONSISTENT
    assert within_sigmas("x", 0.0, 6.1, 1.0).verdict is Verdict.REFUTED
    assert within_sigmas("x", 0.0, 0.0, 0.0).verdict is Verdict.UNDECIDED
    assert within_sigmas("x", 0.0, float("nan"), 1.0).verdict is Verdict.REFUTED


# Running a claim.


def claim_of(*findings: Finding) -> Claim[None]:
    """A claim whose check yields these findings."""

    def check(stated: None, effort: Effort) -> Iterator[Finding]:
        yield from findings

    return Claim("X1", "x", "{x}", Source("explicit", "x"), ("exact rank",), None, check, ())


PROVED, OPEN, WRONG = (
    Finding(Verdict.PROVED, "proved"),
    Finding(Verdict.UNDECIDED, "open"),
    Finding(Verdict.REFUTED, "wrong"),
)


def test_a_run_reports_the_weakest_finding() -> None:
    outcome = claim_of(PROVED, OPEN, PROVED).run()
    assert (outcome.verdict, outcome.detail, outcome.comparisons) == (Verdict.UNDECIDED, "open", 3)
    outcome = claim_of(PROVED).run()
    assert (outcome.verdict, outcome.detail) == (Verdict.PROVED, None)


def test_a_run_stops_at_the_first_refutation() -> None:
    outcome = claim_of(OPEN, WRONG, PROVED).run()
    assert (outcome.verdict, outcome.detail, outcome.comparisons) == (Verdict.REFUTED, "wrong", 2)


def test_an_open_computation_leaves_the_claim_undecided() -> None:
    def check(stated: None, effort: Effort) -> Iterator[Finding]:
        yield PROVED
        raise UndecidedError("too close")

    outcome = replace(claim_of(), check=check).run()
    assert (outcome.verdict, outcome.detail) == (Verdict.UNDECIDED, "too close")


def test_a_claim_that_compares_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="compares nothing"):
        claim_of().run()


def test_a_run_works_at_its_own_precision_and_puts_it_back() -> None:
    seen = []

    def check(stated: None, effort: Effort) -> Iterator[Finding]:
        seen.append(ctx.prec)
        yield WRONG

    with working_precision(77):
        replace(claim_of(), check=check).run()
        assert ctx.prec == 77
    assert seen == [BITS]
