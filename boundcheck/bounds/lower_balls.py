"""T1 and T1s by ball arithmetic: the error at H heads, and the least H not excluded.

With odd degrees l, energies E_l, rho_l = m(l)/N(D,l) and T_k, S_k the sums of
E_l and E_l rho_l over l >= 2k+1, the bound at H >= 1 heads is
`1/2 sum_l E_l max(0, 1 - H rho_l) = 1/2 max_k (T_k - H S_k)`,
and the least H at which it is <= eps is the ceiling of
`max_k (T_k - 2 eps) / S_k`, where k runs over the degrees with rho_l < 1 and
rho falls from the first of them on. All of it is done in balls.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from flint import arb, arb_poly, fmpz_poly

from boundcheck.balls import ball, enclosure, working_precision
from boundcheck.bounds.falling_ratios import over_ridge_numerator, ratios_fall
from boundcheck.capacity import Capacity
from boundcheck.errors import UndecidedError
from boundcheck.harmonics import dimension_ratio, energy_series, tail_estimate
from boundcheck.series_tail import telescoped_sum
from boundcheck.values import Enclosure, HeadCount

#: Odd degrees looked at before the bound settles for less than the sharpest
#: count, or for a wide enclosure of the error.
MAX_TERMS = 2**17
#: Working precision while the degrees followed are too few, whatever it is.
FEW_BITS = 128
#: One series of balls may take so many bits (16 MiB).
MAX_SERIES_BITS = 2**27
#: Spectra of more bits than this are not kept for long.
SHORT_BITS = 2**11
#: An error's enclosure follows H up to so many bits; beyond, its width stays.
HEAD_BITS = 2**10
#: Relative width, divided by H, at which the error counts as known: one head
#: more or less changes it by more.
ERROR_WIDTH = Fraction(1, 2**60)

#: Working precision where energies are reported themselves.
ENERGY_BITS = 192


class Spectrum:
    """E_l, T_k and rho_l over the odd degrees, for one capacity and precision.

    ``ridges[i]`` is m_r(l)/N(D,l) and ``ratios[i]`` is rho_l at l = 2i+1.

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
            self.ridges: list[arb] = [arb(capacity.r) / capacity.D]
            above, below = capacity.over_ridge(1)
            self.ratios: list[arb] = [self.ridges[0] * above / below]
        self._first_open: int | None = None
        self._sums: dict[int, list[arb]] = {}

    def extend(self, count: int) -> None:
        """Have ``count`` degrees; call it inside the spectrum's precision."""
        self.series.extend(count)
        # An interrupt may have come between the two appends below.
        del self.ridges[len(self.ratios) :]
        capacity, ridge = self.capacity, self.ridges[-1]
        for i in range(len(self.ratios), count):
            l = 2 * i - 1
            up, down = dimension_ratio(capacity.D, l)
            step = (capacity.r + l) * (capacity.r + l + 1) * down
            ridge = ridge * step / ((l + 1) * (l + 2) * up)
            above, below = capacity.over_ridge(l + 2)
            self.ridges.append(ridge)
            self.ratios.append(ridge * above / below)

    def first_open(self, count: int) -> int:
        """The first index below ``count`` where rho < 1 or nearly so, else ``count``.

        rho falls from there on, which is proved when it is first met.

        Raises
        ------
        UndecidedError
            If that cannot be proved.
        """
        if self._first_open is None:
            for i in range(count):
                if not self.ratios[i] >= 1:
                    if not ratios_fall(self.capacity, 2 * i + 1):
                        raise UndecidedError(
                            f"m(l)/N(D,l) not shown to fall from l = {2 * i + 1}: {self.capacity}"
                        )
                    self._first_open = i
                    break
        return count if self._first_open is None else min(self._first_open, count)

    def limit(self, index: int) -> arb:
        """An upper bound of rho at this index and all later ones.

        m_r(l)/N(D,l) falls in l for r <= D-1: its ratio from l to l+2 is at most
        that for r = D-1, where numerator and denominator differ by 2D-4 >= 0. And
        m(l)/m_r(l) never exceeds its limit.
        """
        return self.ridges[index] * self.capacity.over_ridge_limit

    def weighted_tails(self, count: int) -> list[arb]:
        """S_0..S_{count-1}: sums of E_l rho_l from each degree on.

        The part beyond the last degree is enclosed as tightly as the precision
        is worth where telescoping can. Kept, since questions that differ in eps
        alone, as on a figure, ask for the same few counts.
        """
        if count not in self._sums:
            self._sums[count] = self._weighted_tails(count)
        return self._sums[count]

    def _weighted_tails(self, count: int) -> list[arb]:
        total = self.rest(count - 1, self.series.bits - 64)
        sums = [total]
        for i in range(count - 2, -1, -1):
            total = total + self.energies[i] * self.ratios[i]
            sums.append(total)
        sums.reverse()
        return sums

    def rest(self, index: int, bits: int) -> arb:
        """S at one index, to about ``bits`` relative bits where telescoping can.

        The terms' ratio is a rational function of l by H1 and H3.
        """
        first = self.energies[index] * self.ratios[index]
        bulk = (self.tails[index] * self.limit(index)).upper()
        best = first.union(bulk)
        # Below degree 4D a series in D/l is slow and rho falls geometrically anyway.
        if bulk < first * (1 + arb(2) ** -bits) or index < 2 * self.capacity.D + 16:
            return best
        capacity = self.capacity
        D, r = capacity.D, capacity.r
        l = fmpz_poly([0, 2])
        numerator = over_ridge_numerator(capacity, l)
        next_numerator = over_ridge_numerator(capacity, l + 2)
        above = arb_poly(l**2 * (l + (r - 1)) * (l + (r - 2)) * next_numerator)
        below = arb_poly((l + D) ** 2 * (l + 1) * (l + 2) * numerator)
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


def _spectrum(capacity: Capacity, bits: int) -> Spectrum:
    # Those of thousands of bits take much memory: only a few of them are kept.
    return (_short_spectrum if bits <= SHORT_BITS else _long_spectrum)(capacity, bits)


@lru_cache(maxsize=32)
def _short_spectrum(capacity: Capacity, bits: int) -> Spectrum:
    return Spectrum(capacity, bits)


@lru_cache(maxsize=4)  # the capacities of all classes
def _long_spectrum(capacity: Capacity, bits: int) -> Spectrum:
    return Spectrum(capacity, bits)


def forget_spectra() -> None:
    """Let go of every spectrum and energy series kept: the next question starts cold."""
    for kept in (_short_spectrum, _long_spectrum, energy_series):
        kept.cache_clear()


def _rounded_up(bits: int) -> int:
    # Few different precisions, so that questions alike share their spectra.
    step = max(64, 1 << bits.bit_length() - 3)
    return -(-bits // step) * step


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
    if capacity.takes_all(1):
        return HeadCount(1)
    # Start where tails come down to 2 eps, with some room.
    start = 1
    while start < MAX_TERMS and tail_estimate(capacity.D, 2 * start + 1) > 2 * eps:
        start *= 2
    size = max(0, eps.denominator.bit_length() - eps.numerator.bit_length())
    # Degrees out of reach give a weaker count, for which few digits do.
    bits = _rounded_up(96 + 2 * size) if start < MAX_TERMS else FEW_BITS
    low = 1
    for count in _doublings(start + 8, MAX_TERMS):
        for _ in range(4):
            with working_precision(bits):
                low, high = _crossing(_spectrum(capacity, bits), count, eps, skip)
            if low == high or capacity.takes_all(low):
                return HeadCount(low)
            needed = _rounded_up(128 + 2 * size + low.bit_length())
            if high is None or needed <= bits:
                break
            if needed * count > MAX_SERIES_BITS:
                return HeadCount(
                    low,
                    "the first digits are sharp; the last ones take more memory than is spent",
                    sharp=False,
                )
            bits = needed
    return HeadCount(
        low,
        f"degrees were followed to {2 * MAX_TERMS - 1}; the sharpest count may be larger",
        sharp=False,
    )


def _crossing(spectrum: Spectrum, count: int, eps: Fraction, skip: bool) -> tuple[int, int | None]:
    """Integers that enclose the least H >= 1 with max_k (T_k - H S_k) <= 2 eps.

    The first is always safe: every k gives a valid bound. The second is None
    where the best k may lie beyond the degrees followed.
    """
    spectrum.extend(count)
    goal = 2 * ball(eps)
    sums = spectrum.weighted_tails(count)
    tails, ratios = spectrum.tails, spectrum.ratios
    first = spectrum.first_open(count - 1)
    if skip:
        first = max(first, 1)

    def excess(i: int) -> arb:
        # (T_{i+1} - H S_{i+1} - goal) rho_i at H = 1/rho_i. It has the sign of
        # value(i+1) - value(i), and with rho it falls through 0 at most once.
        return (tails[i + 1] - goal) * ratios[i] - sums[i + 1]

    def value(i: int) -> arb:
        return (tails[i] - goal) / sums[i]

    inner = range(first, count - 1)
    k = first + bisect_left(inner, True, key=lambda i: bool(excess(i).mid() <= 0))
    best = arb(1)
    for i in range(max(first, k - 1), min(k + 2, count)):
        best = best.max(value(i))
    low = int(best.lower().ceil().unique_fmpz() or 1)
    if k >= count - 1:
        return low, None
    if not excess(k) < 0 or (k - 2 >= first and not excess(k - 2) > 0):
        return low, low + 1
    return low, int(best.upper().ceil().unique_fmpz() or low + 1)


def odd_energies(D: int, count: int) -> list[Enclosure]:
    """E_1, E_3, ..., as many as asked for."""
    series = energy_series(D, ENERGY_BITS)
    with working_precision(ENERGY_BITS):
        series.extend(count)
        return [enclosure(energy) for energy in series.energies[:count]]


def error_at(capacity: Capacity, heads: int, skip: bool) -> Enclosure:
    """1/2 sum_l E_l max(0, 1 - H rho_l) over odd l, for H >= 1."""
    if capacity.takes_all(heads):
        return Enclosure.exactly(0)
    best, size = Enclosure(Fraction(0), Fraction(1, 2)), heads.bit_length()
    for count in _doublings(32, MAX_TERMS):
        with working_precision(FEW_BITS):
            rough = _spectrum(capacity, FEW_BITS)
            rough.extend(count)
            reached = bool(heads * rough.ratios[count - 1] < 1)
        if not reached and count < MAX_TERMS:
            continue
        bits = _rounded_up(192 + 2 * min(size, HEAD_BITS)) if reached else FEW_BITS
        with working_precision(bits):
            spectrum = _spectrum(capacity, bits)
            spectrum.extend(count)
            ratios, tails = spectrum.ratios, spectrum.tails
            first = spectrum.first_open(count - 1)
            if skip:
                first = max(first, 1)
            # Any suffix gives a lower bound; the one that starts where H rho
            # first is < 1 is the largest.
            k = first + bisect_left(
                range(first, count - 1), True, key=lambda i: bool(heads * ratios[i] < 1)
            )
            sums = spectrum.weighted_tails(count)
            total = (tails[k] - heads * sums[k]).nonnegative_part()
            open_end = k == count - 1 and not heads * ratios[k] < 1
            highest = tails[k] if open_end else total
            # Where H rho is 1 up to rounding, the degree before may be the first.
            while k > first and not heads * ratios[k - 1] >= 1:
                k -= 1
                total = total.max(tails[k] - heads * sums[k])
                highest = highest.max(total)
            found = Enclosure(enclosure(total / 2).lo, enclosure(highest / 2).hi)
        best = Enclosure(max(best.lo, found.lo), min(best.hi, found.hi))
        if best.width * (1 << min(size, HEAD_BITS)) < best.lo * ERROR_WIDTH:
            break
    return best
