"""Integrals over the sphere in balls, each with its error enclosed.

With t = sin(theta) the density c_D (1-t^2)^{(D-3)/2} dt becomes
c_D cos(theta)^{D-2} d theta, which is entire, also at D = 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import flint
from flint import acb, acb_poly, arb, fmpq_poly


def real_integral(f: Callable[[acb], acb], lo: arb, hi: arb) -> arb:
    """The integral from lo to hi of a function that is analytic there and real on it."""
    value = acb.integral(lambda z, _: f(z), acb(lo), acb(hi))
    return value.real


def sphere_integral(D: int, g: Callable[[acb], acb], lo: arb, hi: arb) -> arb:
    """c_D times the integral of g(theta) cos(theta)^{D-2} over angles from lo to hi.

    Parameters
    ----------
    D : int
    g : callable
        An entire function of the angle theta, t = sin(theta).
    lo, hi : arb
        In [-pi/2, pi/2].
    """
    return density_constant(D) * real_integral(lambda z: g(z) * z.cos() ** (D - 2), lo, hi)


def density_constant(D: int) -> arb:
    """c_D, as one over the integral of the density's shape.

    Examples
    --------
    >>> abs(density_constant(3) - 0.5) < 1e-15
    True
    """
    return _density_constant(D, flint.ctx.prec)


@cache
def _density_constant(D: int, bits: int) -> arb:
    return 1 / (2 * real_integral(lambda z: z.cos() ** (D - 2), arb(0), quarter_turn()))


def quarter_turn() -> arb:
    """pi/2."""
    return arb.pi() / 2


def of_sine(p: fmpq_poly) -> Callable[[acb], acb]:
    """p(sin(theta)) as a function of the angle."""
    q = acb_poly(p)
    return lambda theta: q(theta.sin())
