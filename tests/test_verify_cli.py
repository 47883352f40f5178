"""``boundcheck verify`` with claims made for the purpose: rows, JSON, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from boundcheck.cli import run
from proofs_numeric import registry
from proofs_numeric.claim import Claim, Effort, Source
from proofs_numeric.compare import Finding, Verdict


def claim_that(claim_id: str, verdict: Verdict) -> Claim[None]:
    def check(stated: None, effort: Effort) -> Iterator[Finding]:
        yield Finding(verdict, f"compared at effort {effort}")

    return Claim(
        claim_id,
        f"words of {claim_id}",
        "{x}",
        Source("explicit", "here"),
        ("exact rank",),
        None,
        check,
        (),
    )


def interrupted_claim() -> Claim[None]:
    def check(stated: None, effort: Effort) -> Iterator[Finding]:
        raise KeyboardInterrupt
        yield

    return Claim("X9", "x", "{x}", Source("explicit", "x"), ("exact rank",), None, check, ())


PROVED = claim_that("X1", Verdict.PROVED)
CONSISTENT = claim_that("X2", Verdict.CONSISTENT)
OPEN = claim_that("X3", Verdict.UNDECIDED)
WRONG = claim_that("X4", Verdict.REFUTED)

Install = Callable[..., None]


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put claims in the place of the registry's."""

    def install(*claims: Claim[None]) -> None:
        by_module = {claim.id.lower(): claim for claim in claims}
        monkeypatch.setattr(registry, "MODULES", tuple(by_module))
        monkeypatch.setattr(registry, "_claim", by_module.__getitem__)

    return install


@pytest.mark.parametrize(
    ("claims", "code"),
    [
        ([PROVED, CONSISTENT], 0),
        ([PROVED, OPEN], 3),
        ([PROVED, WRONG], 1),
        ([WRONG, OPEN], 1),
        ([PROVED, interrupted_claim()], 130),
    ],
)
@pytest.mark.parametrize("form", ["rows", "json"])
def test_exit_codes(installed: Install, claims: list[Claim[None]], code: int, form: str) -> None:
    installed(*claims)
    assert run(["verify", *(["--json"] if form == "json" else [])]) == code


def test_rows(installed: Install, capsys: pytest.CaptureFixture[str]) -> None:
    installed(PROVED, OPEN, WRONG)
    run(["verify"])
    captured = capsys.readouterr()
    rows = captured.out.splitlines()
    assert [row.split()[:2] for row in rows[:3]] == [
        ["X1", "proved"],
        ["X3", "undecided"],
        ["X4", "refuted"],
    ]
    assert rows[3] == "X3 undecided: compared at effort quick"
    assert rows[4] == "X4 refuted: compared at effort quick"
    assert rows[5].startswith("1 proved, 1 undecided, 1 refuted: 3 comparisons in ")
    assert captured.err == ""


def test_json(installed: Install, capsys: pytest.CaptureFixture[str]) -> None:
    installed(PROVED, WRONG)
    run(["verify", "--full", "--json"])
    captured = capsys.readouterr()
    found = json.loads(captured.out)["claims"]
    assert [(row["id"], row["evidence"], row["verdict"]) for row in found] == [
        ("X1", "exact rank", "proved"),
        ("X4", "exact rank", "refuted"),
    ]
    assert all(row["seconds"] >= 0 for row in found)
    assert found[0]["detail"] is None
    assert found[1]["detail"] == "compared at effort full"
    assert captured.err == ""


def test_chosen_claims_run_once(installed: Install, capsys: pytest.CaptureFixture[str]) -> None:
    installed(PROVED, CONSISTENT, WRONG)
    assert run(["verify", "x2", "X1", "X2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["claims"]
    assert [row["id"] for row in found] == ["X2", "X1"]


def test_unknown_claim_is_refused_before_anything_runs(
    installed: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    installed(PROVED, WRONG)
    assert run(["verify", "X1", "X7"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "boundcheck: claim: got 'X7', allowed: X1, X4\n"


def test_list_runs_nothing(installed: Install, capsys: pytest.CaptureFixture[str]) -> None:
    installed(PROVED, interrupted_claim())
    assert run(["verify", "--list"]) == 0
    assert [row.split()[0] for row in capsys.readouterr().out.splitlines()] == ["X1", "X9"]
    assert run(["verify", "--list", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["claims"]
    assert [(row["id"], row["statement"]) for row in found] == [("X1", "words of X1"), ("X9", "x")]


@pytest.mark.parametrize("form", ["rows", "json"])
def test_interrupt_prints_what_is_known(
    installed: Install, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    installed(PROVED, interrupted_claim(), OPEN)
    assert run(["verify", *(["--json"] if form == "json" else [])]) == 130
    captured = capsys.readouterr()
    if form == "json":
        assert [row["id"] for row in json.loads(captured.out)["claims"]] == ["X1"]
    else:
        assert captured.out.splitlines()[0].startswith("X1 ")
        assert "2 not finished" in captured.out


def test_live_table_on_a_terminal(
    installed: Install, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    installed(PROVED, WRONG)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "120")
    assert run(["verify"]) == 1
    out = capsys.readouterr().out
    assert "words of X1" in out
    assert "refuted" in out


def test_start_up_does_not_load_the_proofs() -> None:
    code = (
        "import sys, boundcheck.cli\n"
        "boundcheck.cli.run(['--help'])\n"
        "print([m for m in ('proofs_numeric', 'rich.live') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "[]"


@pytest.mark.slow
def test_verify_works_from_an_installed_wheel(tmp_path: Path) -> None:
    root = Path(__file__).parents[1]
    pip: list[str | Path] = [sys.executable, "-m", "pip", "-q"]
    subprocess.run([*pip, "wheel", "--no-deps", "-w", tmp_path, root], check=True)
    (wheel,) = tmp_path.glob("boundcheck-*.whl")
    venv = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin" / "python"
    subprocess.run([*pip, "--python", python, "install", "--no-deps", wheel], check=True)
    # The dependencies come from this environment; a path in a .pth file brings
    # no editable install with it.
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    code = "import boundcheck, proofs_numeric; print(boundcheck.__file__, proofs_numeric.__file__)"
    found = subprocess.run(
        [python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert all(path.startswith(str(site)) for path in found.stdout.split())
    verify: list[str | Path] = [venv / "bin" / "boundcheck", "verify", "--json"]
    out = subprocess.run(verify, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert {row["verdict"] for row in json.loads(out.stdout)["claims"]} <= {"proved", "consistent"}
