"""Signed measures on [0, 1] from which random rank-one heads are drawn (U3).

A head is drawn by its angle: t from |mu| / A, then unit vectors (q, k),
uniform with <q, k> = t, and the weight sign(mu) A / H. The expected error of
such a layer is an explicit function of mu, so every mu gives a bound. Here it
is evaluated in balls, at weights that may come from anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isfinite

from flint import arb

from boundcheck.balls import enclosure, working_precision
from boundcheck.bounds.base import MAX_HEADS
from boundcheck.harmonics import energy_series
from boundcheck.values import Enclosure

#: Degrees are kept up to where no measure worth using (A <= sqrt(H)) moves the
#: next one by more than this, or up to the largest degree.
_NEGLIGIBLE = 1e-6
_LARGEST_DEGREE = 241


@dataclass(frozen=True, slots=True)
class ZonalMeasure:
    """A signed measure of finitely many atoms in [0, 1], and its error formula.

    Parameters
    ----------
    d : int
        Embedding dimension.
    nodes : tuple of float
        Increasing, in [0, 1].
    weights : tuple of float
        Signed, one for each node.
    variation : Fraction
        A, the sum of their absolute values, exact.
    bias : Enclosure
        sum over odd l of E_l (1 - lambda_l c_l)^2.
    sampling : Enclosure
        A^2 - sum over odd l of E_l lambda_l^2 c_l^2.
    """

    d: int
    nodes: tuple[float, ...]
    weights: tuple[float, ...]
    variation: Fraction
    bias: Enclosure
    sampling: Enclosure

    def error(self, random_heads: int) -> Enclosure:
        """The expected error with that many heads drawn: (bias + sampling / H) / 2.

        Some draw does at least as well, so ``hi`` is an upper bound. It falls
        in H exactly.
        """
        return Enclosure(
            (self.bias.lo + self.sampling.lo / random_heads) / 2,
            (self.bias.hi + self.sampling.hi / random_heads) / 2,
        )

    def least_heads(self, eps: Fraction) -> int | None:
        """The least H >= 1 with ``error(H).hi <= eps``, None if there is none."""
        room = 2 * eps - self.bias.hi
        if room <= 0:
            return None
        return max(1, -(-self.sampling.hi // room))


def zonal_measure(d: int, nodes: list[float], weights: list[float]) -> ZonalMeasure:
    """The measure with these atoms, its error formula evaluated in balls.

    Parameters
    ----------
    d : int
        d >= 3.
    nodes, weights : list of float
        Any finite numbers, nodes in [0, 1]; read as the exact dyadic numbers
        that they are.

    Raises
    ------
    ValueError
        For a node outside [0, 1] or a weight that is not finite.

    Examples
    --------
    >>> measure = zonal_measure(30, [1.0], [6.0])
    >>> f"{float(measure.error(1024).hi):.4f}"
    '0.2013'
    """
    if not all(0 <= t <= 1 for t in nodes) or not all(map(isfinite, weights)):
        raise ValueError("a measure needs nodes in [0, 1] and finite weights")
    spectrum = spectrum_kept(d)
    with working_precision(spectrum.bits):
        variation = sum((abs(Fraction(w)) for w in weights), Fraction(0))
        A = arb(0)
        for w in weights:
            A += abs(arb(w))
        bias, captured = arb(0), arb(0)
        for E, lam, c in zip(
            spectrum.energies, spectrum.signs, _moments(spectrum, nodes, weights), strict=True
        ):
            # Products, not powers: Arb's square of a ball around exactly 0 is not a number.
            kept = lam * c
            rest = 1 - kept
            bias += E * (rest * rest)
            captured += E * (kept * kept)
        # Degrees above the last one kept. |P_l| <= 1 on [0, 1], so |c_l| <= A;
        # |lambda_{l+2}| = |lambda_l| l/(l+d), so |lambda_l c_l| <= a there, with
        # a = |lambda| A at the first degree left out. Their energies add up to
        # tail (H4). So they add to the bias between tail max(0, 1-a)^2 and
        # tail (1+a)^2, and take between 0 and tail a^2 from the sampling term.
        tail = spectrum.tail
        a = abs(spectrum.next_sign) * A
        least_bias = bias + tail * arb.max(arb(0), 1 - a) ** 2
        largest_bias = bias + tail * (1 + a) ** 2
        largest_sampling = A * A - captured
        least_sampling = largest_sampling - tail * a * a
        return ZonalMeasure(
            d,
            tuple(nodes),
            tuple(weights),
            variation,
            Enclosure(enclosure(least_bias).lo, enclosure(largest_bias).hi),
            Enclosure(enclosure(least_sampling).lo, enclosure(largest_sampling).hi),
        )


@dataclass(frozen=True, slots=True)
class Spectrum:
    """E_l and lambda_l for the odd degrees kept, as balls, and what is left out.

    Parameters
    ----------
    d : int
    bits : int
        Working precision.
    energies, signs : list of arb
        E_l and lambda_l at l = 1, 3, 5, ...
    tail : arb
        Energy of all later degrees.
    next_sign : arb
        lambda at the first of them.
    """

    d: int
    bits: int
    energies: list[arb]
    signs: list[arb]
    tail: arb
    next_sign: arb


@lru_cache(maxsize=64)
def spectrum_kept(d: int) -> Spectrum:
    """The degrees that a measure's error is computed from at dimension d."""
    # The recurrence for P_l widens a ball by less than (1 + sqrt 2) a degree,
    # which is less than 3/2 bits; weights up to 10^9 cancel, which is 30.
    bits = 128 + 3 * _LARGEST_DEGREE // 2
    series = energy_series(d, bits)
    with working_precision(bits):
        # E_1 = d lambda_1^2.
        signs = [(series.energies[0] / d).sqrt()]
        limit = _NEGLIGIBLE / MAX_HEADS**0.5
        while abs(float(signs[-1])) > limit and 2 * len(signs) - 1 <= _LARGEST_DEGREE:
            l = 2 * len(signs) - 1
            signs.append(-signs[-1] * l / (l + d))
        next_sign = signs.pop()
    series.extend(len(signs))
    return Spectrum(
        d, bits, series.energies[: len(signs)], signs, series.tails[len(signs)], next_sign
    )


def _moments(spectrum: Spectrum, nodes: list[float], weights: list[float]) -> list[arb]:
    """c_l = sum of weight P_l(node) for the odd degrees kept, at the working precision."""
    # A loop of its own beside `legendre_balls`: the weight goes in at once and even degrees
    # are not kept, without which a search for U3's count takes 18 % longer.
    d = spectrum.d
    c = [arb(0) for _ in spectrum.signs]
    for node, weight in zip(nodes, weights, strict=True):
        t, w = arb(node), arb(weight)
        previous, current = w, w * t
        c[0] += current
        for l in range(1, 2 * len(c) - 1):
            previous, current = (
                current,
                ((2 * l + d - 2) * t * current - l * previous) / (l + d - 2),
            )
            if l % 2 == 0:
                c[l // 2] += current
    return c
