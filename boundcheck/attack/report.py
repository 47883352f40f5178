"""What ``boundcheck attack`` reports, as text and as JSON."""

from __future__ import annotations

from typing import Any

from boundcheck.attack.outcome import gaps, reference, shape, verdict
from boundcheck.attack.search import Best, Search
from boundcheck.bounds_report import error_json
from boundcheck.evaluation import SHOWN_SIGMAS
from boundcheck.formatting import error_text, json_int
from boundcheck.values import Numeric, Statistical

_VALUES = {"scalar": "scalar values", "standard": "matrices as values"}


class Report:
    """The best heads, their error and the bounds, for a reader or a program.

    Parameters
    ----------
    search : Search
    best : Best
        Its best heads.
    error : Numeric or Statistical
        Their error, as `outcome.fresh_errors` gives it.
    scores, head_class : str
        What was asked for.
    interrupted : bool

    Examples
    --------
    >>> from boundcheck.attack.objectives import objective
    >>> what = objective(3, 1, 2, scores="arbitrary", head_class="scalar", seed=0)
    >>> search = Search(what, 0, starts=1)
    >>> best = search.run()
    >>> report = Report(search, best, Numeric(best.error, 0.0), "arbitrary", "scalar", False)
    >>> round(report.json()["best_error"], 5), report.verdict
    (0.22676, 'consistent')
    """

    def __init__(
        self,
        search: Search,
        best: Best,
        error: Numeric | Statistical,
        scores: str,
        head_class: str,
        interrupted: bool,
    ) -> None:
        self.search, self.error, self.scores = search, error, scores
        self.asked, self.head_class = head_class, best.heads.head_class
        self.interrupted = interrupted
        self.gaps, self.reference = gaps(best, error), reference(best)
        self.shape, self.verdict = shape(best), verdict(self.gaps)
        self.remark = None
        if self.head_class != head_class:
            self.remark = "scalar values, which standard heads may have, did better than matrices"
            if search.objective.simpler() is None:
                self.remark = "scalar values were searched: too many heads to fit matrices"

    def json(self) -> dict[str, Any]:
        """What `attack --json` prints."""
        H, d, r = self.shape
        known = self.reference
        return {
            "problem": {
                "d": d, "r": r, "heads": H, "scores": self.scores, "head_class": self.asked,
            },
            **self._error_json(),
            "head_class": self.head_class,
            "starts": self.search.started,
            "cut_short": self.search.cut_short,
            "interrupted": self.interrupted,
            "seed": json_int(self.search.seed),
            "bounds": [
                {
                    "id": gap.id,
                    "direction": "lower",
                    "kind": "certified",
                    "head_class": gap.head_class,
                    **error_json(gap.error, "lower"),
                    "gap": gap.gap,
                    "verdict": gap.verdict,
                }
                for gap in self.gaps
            ],
            "reference": known
            and {"id": known.id, "what": known.what, **error_json(known.error, "upper")},
            "verdict": self.verdict,
            "remark": self.remark,
        }  # fmt: skip

    def text(self) -> str:
        """What `attack` prints."""
        H, d, r = self.shape
        values = _VALUES[self.head_class]
        starts = "1 start" if self.search.started == 1 else f"{self.search.started} starts"
        if self.search.cut_short:
            starts += ", the last cut short"
        lines = [
            f"heads       {H} of rank {r}, {self.scores} scores, {values}, d = {d}",
            f"searched    {starts}, seed {self.search.seed}",
            f"best error  {self._error_text()}",
        ]
        for gap in self.gaps:
            lines.append(
                f"at least    {error_text(gap.error, 'lower')} ({gap.id}, {gap.head_class} heads, "
                f"certified): gap {gap.gap:.6f}, {gap.verdict}"
            )
        if not self.gaps:
            lines.append("at least    no lower bound applies: they need d >= 3")
        if self.reference is not None:
            text = error_text(self.reference.error, "upper")
            lines.append(f"reachable   {text} ({self.reference.id}, {self.reference.what})")
        if self.remark is not None:
            lines.append(f"remark      {self.remark}")
        return "\n".join(lines) + "\n"

    def alarm(self) -> str:
        """What a violated bound is worth to the reader."""
        return "\n".join(
            f"VIOLATED: the error found lies {-gap.gap:.3g} below the certified bound {gap.id} of "
            f"{gap.head_class} heads; one of the two is wrong, please report both"
            for gap in self.gaps
            if gap.verdict == "violated"
        )

    def _error_json(self) -> dict[str, Any]:
        error = self.error
        if isinstance(error, Numeric):
            return {
                "best_error": error.value,
                "std_error": 0.0,
                "kind": error.kind,
                "error_estimate": error.error_estimate,
            }
        low, high = error.interval(SHOWN_SIGMAS)
        return {
            "best_error": error.mean,
            "std_error": error.std_error,
            "kind": error.kind,
            "best_error_ci": [max(0.0, low), high],
            "samples": error.samples,
            "samples_seed": json_int(error.seed),
        }

    def _error_text(self) -> str:
        error = self.error
        if isinstance(error, Numeric):
            return f"{error.value:.8f} (exact but for rounding, about {error.error_estimate:.0e})"
        low, high = error.interval(SHOWN_SIGMAS)
        return f"{error.mean:.6f} +- {(high - low) / 2:.6f} (95 %, {error.samples} fresh samples)"
