"""Measured errors, their predictions and verdicts, through the library and the commands."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from boundcheck.backend import Array
from boundcheck.cli import run
from boundcheck.constructions.full_rank import full_rank_hardmax, full_rank_softmax
from boundcheck.constructions.majority_vote import majority_vote
from boundcheck.evaluation import SIGMAS, beside_bound, evaluation, prediction
from boundcheck.montecarlo import RunningMean, error_estimates, measured_error
from boundcheck.sampling import SampleStream
from boundcheck.values import Enclosure, Statistical
from boundcheck.weights_io import write_network


@given(st.lists(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=20), min_size=1, max_size=8))
def test_running_mean_agrees_with_numpy(chunks: list[list[float]]) -> None:
    running = RunningMean()
    for chunk in chunks:
        running.add(np.asarray(chunk))
    numbers = np.concatenate([np.asarray(chunk) for chunk in chunks])
    assert running.count == len(numbers)
    assert running.mean == pytest.approx(numbers.mean(), abs=1e-9)
    if len(numbers) > 1:
        assert running.variance == pytest.approx(numbers.var(ddof=1), rel=1e-9, abs=1e-7)


def test_zero_output_has_error_one() -> None:
    # No head at all: E|f|^2 = 1 exactly, whatever the sample (section 0).
    found = measured_error(lambda X, y: np.zeros_like(y), SampleStream(0, 8), samples=2000)
    assert found.mean == pytest.approx(1, abs=1e-12)


def test_mean_of_points_has_error_half() -> None:
    found = measured_error(lambda X, y: X.mean(axis=1), SampleStream(1, 8), samples=2000)
    assert found.mean == pytest.approx(0.5, abs=1e-12)


def test_estimates_stop_at_the_precision() -> None:
    network = full_rank_softmax(8, 10.0)
    *_, last = error_estimates(network, SampleStream(3, 8), precision=2e-3)
    assert last.std_error <= 2e-3
    # Another seed gives another sample, the same law.
    other = measured_error(network, SampleStream(4, 8), samples=last.samples)
    assert other.mean != last.mean
    assert abs(other.mean - last.mean) < 6 * math.hypot(other.std_error, last.std_error)


def test_memory_cap_does_not_change_the_estimate() -> None:
    network = majority_vote(8, 2, 15, seed=0)
    stream = SampleStream(0, 8)
    small = measured_error(network, stream, samples=4096, memory_cap=2**20)
    large = measured_error(network, stream, samples=4096)
    assert small.mean == pytest.approx(large.mean, rel=1e-12)


BOUND = Enclosure(Fraction(3, 10), Fraction(3, 10))


@given(st.floats(0, 1), st.floats(1e-4, 0.1))
def test_verdict_beside_a_bound(mean: float, std_error: float) -> None:
    measured = Statistical(mean, std_error, 10**6, 0, 1.0)
    verdict = beside_bound(measured, BOUND)
    if mean + SIGMAS * std_error < 0.3 - 1e-9:
        assert verdict == "violated"
    if mean - SIGMAS * std_error > 0.3 + 1e-9:
        assert verdict == "consistent"
    if abs(mean - 0.3) < SIGMAS * std_error - 1e-9:
        assert verdict == "undecided"


def test_agreeing_samples_are_not_certainty() -> None:
    # A thousand samples of error 0 do not exclude an error of 1/2000.
    measured = Statistical(0.0, 0.0, 1000, 0, 0.0)
    bound = Enclosure(Fraction(1, 2000), Fraction(1, 2000))
    assert beside_bound(measured, bound) == "undecided"


def test_a_false_measurement_is_called_violated() -> None:
    network = full_rank_softmax(8, 10.0)
    # U2 at d=8, beta=10 is .05508.
    wrong = Statistical(0.07, 0.0005, 10**5, 0, 2.0)
    assert evaluation(network, wrong).verdict == "violated"
    right = Statistical(0.0551, 0.0005, 10**5, 0, 2.0)
    assert evaluation(network, right).verdict == "consistent"


def test_a_claimed_statement_that_is_wrong_is_violated() -> None:
    # Heads that call themselves U1 but are a softmax of error .055.
    network = replace(full_rank_softmax(8, 10.0), statement="U1")
    measured = measured_error(network, SampleStream(0, 8), samples=20_000)
    assert evaluation(network, measured).verdict == "violated"


def test_prediction_is_exact_for_rank_one_heads_from_elsewhere() -> None:
    from boundcheck.network import Layer, Network

    # One head sign<q,x> with q = k: error 1/2 [(1-a)^2 + 1 - 2 a b + a^2], b = sum lambda^3 N
    # = E[sign t (2/pi) arcsin t] for <q,k> = 1; in d = 3 that is 1 - 2/pi * ... by quadrature.
    k = np.zeros((1, 3, 1))
    k[0, 0, 0] = 2.0
    network = Network(layers=(Layer(Q=k, K=k, values=np.full(1, 0.5)),), d=3, points=2)
    found = prediction(network)
    t = (np.arange(200_000) + 0.5) / 200_000  # t = |<x,e>| is uniform on [0,1] in d = 3
    b = float(np.mean(2 / np.pi * np.arcsin(t)))
    assert found is not None
    assert found.id == "K1"
    assert found.error.value == pytest.approx(  # type: ignore[union-attr]
        0.5 * (0.25 + 1 - 2 * 0.5 * b + 0.25), abs=1e-6
    )


@pytest.fixture
def heads_file(tmp_path: Path) -> Path:
    path = tmp_path / "heads.npz"
    write_network(path, full_rank_hardmax(8))
    return path


CONSTRUCTIONS = [
    ["full-rank", "--d=8"],
    ["full-rank", "--d=8", "--beta=10"],
    ["full-rank", "--d=8", "--eps=0.05"],
    ["majority-vote", "--d=8", "--heads=15"],
    ["majority-vote", "--d=16", "--r=4", "--heads=31", "--soft"],
    ["random-features", "--d=8", "--heads=64"],
    ["random-features", "--d=8", "--heads=64", "--law=best"],
    ["random-features", "--d=16", "--r=4", "--heads=64", "--dtype=float32"],
    ["planar", "--heads=5"],
]


@pytest.mark.parametrize("arguments", CONSTRUCTIONS, ids=" ".join)
@pytest.mark.parametrize("suffix", ["npz", "safetensors"])
def test_construct_then_evaluate(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, arguments: list[str], suffix: str
) -> None:
    path = str(tmp_path / f"heads.{suffix}")
    assert run(["construct", *arguments, "--seed=5", "-o", path, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert run(["evaluate", path, "--samples=8192", "--seed=1", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["network"] == made["network"]
    error = found["error"]
    assert error.keys() == {"mean", "std_error", "ci_low", "ci_high", "samples", "seed"}
    assert error["ci_low"] <= error["mean"] <= error["ci_high"]
    assert (error["samples"], error["seed"]) == (8192, 1)
    assert found["verdict"] == "consistent"
    predicted = found["predicted"]
    # Means over draws of heads: one draw of 15 to 64 heads strays by a few hundredths.
    tolerance = 6 * error["std_error"] + (1e-4 if predicted["of_these_heads"] else 0.08)
    assert abs(predicted["error"] - error["mean"]) < tolerance
    for bound in found["bounds"]:
        assert bound["error"] <= error["mean"] + 6 * error["std_error"] + 1e-3


def test_the_same_seed_gives_the_same_report(
    capsys: pytest.CaptureFixture[str], heads_file: Path
) -> None:
    outputs = []
    for cap in ("1GiB", "64MiB"):
        assert run(["evaluate", str(heads_file), "--samples=3000", f"--memory-cap={cap}"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert "verdict    consistent" in outputs[0]


def test_interrupt_prints_what_is_known(
    capsys: pytest.CaptureFixture[str], heads_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boundcheck.montecarlo as montecarlo

    whole = montecarlo.error_estimates

    def cut_short(*arguments: object, **options: object) -> Iterator[Statistical]:
        yield next(whole(*arguments, **options))  # type: ignore[arg-type]
        raise KeyboardInterrupt

    monkeypatch.setattr(montecarlo, "error_estimates", cut_short)
    assert run(["evaluate", str(heads_file), "--samples=1000000"]) == 130
    captured = capsys.readouterr()
    assert "8192 samples" in captured.out
    assert captured.err == "boundcheck: interrupted\n"


def test_a_violated_bound_ends_with_exit_1(
    capsys: pytest.CaptureFixture[str], heads_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import boundcheck.targets as targets

    def farthest(X: Array, y: Array) -> Array:
        return targets.nearest_neighbor(X, -y)

    # The heads are right and the target is another: the prediction 0 fails.
    monkeypatch.setattr("boundcheck.montecarlo.nearest_neighbor", farthest)
    assert run(["evaluate", str(heads_file), "--samples=4096"]) == 1
    assert "verdict    violated" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["evaluate", "missing.npz"], "missing.npz"),
        (["evaluate", "HEADS", "--samples=0"], "samples: got '0'"),
        (["evaluate", "HEADS", "--samples=many"], "samples: got 'many'"),
        (["evaluate", "HEADS", "--precision=0"], "precision: got '0'"),
        (["evaluate", "HEADS", "--memory-cap=little"], "memory-cap: got 'little'"),
        (["evaluate", "HEADS", "--memory-cap=10"], "memory-cap: got 10"),
        (["evaluate", "HEADS", "--backend=torch"], "backend: got 'torch'"),
        (["evaluate", "HEADS", "--law=grid"], "law: got 'grid'"),
        (["evaluate", "HEADS", "--seed=-1"], "seed: got '-1'"),
        (["construct", "full-rank", "--d=8", "-o", "x.txt"], "output: got 'x.txt'"),
        (["construct", "full-rank", "--d=1", "-o", "x.npz"], "d: got '1'"),
        (["construct", "full-rank", "--d=8", "--heads=3", "-o", "x.npz"], "heads: got '3'"),
        (["construct", "full-rank", "--d=8", "--beta=0", "-o", "x.npz"], "beta: got '0'"),
        (["construct", "full-rank", "--d=8", "--beta=nan", "-o", "x.npz"], "beta: got 'nan'"),
        (["construct", "full-rank", "--d=8", "--eps=0.7", "-o", "x.npz"], "eps: got"),
        (["construct", "majority-vote", "--d=8", "-o", "x.npz"], "heads: got 'nothing'"),
        (["construct", "majority-vote", "--d=8", "--heads=0", "-o", "x.npz"], "heads: got '0'"),
        (["construct", "majority-vote", "--d=8", "--r=9", "--heads=3", "-o", "x.npz"], "r: got 9"),
        (["construct", "random-features", "--d=8", "--r=2", "--law=best", "--heads=3",
          "-o", "x.npz"], "r: got 2"),
        (["construct", "random-features", "--d=8", "--law=odd", "--heads=3", "-o", "x.npz"],
         "law: got 'odd'"),
        (["construct", "planar", "--d=3", "--heads=3", "-o", "x.npz"], "d: got '3'"),
        (["construct", "spiral", "-o", "x.npz"], "kind: got 'spiral'"),
        (["construct", "full-rank", "--d=8", "--dtype=int", "-o", "x.npz"], "dtype: got 'int'"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    heads_file: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    part: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run([str(heads_file) if a == "HEADS" else a for a in arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert part in captured.err
    assert [path.name for path in tmp_path.iterdir()] == ["heads.npz"]
