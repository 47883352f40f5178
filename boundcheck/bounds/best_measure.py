"""The measure on [0, 1] from which random rank-one heads do best (U3).

Minimising the error over signed measures on a grid is convex: non-negative
least squares with the squared total variation as one more row. Solved in
floating point; the bound is evaluated in balls afterwards, so it is rigorous
whatever comes out here. This module loads numpy; import it where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from boundcheck.bounds.zonal_measure import ZonalMeasure, spectrum_kept, zonal_measure
from boundcheck.nnls import FloatArray, nonnegative_least_squares

#: Nodes t = 1/n, ..., 1; 800 of them change no bound by more than 2e-5.
_NODES = 200


def best_measure(d: int, random_heads: int) -> ZonalMeasure:
    """A measure with nearly the least error for that many random heads.

    The best on a grid of nodes, to rounding.

    Parameters
    ----------
    d : int
        d >= 3.
    random_heads : int
        H >= 1.

    Examples
    --------
    >>> measure = best_measure(8, 1024)
    >>> measure.nodes, f"{float(measure.error(1024).hi):.4f}"
    ((0.75,), '0.1756')
    """
    x = _atoms(d, random_heads)
    weights = x[:_NODES] - x[_NODES:]
    used = np.flatnonzero(weights)
    return zonal_measure(d, _nodes()[used].tolist(), weights[used].tolist())


@lru_cache(maxsize=512)
def _atoms(d: int, random_heads: int) -> FloatArray:
    """The minimiser: positive parts at all nodes, then negative parts."""
    system = _system(d)
    if random_heads == 1:
        # The error is A^2 - 2 sum_l E_l lambda_l c_l and constants: one atom
        # is best, of weight b(t) = sum_l E_l lambda_l P_l(t).
        b = (system.energies * system.signs) @ system.legendre
        place = int(np.argmax(np.abs(b)))
        x = np.zeros(2 * _NODES)
        x[place if b[place] > 0 else place + _NODES] = abs(b[place])
    else:
        # Counts between two powers of 2 start from the lower one's answer.
        power = 1 << (random_heads.bit_length() - 1)
        start = _atoms(d, power) if power < random_heads and power > 1 else None
        x = nonnegative_least_squares(*system.rows(random_heads), start)
    x.flags.writeable = False
    return x


def _nodes() -> FloatArray:
    return np.arange(1, _NODES + 1) / _NODES


@dataclass(frozen=True, slots=True)
class _System:
    """The convex problem for one dimension, in floating point."""

    legendre: FloatArray
    energies: FloatArray
    signs: FloatArray
    tail: float
    next_sign: float

    def rows(self, random_heads: int) -> tuple[FloatArray, FloatArray]:
        """Matrix and target whose least squares is the bound, up to a constant.

        With kappa = 1 - 1/H > 0 and A = sum of x,
        sum_l E_l ((1 - v_l)^2 - v_l^2/H) + A^2/H + tail (1 + lambda A)^2 has
        the terms E_l (sqrt(kappa) v_l - 1/sqrt(kappa))^2 and, all together,
        (s A + tail lambda / s)^2 with s^2 = 1/H + tail lambda^2.
        """
        kappa = 1 - 1 / random_heads
        degrees = (np.sqrt(kappa * self.energies) * self.signs)[:, np.newaxis] * self.legendre
        slope = float(np.sqrt(1 / random_heads + self.tail * self.next_sign**2))
        matrix = np.vstack([np.hstack([degrees, -degrees]), np.full((1, 2 * _NODES), slope)])
        target = np.append(np.sqrt(self.energies / kappa), -self.tail * self.next_sign / slope)
        return matrix, target


@lru_cache(maxsize=64)
def _system(d: int) -> _System:
    spectrum = spectrum_kept(d)
    t = _nodes()
    odd = [t]
    previous, current = np.ones(_NODES), t
    for l in range(1, 2 * len(spectrum.signs) - 1):
        previous, current = current, ((2 * l + d - 2) * t * current - l * previous) / (l + d - 2)
        if l % 2 == 0:
            odd.append(current)
    return _System(
        np.array(odd),
        np.array([float(E) for E in spectrum.energies]),
        np.array([float(lam) for lam in spectrum.signs]),
        float(spectrum.tail),
        abs(float(spectrum.next_sign)),
    )
