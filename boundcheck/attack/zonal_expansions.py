"""Harmonic parts of p(<k,x>) times a linear or quadratic form on the sphere.

For f a polynomial and h a solid harmonic of degree m on the complement of k, the degree-l
part of f(t) h(x), t = <k,x>, is the coefficient of f at P_{l-m} in dimension d + 2m, times
P_{l-m}^{[d+2m]}(t) h(x). And P_{l-m}^{[d+2m]} is the m-th derivative of P_l, up to a factor.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from boundcheck.harmonics import harmonic_dimension, sign_coefficient

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Expansions:
    """Coefficients (J, degree + 3) of p_j, j = 1, 3, ..., degree, by the degree l.

    p_j is P_j scaled to mean square 1.

    Attributes
    ----------
    d, degree : int
    p, tp, ttp : ndarray
        Of p_j(t), t p_j(t) and t^2 p_j(t) by P_l(t).
    p1, tp1 : ndarray
        Of p_j(t) and t p_j(t) times a linear form w.x, w across k, by w.grad P_l.
    p2 : ndarray
        Of p_j(t) times a traceless quadratic form W across k, by W:grad grad P_l.
    norms : ndarray
        E P_l(t)^2 = 1/N(d,l).
    seen : ndarray
        lambda_l^2 / N(d,l): what sign<x,y> keeps of each degree.
    """

    d: int
    degree: int
    p: FloatArray
    tp: FloatArray
    ttp: FloatArray
    p1: FloatArray
    tp1: FloatArray
    p2: FloatArray
    norms: FloatArray
    seen: FloatArray

    @property
    def top(self) -> int:
        """The largest degree l that occurs."""
        return self.degree + 2


@lru_cache(maxsize=16)
def expansions(d: int, degree: int) -> Expansions:
    """The expansions for odd polynomials up to an odd degree.

    Examples
    --------
    x = sqrt(3) P_1 at d = 3, and t P_1 = P_0/3 + 2 P_2/3:

    >>> found = expansions(3, 1)
    >>> (found.p[0, 1] ** 2).round(12), (found.tp[0] / found.p[0, 1]).round(12) + 0
    (np.float64(3.0), array([0.33333333, 0.        , 0.66666667, 0.        ]))
    """
    top = degree + 2
    dimensions = np.array([float(harmonic_dimension(d, l)) for l in range(top + 1)])
    odd = np.arange(1, degree + 1, 2)

    def p(t: FloatArray) -> FloatArray:
        values: FloatArray = legendre_values(d, t, top)[odd] * np.sqrt(dimensions[odd])[:, None]
        return values

    def expanded(f: Callable[[FloatArray], FloatArray], m: int) -> FloatArray:
        D = d + 2 * m
        t, weights = _gauss(D, degree + 6)
        N = np.array([float(harmonic_dimension(D, n)) for n in range(top + 1 - m)])
        found = np.zeros((len(odd), top + 1))
        found[:, m:] = (f(t) * weights) @ legendre_values(D, t, top - m).T * N
        factors = derivative_factors(d, top, m)
        factors[:m] = 1.0
        return found / factors

    seen = np.array([float(sign_coefficient(d, l)) ** 2 for l in range(top + 1)])
    return Expansions(
        d=d,
        degree=degree,
        p=expanded(p, 0),
        tp=expanded(lambda t: t * p(t), 0),
        ttp=expanded(lambda t: t * t * p(t), 0),
        p1=expanded(p, 1),
        tp1=expanded(lambda t: t * p(t), 1),
        p2=expanded(p, 2),
        norms=1 / dimensions,
        seen=seen / dimensions,
    )


def legendre_values(D: int, t: FloatArray, top: int) -> FloatArray:
    """P_0(t), ..., P_top(t) in dimension D, of shape (top + 1, *t.shape)."""
    values = np.empty((top + 1, *t.shape))
    values[0] = 1.0
    if top:
        values[1] = t
    for l in range(1, top):
        values[l + 1] = ((2 * l + D - 2) * t * values[l] - l * values[l - 1]) / (l + D - 2)
    return values


def legendre_derivatives(d: int, t: FloatArray, top: int, orders: int) -> list[FloatArray]:
    """P_l and its derivatives up to that order, each (top + 1, *t.shape).

    Examples
    --------
    >>> P, slope, bend = legendre_derivatives(3, np.array(0.5), 2, 2)
    >>> P[2], slope[2], bend[2]  # P_2 = (3 t^2 - 1)/2
    (np.float64(-0.125), np.float64(1.5), np.float64(3.0))
    """
    found = []
    for m in range(orders + 1):
        values = np.zeros((top + 1, *t.shape))
        if m <= top:
            factors = derivative_factors(d, top, m)[m:].reshape(-1, *(1,) * t.ndim)
            values[m:] = factors * legendre_values(d + 2 * m, t, top - m)
        found.append(values)
    return found


def derivative_factors(d: int, top: int, order: int) -> FloatArray:
    """The m-th derivative of P_l over P_{l-m} in dimension d + 2m, for l = 0, ..., top."""
    l = np.arange(top + 1.0)
    factors = np.ones(top + 1)
    for m in range(order):
        factors *= (l - m) * (l + d - 2 + m) / (d - 1 + 2 * m)
    return factors


def _gauss(D: int, count: int) -> tuple[FloatArray, FloatArray]:
    """Nodes and weights for the law of <x,e> on S^{D-1}."""
    from scipy.special import roots_jacobi

    t, weights = roots_jacobi(count, (D - 3) / 2, (D - 3) / 2)
    return np.asarray(t), np.asarray(weights / weights.sum())
