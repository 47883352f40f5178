"""Executable proofs: one module for each statement, each with a way to fail.

A module such as ``proofs_numeric/h1.py`` holds one `claim.Claim`, named ``CLAIM``:

* ``id``, ``words``, ``latex``, ``source``: what is claimed, and where from;
* ``evidence``: the kinds of evidence its check gives;
* ``statement``: *what the theory says*, as an object of a few callables or
  values. These are the library's own functions where it has them: they are
  what is checked;
* ``check(statement, effort)``: yields one `compare.Finding` after another. The
  side it compares with comes from another route and never from the function
  under check;
* ``mutations``: changed statements that say too much. Each must be refuted at
  effort "quick", so the check has to look where the statement is attained.

How to add a claim: write the module, and name it in ``registry.py``. The test
of all claims and ``boundcheck verify`` pick it up from there. In outline::

    @dataclass(frozen=True, slots=True)
    class Statement:
        dimension: Callable[[int, int], int]

    def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
        for D, l in cases(effort):
            yield equal(f"N({D},{l})", stated.dimension(D, l), dimension_by_rank(D, l))

    STATED = Statement(harmonic_dimension)
    CLAIM = Claim(
        id="H1", ..., statement=STATED, check=check,
        mutations=(Mutation("what is wrong with it", replace(STATED, dimension=...)),),
    )

Findings come from `compare`, which never answers with a bare bool:

* `compare.equal`, `compare.at_most`, `compare.at_least`: exact numbers; proved or refuted;
* `compare.balls_agree`: two balls; refuted if they are disjoint, proved if all
  of both lies within 10^-digits of each other, undecided if they are wider;
* `compare.ball_at_most`: proved, refuted, or undecided where the balls overlap;
* `compare.within_sigmas`: a sample mean; consistent or refuted, at 6 standard
  errors, which a true statement passes with probability 1 - 2e-9.

`Claim.run` stops at the first refutation; otherwise the weakest finding is the
verdict of the claim, so that one undecided comparison leaves it undecided, as
does an ``UndecidedError`` of the library. A check that compares nothing is an
error. Checks run at `claim.BITS` binary
digits of ball arithmetic; a function that needs more sets its own with
``boundcheck.balls.working_precision``. Sampling uses fixed seeds. At effort
"quick" a claim has about one second, at "full" about a minute.

Shared routes that a check may compare with: `exact` (polynomials on the sphere
over the rationals, from their moments) and `integrals` (integrals in balls).
Nothing in boundcheck is imported there.
"""
