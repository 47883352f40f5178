"""The command line: parse, call the library, print."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import typer

from boundcheck.cli import (
    attack,
    backend,
    bounds,
    certify,
    constants,
    construct,
    evaluate,
    explain,
    formula,
    plot,
    table,
    verify,
)
from boundcheck.errors import InputError, UndecidedError

DONE, FAILED, BAD_INPUT, UNDECIDED, INTERRUPTED = 0, 1, 2, 3, 130

app = typer.Typer(
    help="How many attention heads of rank r does it take? Certified bounds, checked numerically.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
app.command("plot")(plot.plot)
app.command("bounds")(bounds.bounds)
app.command("table")(table.table)
app.command("constants")(constants.constants)
app.command("construct")(construct.construct)
app.command("evaluate")(evaluate.evaluate)
app.command("attack")(attack.attack)
app.command("backend")(backend.backend)
app.command("verify")(verify.verify)
app.command("formula")(formula.formula)
app.command("explain")(explain.explain)
app.command("certify")(certify.certify)


@app.callback()
def _options(
    version: bool = typer.Option(False, "--version", is_eager=True, help="Print the version."),
) -> None:
    if version:
        from importlib.metadata import version as installed

        typer.echo(installed("boundcheck"))
        raise typer.Exit


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 done, 1 a check failed, 2 bad input, 3 undecided, 130 interrupted.
    """
    try:
        _refuse_repeated(sys.argv[1:] if arguments is None else arguments)
        # An explicit typer.Exit comes back as its code, a finished command as None.
        code = app(args=arguments, standalone_mode=False, prog_name="boundcheck")
        sys.stdout.flush()
        if code == INTERRUPTED:
            _complain("interrupted")
        return code if isinstance(code, int) else DONE
    except typer.TyperException as error:
        # No arguments at all: the help has been printed.
        message = " ".join(error.format_message().split())
        if "unexpected extra argument" in message:
            message += "; a list is written with commas and no spaces, as in 16,32,64"
        _complain(message or "no command given; see boundcheck --help")
        return BAD_INPUT
    except InputError as error:
        _complain(str(error))
        return BAD_INPUT
    except UndecidedError as error:
        _complain(f"undecided: {error}")
        return UNDECIDED
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has closed its end, as `| head` does; stdout must not complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except ImportError as error:
        _complain(f"{error.name or error}: cannot be imported here, and this command needs it")
        return BAD_INPUT
    except OSError as error:
        # Such as a full disk in the middle of a write.
        _complain(f"output: {error}")
        return BAD_INPUT


def _refuse_repeated(arguments: Sequence[str]) -> None:
    # The parser keeps the last of several; the others would be dropped in silence.
    seen: dict[str, str] = {}
    for i, argument in enumerate(arguments):
        name, sign, value = argument.partition("=")
        name = "--output" if name == "-o" else name
        if argument == "--" or not name.startswith("--"):
            continue
        value = value if sign else next(iter(arguments[i + 1 : i + 2]), "")
        if name in seen:
            parameter = name.removeprefix("--")
            raise InputError(parameter, f"{seen[name]} and {value}", "one value, given once")
        seen[name] = value


def _complain(message: str) -> None:
    print(f"boundcheck: {message}", file=sys.stderr)


def main() -> None:
    """Entry point of the ``boundcheck`` program."""
    # A stream that was closed before the start is None: what would go there is dropped.
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
    sys.exit(run())
