"""Rigorous tails of slowly converging positive series, by telescoping.

For terms u_0, u_1, ... > 0 with u_{j+1}/u_j = f(j)/g(j), polynomials of one
degree and one leading coefficient, look for A with A(j) u_j - A(j+1) u_{j+1}
close to u_j. If it is u_j (1 + e_j) with |e_j| <= delta for all j >= 0, the
sum is A(0) u_0 / (1 + e), |e| <= delta. A is a truncated series in 1/(j + start)
with any coefficients; only delta has to be proved, and it is, on the
coefficients of polynomials: |sum p_i j^i| / sum q_i j^i <= max |p_i| / q_i
where all q_i > 0.
"""

from __future__ import annotations

from flint import arb, arb_poly, ctx

from boundcheck.balls import working_precision


def _expansion(above: arb_poly, below: arb_poly, order: int) -> list[arb]:
    # The ratio as a power series in 1/n.
    degree = below.degree()
    top = [above[degree - i] if i <= degree else arb(0) for i in range(order)]
    bottom = [below[degree - i] if i <= degree else arb(0) for i in range(order)]
    out: list[arb] = []
    for i in range(order):
        total = top[i]
        for j in range(max(0, i - degree), i):
            total = total - out[j] * bottom[i - j]
        out.append(total / bottom[0])
    return out


def _telescoper(above: arb_poly, below: arb_poly, order: int) -> list[arb]:
    """a_0..a_order with sum_j a_j n^(1-j) the formal solution of A(n) - ratio A(n+1) = 1."""
    # row[m] is the coefficient of n^-m in ratio * (1 + 1/n)^(1-j).
    row = _expansion(above, below, order + 2)
    row = [row[0]] + [row[m] + row[m - 1] for m in range(1, order + 2)]
    coefficients: list[arb] = []
    pending = [arb(0)] * (order + 1)
    pending[0] = arb(-1)
    for j in range(order + 1):
        a = (pending[j] / row[1]).mid()
        coefficients.append(a)
        for m in range(2, order + 2 - j):
            pending[j + m - 1] = pending[j + m - 1] - a * row[m]
        for m in range(1, order + 2):
            row[m] = row[m] - row[m - 1]
    return coefficients


def _shifted(poly: arb_poly, by: arb) -> arb_poly:
    return poly(arb_poly([by, 1]))


def telescoped_sum(above: arb_poly, below: arb_poly, start: arb, first: arb, order: int) -> arb:
    """Enclose u_0 + u_1 + ... at the working precision.

    Parameters
    ----------
    above, below : arb_poly
        u_{j+1}/u_j = above(n)/below(n) at n = start + j; equal degrees and
        leading coefficients, and the sum converges (u_j falls faster than 1/j).
    start : arb
        n of the first term, exact, positive.
    first : arb
        u_0 > 0.
    order : int
        Terms of the telescoper; the width falls like start^-order at first.

    Returns
    -------
    arb
        Contains the sum; infinite radius where nothing could be proved.

    Examples
    --------
    Terms 1/n^2 from n = 10 on: pi^2/6 less nine terms.

    >>> above, below = arb_poly([0, 0, 1]), arb_poly([1, 2, 1])
    >>> s = telescoped_sum(above, below, arb(10), arb(1) / 100, 12)
    >>> s.overlaps(arb.pi() ** 2 / 6 - sum(arb(1) / n**2 for n in range(1, 10)))
    True
    >>> bool(s.rad() < 1e-10)
    True
    """
    bits = ctx.prec
    nothing = arb(0, "inf")
    with working_precision(bits + 64 + 2 * order):
        coefficients = _telescoper(above, below, order)
        alpha = arb_poly(coefficients[::-1])
        f, g = _shifted(above, start), _shifted(below, start)
        here, there = _shifted(alpha, start), _shifted(alpha, start + 1)
        n_power = arb_poly([start, 1]) ** (order - 1)
        next_power = arb_poly([start + 1, 1]) ** (order - 1)
        bottom = n_power * next_power * g
        top = here * next_power * g - f * there * n_power - bottom
        delta = arb(0)
        for i in range(bottom.degree() + 1):
            if not bottom[i] > 0:
                return nothing
            delta = delta.max(abs(top[i]) / bottom[i])
        delta = delta.upper()
        if not delta < 1:
            return nothing
        value = first * here[0] / n_power[0]
        return (value / (1 + delta)).union(value / (1 - delta))
