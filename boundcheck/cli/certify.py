"""``boundcheck certify``: a bound as a file that proves itself, and the check of such a file."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from boundcheck.cli import options
from boundcheck.cli.output import emit, json_text
from boundcheck.errors import InputError


def certify(
    d: Annotated[str | None, typer.Option("--d", help="Embedding dimension, from 3.")] = None,
    r: Annotated[str | None, typer.Option("--r", help="Rank of each head, from 1 to d.")] = None,
    eps: options.Eps = None,
    head_class: options.OneClass = "standard",
    skip: options.Skip = False,
    bound: Annotated[
        str,
        typer.Option(
            "--bound", help="T1 (T1s with --skip): so many heads miss eps; T2 or U1: reach it."
        ),
    ] = "T1",
    check: Annotated[
        str | None, typer.Option("--check", help="Check this certificate; exit 1 if not valid.")
    ] = None,
    as_json: options.Json = False,
    output: options.Output = None,
) -> None:
    """Write a bound as a certificate, or check one; python -m boundcheck.checker does too."""
    if check is not None:
        for name, given in (("d", d), ("r", r), ("eps", eps), ("output", output)):
            if given is not None:
                raise InputError(name, given, "nothing: the certificate to --check has it all")
        _check(check, as_json)
        return
    for name, given in (("d", d), ("r", r), ("eps", eps)):
        if given is None:
            raise InputError(name, "nothing", "a value; or give --check FILE")
    from boundcheck.certificate import certificate_text, lower_certificate, upper_certificate
    from boundcheck.cli.progress import Bar
    from boundcheck.problem import Problem

    if bound not in ("T1", "T2", "U1"):
        raise InputError("bound", bound, "T1 (T1s with --skip), T2 or U1")
    problem = Problem.of(d or "", r or "", eps, head_class=head_class, skip=skip)
    with Bar("degrees") as bar:
        if bound == "T1":
            made = lower_certificate(problem, watch=bar.update)
        else:
            made = upper_certificate(problem, bound, watch=bar.update)
    emit(certificate_text(made), output)
    if output is not None:
        shown = {"statement": made["statement"], "output": output}
        sys.stdout.write(json_text(shown) if as_json else f"{made['statement']}\n")


def _check(path: str, as_json: bool) -> None:
    from boundcheck.checker import MAX_BYTES, check
    from boundcheck.cli import FAILED

    try:
        with open(path, "rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise InputError("check", path, f"a file that can be read ({error})") from error
    valid, statement, reason = check(data)
    if as_json:
        sys.stdout.write(json_text({"valid": valid, "statement": statement, "reason": reason}))
    else:
        sys.stdout.write(f"valid: {statement}\n" if valid else f"not valid: {reason}\n")
    if not valid:
        raise typer.Exit(FAILED)
