"""`plot --json`: the data that the figure shows."""

from __future__ import annotations

from typing import Any

from boundcheck.bounds_report import problem_json
from boundcheck.curves import HeadCurves
from boundcheck.formatting import json_int


def curves_json(curves: HeadCurves, path: str) -> dict[str, Any]:
    """The figure's data, as `plot --json` shows it; places are exact decimals or fractions."""
    return {
        "file": path,
        "problem": problem_json(curves.problem),
        "against": curves.against,
        "curves": [
            {
                "role": curve.role,
                "ids": list(curve.ids),
                "head_class": curve.head_class,
                curves.against: [str(place) for place in curve.places],
                "heads": [None if n is None else json_int(n) for n in curve.heads],
            }
            for curve in curves.curves
        ],
    }
