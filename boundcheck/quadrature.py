"""Expectations on the sphere and under the Beta law, each with an error estimate.

Everything is computed twice, at a fine and a coarse `Level`; the difference is
the error estimate of the fine value. numpy is loaded at module level: import
this module where it is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from boundcheck.values import Numeric

Array = NDArray[np.float64]

#: Laws are cut where their density has fallen to exp(-CUT) of its peak.
CUT = 40.0
#: Rounding of a sum of terms with relative errors of some ulp, relative to the sum of |terms|.
ROUNDING = 2.0**-44


@dataclass(frozen=True, slots=True)
class Level:
    """How finely to integrate.

    Parameters
    ----------
    order : int
        Gauss-Legendre nodes per panel.
    deviation_step, logit_step : float
        The trapezoidal step of `beta_rule` is at most ``deviation_step``
        standard deviations and at most ``logit_step``. For analytic integrands
        the error is about exp(-2 pi^2 / deviation_step^2) or exp(-pi^2 / logit_step).
    """

    order: int
    deviation_step: float
    logit_step: float


#: Coefficients of Gamma(x + 1/2) / (Gamma(x) sqrt(x)) in 1/x, the highest power first.
_GAMMA_RATIO_SERIES = (869 / 2**22, -399 / 2**18, -21 / 2**15, 5 / 2**10, 1 / 2**7, -1 / 8, 1.0)

FINE = Level(20, 0.70, 0.25)
COARSE = Level(14, 0.80, 0.30)
#: `sphere_expectation` resolves this fraction of the density's width unless told otherwise.
DEFAULT_SCALE = 2.0**-24


def numeric_value(fine: float, coarse: float, magnitude: float) -> Numeric:
    """The fine value with its error estimate.

    Parameters
    ----------
    fine, coarse : float
        The same quantity at the levels `FINE` and `COARSE`.
    magnitude : float
        E|g|, or another scale of the terms summed, for the rounding error.
    """
    return Numeric(fine, abs(fine - coarse) + ROUNDING * magnitude)


def gamma_ratio(x: float) -> float:
    """Gamma(x + 1/2) / Gamma(x) for x > 0, to a few ulp for any size of x.

    Examples
    --------
    >>> round(gamma_ratio(0.5) * math.sqrt(math.pi), 12)
    1.0
    >>> gamma_ratio(1e18) / 1e9
    1.0
    """
    if x < 60:
        return math.gamma(x + 0.5) / math.gamma(x)
    # The asymptotic series; the first term left out is below 1e-15 there.
    series = 0.0
    for coefficient in _GAMMA_RATIO_SERIES:
        series = series / x + coefficient
    return math.sqrt(x) * series


def density_scale(D: int) -> float:
    """c_D = Gamma(D/2) / (sqrt(pi) Gamma((D-1)/2)) in floating point (section 1).

    Examples
    --------
    >>> round(density_scale(3), 12)
    0.5
    """
    return gamma_ratio((D - 1) / 2) / math.sqrt(math.pi)


@lru_cache(maxsize=8)
def gauss_legendre(order: int) -> tuple[Array, Array]:
    """The nodes and weights of that order on [-1, 1], shared and read-only."""
    nodes, weights = np.polynomial.legendre.leggauss(order)
    nodes.flags.writeable = weights.flags.writeable = False
    return nodes, weights


@lru_cache(maxsize=8)
def _integration_matrix(order: int) -> Array:
    """S with (S f)_i = integral from -1 to node i of the polynomial through f."""
    x, w = gauss_legendre(order)
    P = np.polynomial.legendre.legvander(x, order)
    k = np.arange(1, order)
    # Coefficient k of f is (2k+1)/2 sum_j w_j P_k(x_j) f_j, and the integral of
    # (2k+1) P_k from -1 is P_{k+1} - P_{k-1}.
    steps = np.concatenate([(x + 1)[:, None], P[:, k + 1] - P[:, k - 1]], axis=1)
    S: Array = 0.5 * steps @ (P[:, :order] * w[:, None]).T
    return S


@dataclass(frozen=True, slots=True, eq=False)
class Panels:
    """Gauss-Legendre nodes on consecutive intervals.

    Parameters
    ----------
    edges : ndarray, shape (p + 1,)
        Increasing.
    nodes, weights : ndarray, shape (p, order)
    """

    edges: Array
    nodes: Array
    weights: Array

    @classmethod
    def of(cls, edges: Array, order: int) -> Panels:
        """The nodes between ``edges``."""
        x, w = gauss_legendre(order)
        half = np.diff(edges)[:, None] / 2
        return cls(edges, edges[:-1, None] + half * (1 + x), half * w)

    def antiderivative(self, values: Array) -> tuple[Array, Array]:
        """The integral from the first edge to every node, and to every edge.

        Parameters
        ----------
        values : ndarray, shape (p, order)
            The integrand at the nodes.

        Returns
        -------
        at_nodes : ndarray, shape (p, order)
        at_edges : ndarray, shape (p + 1,)
        """
        at_edges = np.concatenate([[0.0], np.cumsum((self.weights * values).sum(axis=1))])
        half = np.diff(self.edges)[:, None] / 2
        inside = half * (values @ _integration_matrix(self.nodes.shape[1]).T)
        return at_edges[:-1, None] + inside, at_edges


def angular_width(D: int) -> float:
    """The angle beyond which cos^{D-2}, the density of arcsin t, is below exp(-CUT)."""
    return min(math.pi / 2, math.sqrt(2 * CUT / (D - 2))) if D > 2 else math.pi / 2


def graded_edges(lo: float, hi: float, centres: Iterable[float], scale: float) -> Array:
    """Panel edges in [lo, hi] that halve towards every centre, down to ``scale``.

    With them an integrand that varies like a Gaussian of any width from
    ``scale`` to hi - lo around a centre is resolved, wherever its width lies.
    """
    levels = max(1, math.ceil(math.log2((hi - lo) / scale))) if scale < hi - lo else 1
    offsets = (hi - lo) * 0.5 ** np.arange(levels + 1)
    points = [np.array([lo, hi])]
    for centre in centres:
        points += [np.array([centre]), centre - offsets, centre + offsets]
    edges = np.unique(np.concatenate(points))
    return edges[(edges >= lo) & (edges <= hi)]


def half_sphere_panels(D: int, scale: float, level: Level) -> tuple[Panels, Array]:
    """Nodes and weights for E[g(|t|)], t = <x, e>, x uniform on S^{D-1}.

    Parameters
    ----------
    D : int
        D >= 2.
    scale : float
        The smallest angle on which g varies near 0.
    level : Level

    Returns
    -------
    panels : Panels
        Over the angle arcsin|t|.
    weights : ndarray, shape of panels.nodes
        They include the density of the angle.
    """
    width = angular_width(D)
    panels = Panels.of(graded_edges(0.0, width, (0.0,), min(scale, width / 8)), level.order)
    return panels, 2 * panels.weights * _angular_density(D, panels.nodes)


def _angular_density(D: int, angles: Array) -> Array:
    density: Array = density_scale(D) * np.exp(0.5 * (D - 2) * np.log1p(-(np.sin(angles) ** 2)))
    return density


def sphere_expectation(
    g: Callable[[Array], Array],
    D: int,
    *,
    kinks: Iterable[float] = (),
    scale: float | None = None,
) -> Numeric:
    """E[g(t)] for t = <x, e>, x uniform on S^{D-1}.

    Parameters
    ----------
    g : callable
        Takes an array of t in [-1, 1], returns an array of the same shape;
        piecewise analytic, of moderate growth.
    D : int
        D >= 2.
    kinks : iterable of float
        Points of (-1, 1) where g is not analytic; 0 is always taken as one.
        The error estimate cannot be relied on where one is left out.
    scale : float, optional
        The smallest length on which g varies near 0 and near the kinks;
        by default 2^-24 of the density's width, which is about 9/sqrt(D).

    Returns
    -------
    Numeric

    Examples
    --------
    >>> second_moment = sphere_expectation(lambda t: t**2, 10**6)
    >>> abs(second_moment.value - 1e-6) <= second_moment.error_estimate < 1e-16
    True
    """
    width = angular_width(D)
    centres = {0.0, *(math.asin(kink) for kink in kinks)}
    edges = graded_edges(
        -width, width, centres, min(scale or 0.0, width / 8) or width * DEFAULT_SCALE
    )

    def at(level: Level) -> tuple[float, float]:
        panels = Panels.of(edges, level.order)
        terms = panels.weights * _angular_density(D, panels.nodes) * g(np.sin(panels.nodes))
        return float(np.sum(terms)), float(np.sum(np.abs(terms)))

    (fine, magnitude), (coarse, _) = at(FINE), at(COARSE)
    answer = numeric_value(fine, coarse, magnitude)
    if width == math.pi / 2:
        return answer
    beyond = math.exp(-CUT) * float(np.max(np.abs(g(np.sin(np.array([-width, width]))))))
    return Numeric(answer.value, answer.error_estimate + beyond)


def beta_rule(a: float, b: float, level: Level) -> tuple[Array, Array]:
    """Nodes and weights for the Beta(a, b) law of B, in s = log(B / (1-B)).

    In s the density is analytic and log-concave even where a or b is 1/2, so
    the trapezoidal rule converges faster than any power of its step.

    Parameters
    ----------
    a, b : float
        Positive.
    level : Level

    Returns
    -------
    logits, weights : ndarray
        The weights sum to 1.
    """
    mode = a / (a + b)
    deviation = math.sqrt(1 / a + 1 / b)
    step = min(level.deviation_step * deviation, level.logit_step)

    def log_density(x: float) -> float:
        # Relative to the mode, at distance x; the linear parts cancel in each
        # term, so that a, b = 10^6 lose no digits. expm1 overflows beyond 700.
        return -a * _log_mix(1 - mode, -x) - b * _log_mix(mode, x)

    reach = []
    for sign in (-1.0, 1.0):
        end = deviation
        while log_density(sign * end) > -CUT:
            end *= 1.25
        reach.append(math.ceil(end / step))
    x = step * np.arange(-reach[0], reach[1] + 1, dtype=np.float64)
    weights: Array = np.exp(
        -a * np.log1p((1 - mode) * np.expm1(-x)) - b * np.log1p(mode * np.expm1(x))
    )
    return math.log(a / b) + x, weights / weights.sum()


def _log_mix(share: float, x: float) -> float:
    """log(1 - share + share e^x)."""
    return x + math.log(share) if x > 500 else math.log1p(share * math.expm1(x))


def beta_expectation(g: Callable[[Array], Array], a: float, b: float) -> Numeric:
    """E[g(B)] for B ~ Beta(a, b) and g analytic on (0, 1).

    Parameters
    ----------
    g : callable
        Takes an array of values of B, returns an array of the same shape.
    a, b : float
        Positive.

    Returns
    -------
    Numeric

    Examples
    --------
    >>> mean = beta_expectation(lambda B: B, 0.5, 1.5)
    >>> abs(mean.value - 0.25) <= mean.error_estimate < 1e-8
    True
    """

    def at(level: Level) -> tuple[float, float]:
        logits, weights = beta_rule(a, b, level)
        terms = weights * g(1 / (1 + np.exp(-logits)))
        return float(np.sum(terms)), float(np.sum(np.abs(terms)))

    (fine, magnitude), (coarse, _) = at(FINE), at(COARSE)
    return numeric_value(fine, coarse, magnitude)
