"""Certificates: a bound as a file that `boundcheck.checker` checks with nothing but Python.

A certificate holds the claim, the lines that say what it means and why it is
true, and for each odd degree the exact numbers that go into the bound, cut to
as many binary digits as the claim needs. Making one shares with checking it
only those lines; here energies follow another recurrence, and 1/pi^2 and
powers come from ball arithmetic.

flint is loaded by the functions that make a certificate.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

from boundcheck.bounds.registry import lower_bound_id
from boundcheck.capacity import Capacity, capacities
from boundcheck.certificate_terms import (
    Certificate,
    Watch,
    degrees,
    excluding_terms,
    reaching_terms,
    unwatched,
)
from boundcheck.checker import ARGUMENT, MAX_DIMENSION, check
from boundcheck.errors import InputError, UndecidedError
from boundcheck.formatting import digits, significant_text
from boundcheck.problem import Problem
from boundcheck.values import Enclosure

#: The rounding of each term is finer than the claim's margin by so many binary digits.
SPARE_BITS = 24


def lower_certificate(problem: Problem, *, watch: Watch = unwatched) -> Certificate:
    """That all head counts below T1's (T1s' with a free A y) miss eps: the largest of them.

    Parameters
    ----------
    problem : Problem
        With eps.
    watch : callable, optional
        Told after every degree how many are done, and None for how many there will be.

    Returns
    -------
    dict
        Ready for JSON, as schemas/certificate-1.json describes it.

    Raises
    ------
    InputError
        If d exceeds the checker's limit, or the bound excludes no count at this eps.
    UndecidedError
        If MAX_TERMS degrees do not prove it.

    Examples
    --------
    >>> lower_certificate(Problem.of(64, 4, "0.1"))["statement"][:62]
    'No layer of 78613 standard heads of rank 4 reaches squared err'
    """
    from boundcheck.bounds.lower import T1, T1s

    _refuse_large(problem)
    bound = T1s() if problem.skip else T1()
    least = bound.heads(problem).heads
    if least is None or least <= 1:
        at_one = bound.error(problem, 1).lo
        if at_one <= 0:
            raise InputError(
                "r", problem.r, f"a smaller rank: here {bound.id} excludes no head count"
            )
        allowed = f"less than {significant_text(at_one, 6, 'down')}, {bound.id}'s error of one head"
        raise InputError("eps", problem.eps_text, allowed)
    return excluding_certificate(problem, least - 1, watch=watch)


def excluding_certificate(problem: Problem, heads: int, *, watch: Watch = unwatched) -> Certificate:
    """That ``heads`` heads miss problem.eps, by T1 or T1s.

    Parameters
    ----------
    problem : Problem
        With eps and d up to the checker's limit.
    heads : int
        From 1 to `lower_certificate`'s count.
    watch : callable, optional
        As for `lower_certificate`.

    Raises
    ------
    UndecidedError
        If MAX_TERMS degrees do not prove it.
    """
    from boundcheck.bounds.lower_balls import error_at

    eps, skip = problem.target_eps, problem.skip
    margin, capacity = max(
        (
            (error_at(c, heads, skip).lo - eps, c)
            for c in capacities(problem.d, problem.r, problem.head_class)
        ),
        key=lambda pair: pair[0],
    )
    bound_id = lower_bound_id(skip)
    if margin <= 0:
        raise UndecidedError(f"{bound_id} is not shown to exclude {digits(heads)} heads")

    def proof(bits: int) -> Certificate | None:
        found = degrees(capacity, bits, "lower", watch)
        return excluding_terms(found, capacity, heads, eps, skip, bits)

    return _checked(_claim(problem, bound_id, heads), proof, margin)


def upper_certificate(problem: Problem, bound_id: str, *, watch: Watch = unwatched) -> Certificate:
    """That the head count of T2 or U1 comes below eps.

    Parameters
    ----------
    problem : Problem
        With eps. U1 is about one head of rank d, whatever the problem's rank.
    bound_id : {"T2", "U1"}
    watch : callable, optional
        As for `lower_certificate`.

    Returns
    -------
    dict
        Ready for JSON, as schemas/certificate-1.json describes it.

    Raises
    ------
    InputError
        If d exceeds the checker's limit, or T2 has no count.
    UndecidedError
        If MAX_TERMS degrees do not prove it.

    Examples
    --------
    >>> print(upper_certificate(Problem.of(64, 4, "0.1"), "U1")["statement"][:61])
    Some layer of 1 standard head of rank 64 has squared error 0,
    """
    from boundcheck.bounds.registry import bound_named

    _refuse_large(problem)
    if bound_id == "U1":
        return _checked(_claim(problem, "U1", 1), lambda bits: {}, Fraction(1))
    if bound_id != "T2":
        raise InputError("bound", bound_id, "T2 or U1")
    bound, eps = bound_named("T2"), problem.target_eps
    count = bound.heads(problem)
    if count.heads is None:
        raise InputError("eps", problem.eps_text, f"an error that T2 reaches: {count.reason}")
    heads = count.heads
    error = bound.error(problem, heads)
    assert isinstance(error, Enclosure)
    margin = eps - error.hi

    def proof(bits: int) -> Certificate | None:
        found = degrees(Capacity(problem.d, problem.r, 1, 0, 0), bits, "upper", watch)
        return reaching_terms(found, problem.r, heads, eps, bits)

    return _checked(_claim(problem, "T2", heads), proof, margin)


def certificate_text(certificate: Certificate) -> str:
    """The certificate as JSON, one line for each field, term and line of the argument."""

    def value(x: object) -> str:
        if not isinstance(x, list):
            return json.dumps(x)
        return "[\n  " + ",\n  ".join(map(json.dumps, x)) + "\n ]"

    fields = (f" {json.dumps(name)}: {value(x)}" for name, x in certificate.items())
    return "{\n" + ",\n".join(fields) + "\n}\n"


def _refuse_large(problem: Problem) -> None:
    if problem.d > MAX_DIMENSION:
        raise InputError("d", problem.d, f"up to {MAX_DIMENSION} for a certificate")


def _claim(problem: Problem, bound_id: str, heads: int) -> Certificate:
    r = problem.d if bound_id == "U1" else problem.r
    eps = f"{digits(problem.target_eps.numerator)}/{digits(problem.target_eps.denominator)}"
    plural = "head" if heads == 1 else "heads"
    layer = f"layer of {digits(heads)} {problem.head_class} {plural} of rank {r}"
    says = {
        "T1": f"No {layer} reaches squared error {eps}",
        "T1s": f"No {layer} plus A y, for any matrix A, reaches squared error {eps}",
        "T2": f"Some {layer} with arbitrary scores has a squared error below {eps}",
        "U1": f"Some {layer} has squared error 0, which is below {eps},",
    }[bound_id]
    return {
        "format": "boundcheck certificate",
        "version": 1,
        "statement": f"{says} on the nearest-neighbour target at d = {problem.d} (N = 2).",
        "bound": bound_id,
        "d": problem.d,
        "r": r,
        "head_class": problem.head_class,
        "skip": bound_id == "T1s",
        "eps": eps,
        "heads": digits(heads),
        "argument": ARGUMENT.splitlines(),
    }


def _checked(
    claim: Certificate, proof: Callable[[int], Certificate | None], margin: Fraction
) -> Certificate:
    """The claim with the proof that needs the fewest of a few precisions and passes the checker."""
    reason = "no margin"
    if margin > 0:
        bits = margin.denominator.bit_length() - margin.numerator.bit_length() + SPARE_BITS
        for extra in (0, 32, 128):
            found = proof(max(bits, 0) + 32 + extra)
            if found is None:
                continue
            certificate = claim | found
            valid, _, reason = check(certificate_text(certificate))
            if valid:
                return certificate
    raise UndecidedError(f"no certificate for {claim['bound']} at eps = {claim['eps']}: {reason}")
