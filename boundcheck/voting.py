"""How often one low-rank head votes for the nearer point, and a majority of them (U4).

For t = <x, y> = sin(theta) and a Haar d x r matrix U, kappa_r(t) = E sign<U^T x, U^T y>
is the vote's advantage and p_r(t) = (1 + kappa_r(t)) / 2 the probability of a right
vote. Differentiating U4's p_r(t) = E_B F(t sqrt(B) / sqrt((1-t^2)(1-B))) in theta and
substituting B gives, without the kink of F,

    d kappa_r / d theta = kappa_r'(0) E_W[(1 + tan^2(theta) / W)^{-(r-1)/2}],
    W ~ Beta((d-r-1)/2, (r+1)/2),

so one integration from 0 gives kappa_r at all nodes of an outer quadrature.
numpy is loaded at module level: import this module where it is used.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from boundcheck.quadrature import (
    COARSE,
    CUT,
    FINE,
    Array,
    Level,
    Panels,
    angular_width,
    beta_rule,
    density_scale,
    gamma_ratio,
    gauss_legendre,
    graded_edges,
    half_sphere_panels,
)

#: Nodes per value of `centred_coordinate_mass`: enough for a Gaussian up to 9 deviations.
_MASS_ORDER = 28


def centred_coordinate_mass(n: int, s: Array) -> Array:
    """P(|x_1| <= s) for x uniform on S^{n-1}, odd in s: 2 F_n(s) - 1.

    Parameters
    ----------
    n : int
        n >= 2, of any size.
    s : ndarray
        In [-1, 1].

    Returns
    -------
    ndarray
        In [-1, 1]; small values keep their relative accuracy.

    Examples
    --------
    >>> round(float(centred_coordinate_mass(3, np.array([0.25]))[0]), 12)
    0.25
    """
    angles = np.arcsin(np.abs(s))
    width = angular_width(n)
    x, w = gauss_legendre(_MASS_ORDER)
    nodes = np.minimum(angles, width)[..., None] * (0.5 * (1 + x))
    inside = np.exp(0.5 * (n - 2) * np.log1p(-(np.sin(nodes) ** 2))) @ (0.5 * w)
    mass = np.minimum(1.0, 2 * density_scale(n) * angles * inside)
    signed: Array = np.copysign(np.where(angles < width, mass, 1.0), s)
    return signed


def coordinate_cdf(n: int, s: Array) -> Array:
    """F_n(s) = P(x_1 <= s) for x uniform on S^{n-1}.

    The binomial tail is one of these: for odd H, P(Bin(H, p) < H/2) = 1 - F_{H+2}(2p - 1).

    Parameters
    ----------
    n : int
        n >= 2, of any size.
    s : ndarray
        In [-1, 1].

    Examples
    --------
    >>> round(float(coordinate_cdf(3, np.array([0.5]))[0]), 12)
    0.75
    """
    cdf: Array = 0.5 + 0.5 * centred_coordinate_mass(n, s)
    return cdf


def advantage_slope_at_zero(d: int, r: int) -> float:
    """kappa_r'(0), for 1 <= r <= d - 2; it is infinite beyond.

    Examples
    --------
    >>> round(advantage_slope_at_zero(8, 1) * math.pi, 12)
    2.0
    """
    ratios = gamma_ratio((d - 2) / 2) * gamma_ratio(r / 2) / gamma_ratio((d - r - 1) / 2)
    return 2 / math.sqrt(math.pi) * ratios


def _advantage_slope(d: int, r: int, angles: Array, level: Level) -> Array:
    """d kappa_r / d theta at angles in (0, pi/2), for 2 <= r <= d - 1."""
    square = np.tan(angles)[..., None] ** 2
    power = (r - 1) / 2
    if r == d - 1:
        # The Beta law has no mass left at W > 0: integrate over log(W/(1-W)) from where
        # tan^2(theta) / W cuts the integrand off.
        lowest = math.log(float(square.min()) if square.size else 1.0)
        left = lowest - CUT / power - 4
        right = math.log(2 * CUT / d) if d > 2 * CUT else 2 * CUT / d + 1
        count = math.ceil((right - left) / level.logit_step)
        logits = left + (right - left) / count * np.arange(count + 1)
        weights = (d - 2) / math.pi * (right - left) / count * (1 + np.exp(logits)) ** (-d / 2)
    else:
        logits, weights = beta_rule((d - r - 1) / 2, (r + 1) / 2, level)
        weights = advantage_slope_at_zero(d, r) * weights
    slope: Array = np.exp(-power * np.log1p(square * (1 + np.exp(-logits)))) @ weights
    return slope


def _advantage(d: int, r: int, panels: Panels, level: Level) -> tuple[Array, Array]:
    """kappa_r(sin theta) at the nodes and edges of panels that start at angle 0."""
    if r == d:
        return np.ones_like(panels.nodes), np.sign(panels.edges)
    if r == 1:
        return 2 / math.pi * panels.nodes, 2 / math.pi * panels.edges
    at_nodes, at_edges = panels.antiderivative(_advantage_slope(d, r, panels.nodes, level))
    return np.minimum(1.0, at_nodes), np.minimum(1.0, at_edges)


def _finest_angle(d: int, r: int, halvings: int = 0) -> float:
    """The smallest angle to resolve near 0: the one on which kappa_r varies, halved."""
    if r in (1, d):
        return 0.5**halvings
    # Close to full rank kappa_r is not analytic at 0: theta^{d-r} log(theta) enters.
    least = 36 if d - r == 1 else 9 if d - r <= 6 else 0
    varies = math.sqrt(2 * (d - r) / (d * (r + 1))) / 2
    return varies * 0.5 ** max(least, halvings)


def vote_advantage(d: int, r: int, t: Array) -> Array:
    """kappa_r(t) = E sign<U^T x, U^T y> for t = <x, y> and Haar U, odd in t (U3r).

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    t : ndarray
        In [-1, 1].

    Returns
    -------
    ndarray
        In [-1, 1].

    Examples
    --------
    >>> round(float(vote_advantage(8, 1, np.array([0.5]))[0] * 3), 12)
    1.0
    """
    angles = np.abs(np.arcsin(t))
    edges = graded_edges(0.0, math.pi / 2, (0.0,), _finest_angle(d, r))
    edges = np.unique(np.concatenate([edges, angles.ravel()]))
    _, at_edges = _advantage(d, r, Panels.of(edges, FINE.order), FINE)
    advantage: Array = np.copysign(at_edges[np.searchsorted(edges, angles)], t)
    return advantage


def right_vote_probability(d: int, r: int, t: Array) -> Array:
    """p_r(t): a rank-r Haar head picks the nearer point, <x, y> = t (U4).

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    t : ndarray
        |t| <= 1; only |t| matters.

    Examples
    --------
    >>> float(right_vote_probability(8, 8, np.array([0.1]))[0])
    1.0
    """
    probability: Array = 0.5 + 0.5 * vote_advantage(d, r, np.abs(t))
    return probability


@dataclass(frozen=True, slots=True, eq=False)
class AdvantageLaw:
    """The law of kappa_r(|t|) for x, y uniform, as nodes and weights.

    Parameters
    ----------
    advantages, weights : ndarray, shape (m,)
        Increasing values of kappa_r(|t|) and their probabilities.
    """

    advantages: Array
    weights: Array

    def mean(self, values: Array) -> float:
        """E of a function given by its values at ``advantages``."""
        return float(values @ self.weights)


def advantage_laws(d: int, r: int, halvings: int = 0) -> tuple[AdvantageLaw, AdvantageLaw]:
    """The law of kappa_r(|t|) at the levels FINE and COARSE.

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    halvings : int
        The nodes resolve angles down to 2^-halvings of the angle on which
        kappa_r and the density vary.
    """
    return _advantage_laws(d, r, min(_finest_angle(d, r, halvings), angular_width(d) / 8))


@lru_cache(maxsize=32)
def _advantage_laws(d: int, r: int, scale: float) -> tuple[AdvantageLaw, AdvantageLaw]:
    laws = []
    for level in (FINE, COARSE):
        panels, weights = half_sphere_panels(d, scale, level)
        at_nodes, _ = _advantage(d, r, panels, level)
        laws.append(AdvantageLaw(at_nodes.ravel(), weights.ravel()))
    return laws[0], laws[1]
