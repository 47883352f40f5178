"""The command line as a user meets it: output, exit codes, one-line refusals."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest

from boundcheck.cli import run

# THEORY's head counts for T1: the numbers in print, not computed here.
PUBLISHED_HEADS = {
    ("64", "4", "0.1"): {"scalar": 191901, "standard": 78614, "generalized": 57374},
    ("64", "1", "0.1"): {"scalar": 23219957, "standard": 7739986, "generalized": 5804990},
    ("16", "1", "0.05"): {"scalar": 19350668, "standard": 6450223, "generalized": 4837667},
}


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Standard output of a command that succeeds and says nothing on standard error."""
    assert run(arguments) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """The one line with which a command is refused."""
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("question", PUBLISHED_HEADS)
def test_bounds_json_has_the_theory_counts(
    capsys: pytest.CaptureFixture[str], question: tuple[str, str, str]
) -> None:
    d, r, eps = question
    out = json.loads(answer(capsys, "bounds", "--d", d, "--r", r, "--eps", eps, "--json"))
    assert out["problem"] == {
        "d": int(d), "r": int(r), "eps": eps, "points": 2, "target": "nearest-neighbor",
        "skip": False,
    }  # fmt: skip
    found = {row["head_class"]: row["heads"] for row in out["bounds"] if row["id"] == "T1"}
    assert found == PUBLISHED_HEADS[question]
    for row in out["bounds"]:
        assert row.keys() >= {
            "id", "name", "direction", "kind", "head_class", "depth", "heads", "parameters",
            "error",
        }  # fmt: skip
        if row["heads"] is None:
            assert row["reason"]


def test_every_bound_is_listed_with_its_kind(capsys: pytest.CaptureFixture[str]) -> None:
    out = json.loads(answer(capsys, "bounds", "--d=64", "--r=4", "--eps=0.1", "--json"))
    kinds = {(row["id"], row["direction"], row["kind"]) for row in out["bounds"]}
    assert kinds >= {
        ("T1", "lower", "certified"),
        ("T5b", "lower", "published"),
        ("U1", "upper", "certified"),
        ("U2", "upper", "numeric"),
        ("T2", "upper", "certified"),
        ("U3", "upper", "certified"),
        ("U3r", "upper", "numeric"),
        ("U4", "upper", "numeric"),
        ("U4s", "upper", "numeric"),
    }


def test_error_of_given_heads(capsys: pytest.CaptureFixture[str]) -> None:
    out = json.loads(answer(capsys, "bounds", "--d=16", "--r=4", "--heads=1", "--json"))
    found = {row["head_class"]: row for row in out["bounds"] if row["id"] == "T1"}
    # THEORY, to the nearest; the printed float is the lower end.
    for head_class, error in (("scalar", 0.416364), ("standard", 0.332401),
                              ("generalized", 0.297449)):  # fmt: skip
        assert found[head_class]["error"] == pytest.approx(error, abs=6e-7)
        low, high = map(Fraction, found[head_class]["error_enclosure"])
        # The float is the lower end, rounded down once more.
        assert 0 <= low - Fraction(found[head_class]["error"]) < Fraction(1, 2**53)
        assert low <= high


def test_explanation_adds_up(capsys: pytest.CaptureFixture[str]) -> None:
    out = json.loads(
        answer(capsys, "bounds", "--d=64", "--r=4", "--eps=0.1", "--explain", "--json")
    )
    parts = out["explanation"]
    shares = sum(float(row["share"][0]) for row in parts["degrees"]) + float(parts["beyond"][0])
    assert parts["heads"] == 78613
    assert shares == pytest.approx(float(parts["total"][0]), rel=1e-12)
    assert float(parts["total"][0]) > 0.1


@pytest.mark.parametrize("form", ["text", "markdown", "latex", "csv", "html", "json"])
def test_bounds_formats(capsys: pytest.CaptureFixture[str], form: str) -> None:
    out = answer(capsys, "bounds", "--d=64", "--r=4", "--eps=0.1", f"--format={form}")
    assert "78614" in out.replace("{,}", "").replace(",", "").replace(" ", "") or form == "csv"
    if form == "csv":
        rows = list(csv.DictReader(io.StringIO(out)))
        assert {row["heads"] for row in rows if row["id"] == "T1"} == {"191901", "78614", "57374"}


def test_skip_gives_t1s_below_t1(capsys: pytest.CaptureFixture[str]) -> None:
    with_skip = json.loads(
        answer(capsys, "bounds", "--d=64", "--r=4", "--eps=0.05", "--skip", "--json")
    )
    assert {row["id"] for row in with_skip["bounds"] if row["kind"] == "certified"} >= {"T1s"}
    assert "T1" not in {row["id"] for row in with_skip["bounds"]}


def test_table_json_and_csv_hold_every_digit(capsys: pytest.CaptureFixture[str]) -> None:
    grid = ["table", "--d=16,64", "--r=1,4", "--eps=0.1,1/20,0.01"]
    rows = json.loads(answer(capsys, *grid, "--format=json"))["rows"]
    table = list(csv.DictReader(io.StringIO(answer(capsys, *grid, "--format=csv"))))
    assert len(rows) == len(table) == 12
    for row, line in zip(rows, table, strict=True):
        assert str(row["heads"]) == line["heads"]
        assert isinstance(row["heads"], str) == (int(line["heads"]) > 2**53)
        assert (row["id"], row["head_class"], row["kind"]) == ("T1", "standard", "certified")
    assert {row["eps"] for row in rows} == {"0.1", "1/20", "0.01"}


def test_table_latex_is_a_booktabs_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = answer(capsys, "table", "--d=64", "--r=1,4", "--eps=0.1,0.01", "--format=latex")
    assert r"\toprule" in out
    assert r"\bottomrule" in out
    assert r"78{,}614" in out
    assert r" \times 10^{" in out


def test_output_goes_to_a_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    target = tmp_path / "t.csv"
    assert run(["table", "--d=64", "--r=4", "--eps=0.1", "--format=csv", "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text().endswith(",78614\n")


BAD_VALUES = [
    (["--d=64", "--r=4", "--eps=0"], "eps", "'0'"),
    (["--d=64", "--r=4", "--eps=-0.1"], "eps", "'-0.1'"),
    (["--d=64", "--r=4", "--eps=0.5"], "eps", "mean of the two points"),
    (["--d=64", "--r=4", "--eps=1/2"], "eps", "mean of the two points"),
    (["--d=64", "--r=4", "--eps=nan"], "eps", "'nan'"),
    (["--d=64", "--r=4", "--eps=inf"], "eps", "'inf'"),
    (["--d=64", "--r=4", "--eps=1/0"], "eps", "'1/0'"),
    (["--d=64", "--r=0", "--eps=0.1"], "r", "1 to d = 64"),
    (["--d=64", "--r=65", "--eps=0.1"], "r", "1 to d = 64"),
    (["--d=2", "--r=1", "--eps=0.1"], "d", "3 to"),
    (["--d=sixty", "--r=1", "--eps=0.1"], "d", "'sixty'"),
    (["--d=6.5", "--r=1", "--eps=0.1"], "d", "'6.5'"),
]


@pytest.mark.parametrize(("options", "parameter", "part"), BAD_VALUES)
@pytest.mark.parametrize("command", ["bounds", "table", "plot"])
def test_bad_values_are_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    options: list[str],
    parameter: str,
    part: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    sweep = ["--against=d"] if command == "plot" else []
    line = refusal(capsys, command, *options, *sweep)
    assert line.startswith(f"boundcheck: {parameter}: got ")
    assert part in line
    assert "allowed: " in line
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["bounds", "--d=64", "--r=4", "--eps", "0,1"], "0,1"),
        (["bounds", "--d=64", "--r=4", "--heads=-1"], "heads: got '-1'"),
        (["bounds", "--d=64", "--r=4", "--heads=1.5"], "heads: got '1.5'"),
        (["bounds", "--d=64", "--r=4"], "eps, heads: got 'neither'"),
        (["bounds", "--d=64", "--r=4", "--eps=0.1", "--heads=3"], "eps, heads: got 'both'"),
        (["bounds", "--d=64", "--r=4", "--eps=0.1", "--head-class=big"], "head-class: got 'big'"),
        (["bounds", "--d=64", "--r=4", "--eps=0.1", "--format=docx"], "format: got 'docx'"),
        (["bounds", "--d=64", "--r=4", "--eps=0.1", "-o", "no/such/folder.txt"], "output: got"),
        (["bounds", "--d", "64", "128", "--r=4", "--eps=0.1"], "128"),
        (["bounds", "--r=4", "--eps=0.1"], "--d"),
        (["table", "--d=16,,64", "--r=4", "--eps=0.1"], "d: got '16,,64'"),
        (["table", "--d=16", "--r=4", "--eps=0.1", "--bound=T9"], "bound: got 'T9'"),
        (["plot", "--d", "64", "128", "--r=4"], "128"),
        (["plot", "--d=64", "--r=4", "-o", "figure.docx"], "output: got 'figure.docx'"),
        (["plot", "--d=64", "--r=4", "-o", "no/such/figure.png"], "output: got"),
        (["plot", "--d=64", "--r=4", "--against=heads"], "against: got 'heads'"),
        (["plot", "--d=64", "--r=4", "--eps=0.1"], "eps: got '0.1'"),
        (["plot", "--d=64", "--r=4", "--eps=0.4,0.1"], "eps"),
        (["plot", "--d=64", "--r=4", "--width=wide"], "width: got 'wide'"),
        (["plot", "--d=64", "--r=4", "--width=1e9"], "width: got '1e9'"),
        (["constants", "--d=8", "--r=9", "--eps=0.1"], "r: got 9"),
        (["table", "--d=16", "--r=1", "--eps=0.1", "--bound=T1", "--skip"], "bound: got 'T1'"),
        (["table", "--d=16", "--r=1", "--eps=0.1", "--bound=T1s"], "bound: got 'T1s'"),
        (["table", "--d=16", "--r=1", "--eps", "0.1", "--eps=0.2"], "eps: got '0.1 and 0.2'"),
        (["plot", "--d=16", "--r=1", "-o", "a.png", "--output=b.png"], "output: got 'a.png and"),
        (["draw"], "draw"),
    ],
)
def test_other_bad_input_is_refused_in_one_line(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    part: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert part in refusal(capsys, *arguments)
    assert not list(tmp_path.iterdir())


def test_high_rank_is_answered_with_a_remark(capsys: pytest.CaptureFixture[str]) -> None:
    out = answer(capsys, "bounds", "--d=16", "--r=15", "--eps=0.1")
    assert "almost no bound" in out


def test_counts_of_thousands_of_digits(capsys: pytest.CaptureFixture[str]) -> None:
    limit = sys.get_int_max_str_digits()
    question = ["--d=8192", "--r=2", "--eps=0.003"]
    out = json.loads(answer(capsys, "table", *question, "--json"))
    assert len(out["rows"][0]["heads"]) > 1500
    text = answer(capsys, "table", *question)
    assert "10^" in text
    assert sys.get_int_max_str_digits() == limit


@pytest.mark.parametrize("suffix", ["png", "pdf", "svg"])
def test_plot_says_where_the_figure_is(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, suffix: str
) -> None:
    target = tmp_path / f"heads.{suffix}"
    out = answer(capsys, "plot", "--d=16", "--r=2", "-o", str(target))
    assert out == f"wrote {target}\n"
    assert [path.name for path in tmp_path.iterdir()] == [target.name]


def test_plot_json_holds_the_drawn_counts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    target = str(tmp_path / "heads.png")
    out = json.loads(
        answer(capsys, "plot", "--d=16", "--r=4", "--against=r", "--json", "-o", target)
    )
    excluded = {c["head_class"]: c for c in out["curves"] if c["role"] == "excluded"}
    table = json.loads(answer(capsys, "table", "--d=16", "--r=4", "--eps=0.1", "--json"))
    least = table["rows"][0]["heads"]
    standard = excluded["standard"]
    assert standard["heads"][standard["r"].index("4")] == least


def test_start_up_imports_nothing_heavy() -> None:
    heavy = ("numpy", "scipy", "sympy", "matplotlib", "cupy", "flint", "mpmath")
    code = (
        "import sys, boundcheck, boundcheck.cli\n"
        "boundcheck.cli.run(['--help'])\n"
        f"print([m for m in {heavy} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "[]"


def test_a_closed_pipe_is_no_error() -> None:
    command = f"{sys.executable} -m boundcheck bounds --d 64 --r 4 --eps 0.1 | head -n 1"
    out = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert out.stderr == ""


def test_without_flint_the_lower_bounds_stay() -> None:
    code = (
        "import sys; sys.modules['flint'] = None\n"
        "from boundcheck.cli import run\n"
        "codes = [run(['bounds', '--d=64', '--r=4', '--eps=0.1', '--json']), run(['constants'])]\n"
        "sys.exit(codes != [0, 2])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rows = json.loads(out.stdout)["bounds"]
    found = {row["head_class"]: row["heads"] for row in rows if row["id"] == "T1"}
    assert found == PUBLISHED_HEADS["64", "4", "0.1"]
    assert not {"U3", "T2"} & {row["id"] for row in rows}
    left_out, refused = out.stderr.splitlines()
    assert "U3" in left_out
    assert "flint" in refused


def test_a_terminal_without_unicode_gets_plain_letters() -> None:
    command = [sys.executable, "-m", "boundcheck", "table", "--d=64", "--r=1", "--eps=0.01"]
    out = subprocess.run(
        command, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii", "PATH": ""}
    )
    assert b"7.4 x 10^56" in out.stdout


def test_an_uninstalled_backend_does_not_matter(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "boundcheck", "plot", "--d=8", "--r=2", "-o", "a.png"]
    env = {"MPLBACKEND": "module://no_such_backend", "PATH": "", "HOME": str(tmp_path)}
    subprocess.run(command, capture_output=True, check=True, env=env, cwd=tmp_path)
    assert (tmp_path / "a.png").exists()


def test_closed_streams_are_no_error() -> None:
    command = f"{sys.executable} -m boundcheck bounds --d 16 --r 4 --eps 0.1 >&-"
    out = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
    assert out.stderr == ""


def test_interrupted_table_prints_what_is_known(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import boundcheck.table_report as table_report

    whole, calls = table_report.table_cells, []

    def cut_short(*arguments: object) -> object:
        calls.append(arguments)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return whole(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(table_report, "table_cells", cut_short)
    assert run(["table", "--d=16,64", "--r=4", "--eps=0.1,0.2"]) == 130
    captured = capsys.readouterr()
    assert " 16    4           55            2" in captured.out
    assert captured.err == "boundcheck: interrupted\n"


def test_explanation_as_csv_is_one_table(capsys: pytest.CaptureFixture[str]) -> None:
    out = answer(capsys, "bounds", "--d=16", "--r=4", "--eps=0.1", "--explain", "--format=csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert rows[-1]["degree"] == "total"
    assert float(rows[-1]["adds to the error"]) > 0.1


def test_small_eps_in_high_dimension_takes_bounded_memory() -> None:
    # Counts of ten thousands of digits: the first of them are certified.
    code = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_AS, (3 * 2**30, 3 * 2**30))\n"
        "from boundcheck.cli import run\n"
        "run(['table', '--d=8192', '--r=1', '--eps=0.001'])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "10^" in out.stdout
