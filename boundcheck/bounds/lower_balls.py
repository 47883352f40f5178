"""T1 and T1s by ball arithmetic: the error at H heads, and the least H not excluded.

With odd degrees l, energies E_l, rho_l = m(l)/N(D,l) and T_k, S_k the sums of
E_l and E_l rho_l over l >= 2k+1, the bound at H >= 1 heads is
`1/2 sum_l E_l max(0, 1 - H rho_l) = 1/2 max_k (T_k - H S_k)`,
and the least H at which it is <= eps is the ceiling of
`max_k (T_k - 2 eps) / S_k`. All of it is done in balls.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from flint import arb, arb_poly

from boundcheck.balls import ball, enclosure, working_precision
from boundcheck.capacity import Capacity
from boundcheck.harmonics import dimension_ratio, energy_series, tail_estimate
from boundcheck.series_tail import telescoped_sum
from boundcheck.values import Enclosure, HeadCount

#: Odd degrees looked at before the bound settles for less than the sharpest count.
MAX_TERMS = 2**17
#: Odd degrees looked at for the error at a given H, once it is enclosed tightly.
ERROR_TERMS = 2**16
#: Relative width at which the error counts as known.
ERROR_WIDTH = Fraction(1, 2**60)


class Spectrum:
    """E_l, T_k and rho_l over the odd degrees, for one capacity and precision.

    Parameters
    ----------
    capacity : Capacity
        With r <= D - 1; for larger r every rho_l is at least 1.
    bits : int
        Working precision.
    """

    def __init__(self, capacity: Capacity, bits: int) -> None:
        self.capacity = capacity
        self.series = energy_series(capacity.D, bits)
        self.energies = self.series.energies
        self.tails = self.series.tails
        with working_precision(bits):
            self._ridge = arb(capacity.r) / capacity.D
            above, below = capacity.over_ridge(1)
            self.ratios: list[arb] = [self._ridge * above / below]
            self.limits: list[arb] = [self._ridge * capacity.over_ridge_limit]

    def extend(self, count: int) -> None:
        """Have ``count`` degrees; call it inside the spectrum's precision.

        ``ratios[i]`` is rho at degree 2i+1 and ``limits[i]`` bounds rho there
        and at every later degree: m_r(l)/N(D,l) falls in l for r <= D-1 (its
        ratio from l to l+2 is at most that for r = D-1, where numerator and
        denominator differ by 2D-4 >= 0), and m(l)/m_r(l) never exceeds its limit.
        """
        self.series.extend(count)
        capacity, ridge = self.capacity, self._ridge
        D, r, limit = capacity.D, capacity.r, capacity.over_ridge_limit
        saturated = True
        above, below = capacity.over_ridge(2 * len(self.ratios) - 1)
        for i in range(len(self.ratios), count):
            l = 2 * i - 1
            up, down = dimension_ratio(D, l)
            step_up = (r + l) * (r + l + 1) * down
            step_down = (l + 1) * (l + 2) * up
            next_above, next_below = capacity.over_ridge(l + 2)
            if saturated:
                saturated = not self.ratios[-1] < 1
            # The max over suffixes in the module's formula needs rho to fall
            # where it is below 1; decided here on exact integers.
            if not saturated and step_up * next_above * below > step_down * above * next_below:
                raise AssertionError(f"m(l)/N(D,l) rises at {capacity}, degree {l}")
            above, below = next_above, next_below
            ridge = ridge * step_up / step_down
            self.ratios.append(ridge * above / below)
            self.limits.append(ridge * limit)
        self._ridge = ridge

    def weighted_tails(self, count: int, bits: int) -> list[arb]:
        """S_0..S_{count-1}: sums of E_l rho_l from each degree on.

        The part beyond the last degree is enclosed to about ``bits`` relative
        bits where telescoping can.
        """
        total = self._rest(count - 1, bits)
        sums = [total]
        for i in range(count - 2, -1, -1):
            total = total + self.energies[i] * self.ratios[i]
            sums.append(total)
        sums.reverse()
        return sums

    def _rest(self, index: int, bits: int) -> arb:
        # S at one index: the terms' ratio is a rational function of l by H1 and H3.
        first = self.energies[index] * self.ratios[index]
        bulk = (self.tails[index] * self.limits[index]).upper()
        best = first.union(bulk)
        # Below degree 4D a series in D/l is slow and rho falls geometrically anyway.
        if bulk < first * (1 + arb(2) ** -bits) or index < 2 * self.capacity.D + 16:
            return best
        capacity = self.capacity
        l, one = arb_poly([0, 2]), arb_poly([1])
        more = _over_ridge_numerator(capacity, l + 2 * one), _over_ridge_numerator(capacity, l)
        D, r = capacity.D, capacity.r
        above = l * l * (l + r - one) * (l + r - 2 * one) * more[0]
        below = (l + D) ** 2 * (l + one) * (l + 2 * one) * more[1]
        start = arb(2 * index + 1) / 2
        for order in (8, 16, 32, 64, 128):
            value = telescoped_sum(above, below, start, first, order)
            # Too few degrees for a series in 1/l: more of them cost less than higher orders.
            if not value.rad() * 16 < best.rad():
                break
            best = value
            if best.rad() < first * arb(2) ** -bits:
                break
        return best


def _over_ridge_numerator(capacity: Capacity, l: arb_poly) -> arb_poly:
    r, one = capacity.r, arb_poly([1])
    up = l + r - one
    return (
        capacity.now * up * (up - one)
        + capacity.before * l * (up - one)
        + capacity.before2 * l * (l - one)
    )


@lru_cache(maxsize=32)
def _spectrum(capacity: Capacity, bits: int) -> Spectrum:
    return Spectrum(capacity, bits)


def _doublings(first: int, last: int) -> Iterator[int]:
    count = max(8, first)
    while count < last:
        yield count
        count *= 2
    yield last


def least_heads(capacity: Capacity, eps: Fraction, skip: bool) -> HeadCount:
    """The least H >= 1 whose bound is <= eps, exact.

    Where MAX_TERMS odd degrees do not decide it, a smaller count that is still
    excluded below, marked as not sharp.
    """
    if _no_bound(capacity, 1):
        return HeadCount(1)
    # Start where tails come down to 2 eps, with some room.
    start = 1
    while start < MAX_TERMS and tail_estimate(capacity.D, 2 * start + 1) > 2 * eps:
        start *= 2
    size = max(0, eps.denominator.bit_length() - eps.numerator.bit_length())
    # Degrees out of reach give a weaker count, for which few digits do.
    bits = 96 + (2 * size if start < MAX_TERMS else 32)
    low = 1
    for count in _doublings(start + 8, MAX_TERMS):
        for _ in range(4):
            with working_precision(bits):
                low, high = _crossing(_spectrum(capacity, bits), count, eps, skip)
            if low == high:
                return HeadCount(max(1, low))
            needed = 128 + 2 * size + low.bit_length()
            if needed <= bits:
                break
            bits = needed
    return HeadCount(
        max(1, low),
        f"degrees were followed to {2 * MAX_TERMS - 1}; the sharpest count may be larger",
        sharp=False,
    )


def _crossing(spectrum: Spectrum, count: int, eps: Fraction, skip: bool) -> tuple[int, int]:
    """Integers that enclose the least H with max_k (T_k - H S_k) <= 2 eps.

    The first is always safe: every k gives a valid bound. The second is so
    only where the best k lies inside the degrees followed, as checked here.
    """
    spectrum.extend(count)
    bits = spectrum.series.bits
    goal = 2 * ball(eps)
    sums = spectrum.weighted_tails(count, bits - 64)
    tails, ratios = spectrum.tails, spectrum.ratios
    first = 1 if skip else 0

    def excess(i: int) -> arb:
        # (bound at H = 1/rho_i) - goal, times rho_i > 0.
        return (tails[i + 1] - goal) * ratios[i] - sums[i + 1]

    inner = range(first, count - 1)
    k = first + bisect_left(inner, True, key=lambda i: bool(excess(i).mid() <= 0))
    near = [(tails[i] - goal) / sums[i] for i in range(max(first, k - 1), min(k + 2, count))]
    best = near[0]
    for value in near[1:]:
        best = best.max(value)
    low = int(best.lower().ceil().unique_fmpz() or 1)
    if k == count - 1 or not excess(k) < 0:
        return low, low + 1
    if k - 2 >= first and not excess(k - 2) > 0:
        return low, low + 1
    return low, int(best.upper().ceil().unique_fmpz() or low + 1)


def _no_bound(capacity: Capacity, heads: int) -> bool:
    """Whether heads * rho_l >= 1 for every l, so that the bound is 0.

    m_r(l)/N(D,l) is at least 1 for r >= D, and falls to 1/2 for r = D-1.
    """
    r, D = capacity.r, capacity.D
    return r >= D or (r == D - 1 and heads * capacity.now >= 2)


def error_at(capacity: Capacity, heads: int, skip: bool) -> Enclosure:
    """1/2 sum_l E_l max(0, 1 - H rho_l) over odd l, for H >= 1."""
    if _no_bound(capacity, heads):
        return Enclosure(Fraction(0), Fraction(0))
    bits = 128 + 2 * heads.bit_length()
    first = 1 if skip else 0
    best = Enclosure(Fraction(0), Fraction(1, 2))
    for count in _doublings(32, ERROR_TERMS):
        with working_precision(bits):
            spectrum = _spectrum(capacity, bits)
            spectrum.extend(count)
            k = first + bisect_left(
                range(first, count - 1), True, key=lambda i: bool(heads * spectrum.ratios[i] < 1)
            )
            sums = spectrum.weighted_tails(count, bits - 64)
            # Any suffix gives a lower bound; the one that starts at H rho < 1 is the largest.
            total = ((spectrum.tails[k] - heads * sums[k]) / 2).nonnegative_part()
            found = enclosure(total)
            if k == count - 1:
                found = Enclosure(found.lo, enclosure(spectrum.tails[k] / 2).hi)
        best = Enclosure(max(best.lo, found.lo), min(best.hi, found.hi))
        if best.width < best.lo * ERROR_WIDTH:
            break
    return best
