"""Scalar heads with arbitrary scores: T2's optimum for given key maps, degree by degree.

With the best scores the degree-l part of the target is met in as many dimensions as the
heads' spaces span, whatever else the K_h are. So there is nothing to follow downhill:
the search draws key maps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from boundcheck.attack.arbitrary_heads import ArbitraryHeads
from boundcheck.attack.objective import FloatArray, Parameters
from boundcheck.capacity import ridge_dimension
from boundcheck.constructions.seeds import heads_generator
from boundcheck.errors import InputError
from boundcheck.frames import unit_rows
from boundcheck.harmonics import energy, energy_ratio, harmonic_dimension

#: Degrees are added until what the later ones could give is below this.
_NEGLIGIBLE_ERROR = 2e-7
_MOST_DEGREE = 4001
#: Directions of all heads together.
_MOST_DIRECTIONS = 1500
#: Eigenvalues below this, relative to the largest, are zero.
_NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class ArbitraryScalars:
    """Heads a_h I of rank r whose scores are any functions of K_h^T X and y (T2).

    Raises
    ------
    InputError
        If there are too many heads to span their spaces.

    Examples
    --------
    >>> objective = ArbitraryScalars(3, 1, 2)
    >>> K = np.eye(3)[:2, :, None]
    >>> f"{objective.error_and_gradient((K,))[0]:.5f}"
    '0.22676'
    """

    d: int
    r: int
    heads_wanted: int

    exact = True

    def __post_init__(self) -> None:
        most = _MOST_DIRECTIONS // _directions(self.r, 1)
        if self.heads_wanted > most:
            raise InputError("heads", self.heads_wanted, f"at most {most} at rank {self.r}")

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """K (H, d, r)."""
        return ((self.heads_wanted, self.d, self.r),)

    def start(self, rng: np.random.Generator) -> Parameters:
        """Standard normal K."""
        return (rng.standard_normal(self.shapes[0]),)

    @cached_property
    def energies(self) -> list[float]:
        """E_1, E_3, ... up to the largest degree used."""
        d, r, H = self.d, self.r, self.heads_wanted
        found = [float(energy(d, 1))]
        while True:
            l = 2 * len(found) - 1
            after = l + 2
            reach = H * ridge_dimension(r, after) / harmonic_dimension(d, after)
            left = 0.5 * max(0.0, 1 - math.fsum(found)) * min(1.0, reach)
            large = H * _directions(r, after) > _MOST_DIRECTIONS
            if left < _NEGLIGIBLE_ERROR or large or after > _MOST_DEGREE:
                return found
            above, below = energy_ratio(d, l)
            found.append(found[-1] * (above / below))

    @property
    def degree(self) -> int:
        """The largest degree used."""
        return 2 * len(self.energies) - 1

    def error_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """1/2 (1 - sum_l E_l dimension_l / N(d,l)), the same around K but for special K."""
        (K,) = parameters
        captured = [
            E * (dimension / harmonic_dimension(self.d, 2 * i + 1))
            for i, (E, dimension) in enumerate(zip(self.energies, self._dimensions(K), strict=True))
        ]
        return 0.5 * (1 - math.fsum(captured)), (np.zeros_like(K),)

    def error_estimate(self, parameters: Parameters) -> float:
        """Rounding: energies are products of as many factors as there are degrees."""
        return float(np.finfo(float).eps) * len(self.energies)

    def heads(self, parameters: Parameters) -> ArbitraryHeads:
        """The key maps, with values 1/H as in `arbitrary_score_layer`."""
        (K,) = parameters
        values = np.full(len(K), 1 / len(K))
        return ArbitraryHeads(K, values, self.degree, self.error_and_gradient(parameters)[0])

    def finer(self) -> None:
        """None."""

    def simpler(self) -> None:
        """None."""

    def _dimensions(self, K: FloatArray) -> list[int]:
        """The dimensions of the sums of the heads' spaces, for l = 1, 3, ..."""
        H, d, r = K.shape
        bases, _ = np.linalg.qr(K)
        inside = heads_generator(0).standard_normal((_directions(r, self.degree), r))
        # Directions vary slowest, so that the first ones of all heads are a block.
        k = np.einsum("mr,hdr->mhd", unit_rows(inside), bases).reshape(-1, d)
        cosines = np.clip(k @ k.T, -1.0, 1.0)
        before, now = np.ones_like(cosines), cosines
        found = []
        for l in range(1, self.degree + 1):
            if l % 2:
                used = H * _directions(r, l)
                eigenvalues = np.linalg.eigvalsh(now[:used, :used])
                found.append(int(np.count_nonzero(eigenvalues > _NEGLIGIBLE * eigenvalues[-1])))
            before, now = now, ((2 * l + d - 2) * cosines * now - l * before) / (l + d - 2)
        return found


def _directions(r: int, degree: int) -> int:
    # Twice as many as dimensions keep the Gram matrix away from singular.
    return 1 if r == 1 else 2 * ridge_dimension(r, degree)
