"""The difference of right and wrong votes, and the softmax that reads it best (U4s).

numpy is loaded at module level: import this module where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from boundcheck.errors import InputError
from boundcheck.quadrature import Array
from boundcheck.voting import AdvantageLaw

#: Advantages above REACH / sqrt(H) are left out: such votes are right but for 1e-30.
_REACH = 26.0
#: Standard deviations sqrt(H) kept below 0 and above REACH sqrt(H).
_DEVIATIONS = 9.0
#: Up to here log(H!) is summed; above, Stirling's series.
_SUMMED = 4096
#: Inverse temperatures that need every value of m are summed up to so many votes.
_SHARP_VOTES = 10**8
#: Columns of one block of the sum over t.
_BLOCK = 4096


@dataclass(frozen=True, slots=True, eq=False)
class VoteDifference:
    """The law of m = 2k - H for k right votes among H, t averaged over.

    Parameters
    ----------
    votes : int
        H.
    differences, probabilities : ndarray
        Every s-th possible m, and s P(m). A sum over them of a function with
        poles at distance c from the real axis, such as tanh(b m) with
        c = pi/(2b), is exact up to about exp(-pi c / s).
    far : float
        Probability of the t left out because their votes are all but surely right.
    """

    votes: int
    differences: Array
    probabilities: Array
    far: float

    @classmethod
    def of(cls, law: AdvantageLaw, votes: int, stride: int) -> VoteDifference:
        """The law at H = votes, for every stride-th value of m."""
        root = math.sqrt(votes)
        lo = -min(votes, math.ceil(_DEVIATIONS * root))
        lo += (votes + lo) % 2  # m has the parity of H
        hi = min(votes, math.ceil((_DEVIATIONS + _REACH) * root))
        m = lo + 2 * stride * np.arange((hi - lo) // (2 * stride) + 1, dtype=np.float64)
        near = law.advantages * root < _REACH
        weights = law.weights[near]
        # P(m) = C(H, k) / 2^H (1 - kappa^2)^{H/2} ((1 + kappa) / (1 - kappa))^{m/2}.
        kappa = np.minimum(law.advantages[near], 1 - 2.0**-53)[:, None]
        spread, tilt = 0.5 * votes * np.log1p(-(kappa**2)), np.arctanh(kappa)
        central = _log_central_binomial(votes, m)
        blocks = [
            weights @ np.exp(spread + tilt * m[i : i + _BLOCK] + central[i : i + _BLOCK])
            for i in range(0, len(m), _BLOCK)
        ]
        probabilities: Array = stride * np.concatenate(blocks)
        return cls(votes, m, probabilities, float(law.weights[~near].sum()))

    def error(self, b: float) -> float:
        """1/2 E (1 - tanh(b m))^2."""
        return 0.5 * float((1 - np.tanh(b * self.differences)) ** 2 @ self.probabilities)

    def left_out(self, b: float) -> float:
        """About the most that the t left out add to `error`."""
        return 2 * self.far * math.exp(-4 * b * (_REACH - _DEVIATIONS) * math.sqrt(self.votes))

    def best_inverse_temperature(self) -> float:
        """The b with the least error, to a relative 1e-5 or so."""
        # A weak vote is read linearly: tanh(bm) ~ bm is best at E m / E m^2. The
        # best b lies above that, by a factor that stays moderate.
        m, p = self.differences, self.probabilities
        linear = float((m @ p) / (m**2 @ p))
        return math.exp(
            _minimum(lambda x: self.error(math.exp(x)), math.log(linear / 4), math.log(64 * linear))
        )


def stride(votes: int, nodes_per_root: float, inverse_temperature: float | None) -> int:
    """How many values of m to step over, for an accuracy beyond that of the nodes.

    Parameters
    ----------
    votes : int
        H.
    nodes_per_root : float
        Nodes in sqrt(H) values of k; 8 reaches 1e-14 at the best inverse temperature.
    inverse_temperature : float or None
        b, where it is not the best one, which is at most about 1.2 / sqrt(H).

    Raises
    ------
    InputError
        If b is not positive, or too sharp to be summed at so many votes.
    """
    step = math.sqrt(votes) / nodes_per_root
    if inverse_temperature is not None:
        if not 0 < inverse_temperature < math.inf:
            raise InputError("inverse temperature", inverse_temperature, "a positive number")
        most = 1.2 / nodes_per_root
        if votes > _SHARP_VOTES and inverse_temperature > most:
            raise InputError("inverse temperature", inverse_temperature, f"at most {most}")
        if votes <= _SUMMED:
            return 1
        step = min(step, 1.2 / (nodes_per_root * inverse_temperature))
    return max(1, int(step))


def _log_central_binomial(votes: int, m: Array) -> Array:
    """log(C(H, (H+m)/2) / 2^H)."""
    if votes <= _SUMMED:
        factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1.0, votes + 1)))])
        k = ((votes + m) / 2).astype(np.int64)
        table: Array = factorial[votes] - factorial[k] - factorial[votes - k] - votes * math.log(2)
        return table
    x = m / votes
    square = x**2
    # (1+x) log(1+x) + (1-x) log(1-x), whose terms cancel for small x.
    direct = (1 + x) * np.log1p(x) + (1 - x) * np.log1p(-x)
    series = square * (1 + square * (1 / 6 + square * (1 / 15 + square / 28)))
    entropy = np.where(np.abs(x) < 0.02, series, direct)
    right, wrong = votes * (1 + x) / 2, votes * (1 - x) / 2
    stirling = _stirling(np.float64(votes)) - _stirling(right) - _stirling(wrong)
    value: Array = (
        -0.5 * votes * entropy - 0.5 * np.log(0.5 * math.pi * votes * (1 - square)) + stirling
    )
    return value


def _stirling(n: Array | np.float64) -> Array | np.float64:
    """log n! less Stirling's formula; the next term is 1/(1260 n^5)."""
    return 1 / (12 * n) - 1 / (360 * n**3)


def _minimum(f: Callable[[float], float], low: float, high: float) -> float:
    """Where a unimodal f is least in [low, high], by golden section."""
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    f_left, f_right = f(left), f(right)
    # Rounding hides differences closer than about 1e-8 of the logarithm's range.
    while high - low > 1e-6:
        if f_left < f_right:
            high, right, f_right = right, left, f_left
            left = high - ratio * (high - low)
            f_left = f(left)
        else:
            low, left, f_left = left, right, f_right
            right = low + ratio * (high - low)
            f_right = f(right)
    return (low + high) / 2
