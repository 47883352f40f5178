"""The README's shell examples print what it shows, and its picture is there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from boundcheck.cli import run

README = Path(__file__).parents[1] / "README.md"


def shell_examples() -> list[tuple[str, str]]:
    """(command line, expected output) of each ``$`` line in a console block."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", README.read_text(), flags=re.DOTALL):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, expected = part.partition("\n")
            found.append((command, expected))
    return found


def test_there_are_shell_examples() -> None:
    assert shell_examples()


@pytest.mark.parametrize(("command", "expected"), shell_examples())
def test_shell_example(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    expected: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    program, *arguments = shlex.split(command)
    assert program == "boundcheck"
    assert run(arguments) == 0
    assert capsys.readouterr().out.strip() == expected.strip()


def test_commands_named_in_tables_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"^\| `boundcheck (.*?)`", README.read_text(), flags=re.MULTILINE)
    assert commands
    for command in commands:
        assert run(shlex.split(command)) == 0, command
        capsys.readouterr()


def test_the_pictures_are_there() -> None:
    pictures = re.findall(r"!\[[^]]*\]\(([^)]*)\)", README.read_text())
    assert pictures
    for picture in pictures:
        assert (README.parent / picture).stat().st_size > 0
