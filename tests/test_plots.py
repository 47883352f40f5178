"""The figure: same bytes, no state left changed, labels that do not overlap."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from boundcheck.curves import heads_curves
from boundcheck.errors import InputError
from boundcheck.figure_layout import COLUMN_WIDTH, GROUND, LABEL_SIZE, Layout, layout
from boundcheck.label_placement import dots_along
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


@lru_cache
def planned(d: int, r: int, against: str = "eps", width: float = COLUMN_WIDTH) -> Layout:
    return layout(heads_curves(d, r, against=against), width=width)


INPUTS = pytest.mark.parametrize(
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


@INPUTS
def test_labels_do_not_overlap(d: int, r: int, against: str) -> None:
    plan = planned(d, r, against)
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


@INPUTS
def test_labels_cover_no_line(d: int, r: int, against: str) -> None:
    plan = planned(d, r, against)
    for label in plan.labels:
        left, bottom, right, top = label.box
        for line in plan.lines:
            dots = dots_along(line.x, line.y, *plan.axes[2:])
            x, y = dots.T
            covered = (left < x) & (x < right) & (bottom < y) & (y < top)
            assert not covered.any(), (label.label.name, line.name)
        for other in plan.labels:
            if other.leader is None or other is label:
                continue
            x0, y0, x1, y1 = other.leader
            s = np.linspace(0, 1, 200)
            x, y = x0 + s * (x1 - x0), y0 + s * (y1 - y0)
            covered = (left < x) & (x < right) & (bottom < y) & (y < top)
            assert not covered.any(), (label.label.name, other.label.name)


@INPUTS
def test_everything_shown_is_named(d: int, r: int, against: str) -> None:
    plan = planned(d, r, against)
    height = plan.axes[3]
    named = " ".join(label.label.name for label in plan.labels)
    for line in plan.lines:
        above = line.y > GROUND + 2 if line.curve.head_class else line.y >= GROUND
        # Seen: the line is somewhere in the frame, and of a region more than a hair.
        if (above & (line.y < height)).any():
            assert line.name in named, line.name


@pytest.mark.parametrize("width", [2.5, 3.4, 14.0])
def test_text_fills_the_boxes_it_was_placed_by(width: float) -> None:
    # The layout measures outlines of glyphs; the renderer at 720 dots per inch, where
    # dots hardly round, is the other route to their size.
    plan = planned(16, 2, width=width)
    figure = Figure(dpi=720)
    renderer = FigureCanvasAgg(figure).get_renderer()  # type: ignore[no-untyped-call]
    font = FontProperties(family="STIXGeneral", size=LABEL_SIZE, math_fontfamily="stix")
    with rc_context({"text.hinting": "none"}):
        for label in plan.labels:
            for text in label.size.lines:
                drawn = figure.text(0, 0, text, fontproperties=font).get_window_extent(renderer)
                assert drawn.width / 10 < label.size.width + 0.2
                assert drawn.height / 10 < label.size.height + 1.0
    for ticks, room in ((plan.x_ticks, plan.axes[2]), (plan.y_ticks, plan.axes[3])):
        assert all(0 <= tick.at <= room + 1e-6 for tick in ticks)
        assert sum(bool(tick.text) for tick in ticks) >= 2


def test_the_figure_has_the_width_asked_for() -> None:
    curves = heads_curves(64, 32)
    for width in (3.4, 7.0):
        content = figure_bytes(curves, "png", width=width)
        # The width in dots is the first number of a PNG file's header chunk.
        assert abs(int.from_bytes(content[16:20], "big") - 300 * width) <= 1


def test_files_hold_no_dates_and_no_version() -> None:
    curves = heads_curves(64, 32)
    for form in ("png", "pdf", "svg"):
        content = figure_bytes(curves, form)
        for word in (b"Date", b"Producer", b"Creator", b"Software", b"dc:date"):
            assert word not in content, (form, word)


@settings(max_examples=8, deadline=None, derandomize=True)
@given(
    d=st.integers(3, 40),
    share=st.fractions(0, 1, max_denominator=50),
    ends=st.tuples(st.integers(10, 490), st.integers(10, 490)).filter(lambda e: e[0] != e[1]),
    skip=st.booleans(),
)
def test_any_problem_can_be_drawn(
    d: int, share: Fraction, ends: tuple[int, int], skip: bool
) -> None:
    low, high = (Fraction(end, 1000) for end in sorted(ends))
    r = 1 + int(share * (d - 1))
    plan = layout(heads_curves(d, r, eps_range=(low, high), skip=skip))
    names = [label.label.name for label in plan.labels]
    assert {"budget", "full rank"} <= set(names)


def test_the_file_is_whole_or_absent(tmp_path: Path) -> None:
    curves = heads_curves(64, 32)
    with pytest.raises(InputError, match=r"^output: got"):
        draw(curves, tmp_path / "figure.gif")
    with pytest.raises(InputError, match=r"^output: got"):
        draw(curves, tmp_path / "missing" / "figure.png")
    assert not list(tmp_path.iterdir())
    assert draw(curves, tmp_path / "figure.png").stat().st_size > 1000


def test_the_suffix_decides() -> None:
    assert [figure_format(f"a.{s}") for s in ("png", "PDF", "svg")] == ["png", "pdf", "svg"]
