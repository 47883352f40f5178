"""The figure: same bytes, no state left changed, labels that do not overlap."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest

from boundcheck.curves import heads_curves
from boundcheck.errors import InputError
from boundcheck.figure_layout import layout
from boundcheck.plots import draw, figure_bytes, figure_format

SCRIPT = (
    "import sys, hashlib; from boundcheck.curves import heads_curves; "
    "from boundcheck.plots import figure_bytes; c = heads_curves(16, 2); "
    "print([hashlib.sha256(figure_bytes(c, f)).hexdigest() for f in ('png', 'pdf', 'svg')])"
)


def test_identical_bytes_in_two_processes() -> None:
    runs = [
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "PATH": "/usr/bin:/bin", "HOME": "/tmp", "TZ": zone},
        ).stdout
        for seed, zone in (("1", "UTC"), ("2", "Asia/Tokyo"))
    ]
    assert runs[0] == runs[1]


def test_rc_params_stay() -> None:
    import matplotlib

    # A user's own settings neither change nor show.
    curves = heads_curves(16, 2)
    plain = figure_bytes(curves, "png")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "savefig.dpi": 20}):
        before = dict(matplotlib.rcParams)
        assert figure_bytes(curves, "png") == plain
        assert dict(matplotlib.rcParams) == before


def test_fonts_are_true_type() -> None:
    content = figure_bytes(heads_curves(16, 2), "pdf")
    assert b"/Type3" not in content
    assert b"/FontFile2" in content


@pytest.mark.parametrize(
    ("d", "r", "against"),
    [
        (64, 4, "eps"),
        (16, 1, "eps"),
        (8, 2, "eps"),
        (512, 8, "eps"),
        (3, 1, "eps"),
        (16, 16, "eps"),
        (16, 15, "eps"),
        (8192, 4, "eps"),
        (64, 4, "r"),
        (64, 4, "d"),
    ],
)
def test_labels_do_not_overlap(d: int, r: int, against: str) -> None:
    plan = layout(heads_curves(d, r, against=against))
    assert plan.labels
    width, height = plan.axes[2:]
    for label in plan.labels:
        left, bottom, right, top = label.box
        assert -1 <= left < right <= width + 1
        assert -1 <= bottom < top <= height + 1
    for one, other in combinations(plan.labels, 2):
        a, b = one.box, other.box
        apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
        assert apart, (one.label.name, other.label.name)


def test_the_file_is_whole_or_absent(tmp_path: Path) -> None:
    curves = heads_curves(8, 2)
    with pytest.raises(InputError, match=r"^output: got"):
        draw(curves, tmp_path / "figure.gif")
    with pytest.raises(InputError, match=r"^output: got"):
        draw(curves, tmp_path / "missing" / "figure.png")
    assert not list(tmp_path.iterdir())
    assert draw(curves, tmp_path / "figure.png").stat().st_size > 1000


def test_the_suffix_decides() -> None:
    assert [figure_format(f"a.{s}") for s in ("png", "PDF", "svg")] == ["png", "pdf", "svg"]
