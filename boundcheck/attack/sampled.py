"""What objectives have in common whose error is a mean over one fixed sample."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from boundcheck.attack.objective import Parameters, random_maps
from boundcheck.sampling import SampleStream


@dataclass(frozen=True, eq=False)
class SampledObjective:
    """Heads of rank r with maps Q and K, fitted to a sample.

    Parameters
    ----------
    d, r, heads_wanted : int
    matrices : bool
        Whether values are d x d matrices, or scalars.
    stream : SampleStream
    fine : bool
        Whether to use more samples.
    """

    d: int
    r: int
    heads_wanted: int
    matrices: bool
    stream: SampleStream
    fine: bool = False

    exact = False

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Q and K (H, d, r)."""
        return ((self.heads_wanted, self.d, self.r),) * 2

    @property
    def unknowns(self) -> int:
        """How many numbers the best values are fitted by, for one coordinate of the output."""
        return self.heads_wanted * (self.d if self.matrices else 1)

    def start(self, rng: np.random.Generator) -> Parameters:
        """Standard normal Q and K."""
        return random_maps(rng, self.shapes[0])

    def error_estimate(self, parameters: Parameters) -> float:
        """Unknown: the error is a sample's."""
        return math.inf

    def finer(self) -> Self | None:
        """The same with more samples; None if this is it."""
        return None if self.fine else replace(self, fine=True)

    def simpler(self) -> None:
        """None."""
