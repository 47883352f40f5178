"""What the attack reports: errors that sampling confirms, optima that are known, refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from boundcheck.cli import run

#: THEORY's T2 infima at rank 1.
INFIMA = {(3, 1): 0.36338, (3, 2): 0.22676, (3, 3): 0.09014, (4, 1): 0.40529}


def attacked(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert run(["attack", "--r=1", "--seed=0", "--json", *arguments]) == 0
    found: dict[str, object] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("d", "heads", "head_class"),
    [
        (2, 3, "standard"),
        (2, 5, "standard"),
        (3, 2, "standard"),
        (3, 4, "scalar"),
        (2, 4, "scalar"),
    ],
)
def test_the_reported_error_is_the_sampled_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, d: int, heads: int, head_class: str
) -> None:
    # Sampling knows nothing of the formulas that the attack minimises.
    path = str(tmp_path / "best.npz")
    question = [f"--d={d}", f"--heads={heads}", f"--head-class={head_class}"]
    found = attacked(capsys, *question, "--starts=3", "--budget=20s", "-o", path)
    assert run(["evaluate", path, "--samples=60000", "--json"]) == 0
    error = json.loads(capsys.readouterr().out)["error"]
    best = found["best_error"]
    assert isinstance(best, float)
    assert abs(best - error["mean"]) < 6 * error["std_error"] + 1e-4


@pytest.mark.parametrize(("d", "heads"), INFIMA)
@pytest.mark.parametrize(("head_class", "above"), [("scalar", 1e-4), ("standard", 0.03)])
def test_arbitrary_scores_come_close_to_t2(
    capsys: pytest.CaptureFixture[str], d: int, heads: int, head_class: str, above: float
) -> None:
    found = attacked(
        capsys, f"--d={d}", f"--heads={heads}", "--scores=arbitrary", f"--head-class={head_class}",
        "--starts=3", "--budget=20s",
    )  # fmt: skip
    best = found["best_error"]
    assert isinstance(best, float)
    assert best < INFIMA[d, heads] * (1 + above)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--d=5", "--r=1", "--heads=0"], "heads: got '0'"),
        (["--d=5", "--r=6", "--heads=2"], "r: got 6"),
        (["--d=5", "--r=1", "--heads=2", "--budget=0"], "budget: got '0'"),
        (["--d=5", "--r=1", "--heads=2", "--head-class=big"], "got 'big'"),
        (["--d=5", "--r=1", "--heads=2", "--scores=odd"], "scores: got 'odd'"),
        (["--d=5", "--r=1", "--heads=2", "-o", "no/such/best.npz"], "output: got"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], part: str
) -> None:
    assert run(["attack", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert part in captured.err
