"""Whole processes, and the table of a thousand cells, timed against a bare interpreter.

Run with ``pytest tests/benchmarks --benchmark-enable``. Nothing here asserts a time;
``extra_info`` has the ratio to the start of Python alone in the same run.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pytest_benchmark.fixture import BenchmarkFixture

from boundcheck.bounds.registry import bound_named
from boundcheck.problem import Problem
from boundcheck.table_report import table_cells

COMMANDS = {
    "help": ["--help"],
    "bounds": ["bounds", "--d=64", "--r=4", "--eps=0.1"],
    "plot": ["plot", "--d=64", "--r=4", "-o", "heads.png"],
}


def seconds(arguments: list[str], folder: Path) -> float:
    """Wall time of one process."""
    start = time.perf_counter()
    subprocess.run(arguments, cwd=folder, check=True, capture_output=True)
    return time.perf_counter() - start


@pytest.mark.parametrize("name", COMMANDS)
def test_process(benchmark: BenchmarkFixture, tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-m", "boundcheck", *COMMANDS[name]]
    benchmark(seconds, command, tmp_path)
    bare = min(seconds([sys.executable, "-c", "pass"], tmp_path) for _ in range(5))
    if benchmark.stats is not None:
        benchmark.extra_info["times a bare interpreter"] = benchmark.stats["median"] / bare
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
    benchmark.extra_info["peak MiB of any child so far"] = peak


def test_table_of_a_thousand_cells(benchmark: BenchmarkFixture) -> None:
    problems = [
        Problem.of(d, r, eps)
        for d in range(16, 160, 15)
        for r in range(1, 11)
        for eps in ("0.3", "0.2", "0.15", "0.1", "0.08", "0.06", "0.05", "0.04", "0.03", "0.02")
    ]
    cells = benchmark.pedantic(  # type: ignore[no-untyped-call]
        table_cells, args=(problems, [bound_named("T1")]), rounds=1, iterations=1
    )
    assert len(cells) == 1000
    assert all(cell.count.heads for cell in cells)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system has no /proc")
def test_plot_takes_little_memory(tmp_path: Path) -> None:
    # A limit in bytes is no limit in time: it holds on every machine.
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from boundcheck.cli import run\n"
        "assert run(['plot', '--d=64', '--r=4', '-o', 'heads.png']) == 0\n"
        # Not getrusage: its peak holds that of the process that forked this one.
        "status = Path('/proc/self/status').read_text()\n"
        "print(int(status.split('VmHWM:')[1].split()[0]) // 1024, file=sys.stderr)"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert int(out.stderr.split()[-1]) < 250
