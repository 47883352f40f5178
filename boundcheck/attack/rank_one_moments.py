"""E sign<x,y> sign<q,y> sign<k,x> x x^T for rank-one hardmax heads, and its derivatives.

Taking the mean over x first gives E_y[sign<q,y> (2/(pi d)) M(k, y)] with M as in
`sign_moments`. Let k, e be orthonormal with q = s k + sigma e and y = c k + y_e e + ...;
what is left are the functions of s

    m_1 = E sign<q,y> c sqrt(1-c^2),        m_2 = E sign<q,y> c y_e^2 / sqrt(1-c^2),
    m_3 = E sign<q,y> y_e sqrt(1-c^2),

and K2's b(s). As q turns, each changes by an integral over the length rho = tanh w of y's
part in the plane of k and e, whose law is (d-2) tanh(w) sech(w)^{d-2} dw; the integrals over
s are elementary. In w the integrands are even and analytic for |Im w| < pi/2, so the
trapezoidal rule gives all digits.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from boundcheck.constructions.rank_one_error import target_correlation, target_correlation_slope

FloatArray = NDArray[np.float64]

#: The integrands are cut where they have fallen by exp(-_CUT).
_CUT = 42.0
#: Closer to q = +-k than this in s, coefficients that divide by sigma^2 are extended linearly.
_NEAR = 5e-5


def target_moments(q: FloatArray, k: FloatArray) -> FloatArray:
    """E sign<x,y> sign<q_h,y> sign<k_h,x> x x^T for unit rows (H, d), of shape (H, d, d).

    Examples
    --------
    Its trace is K2's b, 1/2 at d = 2 where q = k:

    >>> q = np.array([[0.6, 0.8]])
    >>> round(float(np.trace(target_moments(q, q)[0])), 12)
    0.5
    """
    d = q.shape[1]
    s = _cosines(q, k)
    b, m, n = (values for values, _ in _functions(d, s))
    kk = k[:, :, None] * k[:, None, :]
    off = q - s[:, None] * k
    ke = k[:, :, None] * off[:, None, :]
    moments = (2 / math.pi) * (
        (m[0] + m[1])[:, None, None] * kk
        - n[0][:, None, None] * (off[:, :, None] * off[:, None, :])
        + n[1][:, None, None] * (ke + ke.transpose(0, 2, 1))
    )
    moments += (b - 2 / math.pi * m[1])[:, None, None] * np.eye(d)
    return np.asarray(moments / d)


def target_moments_gradient(
    q: FloatArray, k: FloatArray, into: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The derivatives of sum_h tr(into_h target_moments_h) by q and k, each (H, d).

    Only their parts across q and k are meant; into (H, d, d) is symmetric.
    """
    d = q.shape[1]
    s = _cosines(q, k)
    (_, b_slope), (m, m_slope), (n, n_slope) = _functions(d, s)
    into_k, into_q = (np.einsum("hab,hb->ha", into, A) for A in (k, q))
    kk, qk, qq = (np.sum(A * B, axis=1) for A, B in ((k, into_k), (q, into_k), (q, into_q)))
    trace = np.trace(into, axis1=1, axis2=2)
    off, between = qq - 2 * s * qk + s * s * kk, qk - s * kk
    by_s = b_slope * trace + (2 / math.pi) * (
        (m_slope[0] + m_slope[1]) * kk
        - m_slope[1] * trace
        - n_slope[0] * off
        + 2 * n[0] * between
        + 2 * n_slope[1] * between
        - 2 * n[1] * kk
    )
    both = n[0] * s + n[1]
    by_q = (4 / math.pi) * (-n[0][:, None] * into_q + both[:, None] * into_k)
    by_k = (4 / math.pi) * (
        (m[0] + m[1] - n[0] * s * s - 2 * n[1] * s)[:, None] * into_k + both[:, None] * into_q
    )
    by_q += by_s[:, None] * k
    by_k += by_s[:, None] * q
    return by_q / d, by_k / d


def _cosines(q: FloatArray, k: FloatArray) -> FloatArray:
    return np.asarray(np.clip(np.sum(q * k, axis=1), -1.0, 1.0))


_WithSlope = tuple[FloatArray, FloatArray]


def _functions(d: int, s: FloatArray) -> tuple[_WithSlope, _WithSlope, _WithSlope]:
    """b; (m_1, m) and ((m_2 - m) / sigma^2, m_3 / sigma), each with its derivatives by s.

    m = (m_1 - m_2)/(d-2) belongs to the directions across k and e.
    """
    b = target_correlation(d, s), target_correlation_slope(d, s)
    m, m_slope, _, _ = _coefficients(d, s)
    inner = np.clip(s, _NEAR - 1, 1 - _NEAR)
    _, _, n, n_slope = _coefficients(d, inner)
    return b, (m, m_slope), (n + n_slope * (s - inner), n_slope)


def _coefficients(d: int, s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """The last two pairs of `_functions`, each pair followed by its derivatives."""
    m1, m1_slope, m2, m2_slope, m3 = _integrals(d, s)
    # In the plane I - k k^T is e e^T, and m = m_2.
    m = (m1 - m2) / (d - 2) if d > 2 else m2
    m_slope = (m1_slope - m2_slope) / (d - 2) if d > 2 else m2_slope
    # At sigma = 0 only the first two are asked for.
    square = np.maximum((1 - s) * (1 + s), _NEAR)
    n2, n3 = (m2 - m) / square, m3 / np.sqrt(square)
    n2_slope = (m2_slope - m_slope + 2 * s * n2) / square
    n3_slope = s * (n3 - m1_slope) / square
    return (
        np.stack([m1, m]),
        np.stack([m1_slope, m_slope]),
        np.stack([n2, n3]),
        np.stack([n2_slope, n3_slope]),
    )


def _integrals(d: int, s: FloatArray) -> tuple[FloatArray, ...]:
    """m_1, m_1', m_2, m_2' and m_3."""
    rho, rest, weights = _nodes(d)
    rho, rest, weights = (A.reshape(-1, *(1,) * s.ndim) for A in (rho, rest, weights))
    sigma = np.sqrt((1 - s) * (1 + s))
    v, length = rho * s, np.hypot(rest, rho * s)
    area = rest**2 * np.arcsinh(v / rest)
    arc = rho * sigma * length + np.arcsin(np.minimum(rho * sigma, 1.0))
    integrands = (
        (v * length + area) / 2,
        rho * length,
        (v * length - area) / 2,
        rho * v**2 / length,
        arc / 2,
    )
    return tuple((2 / math.pi) * np.sum(weights * f, axis=0) for f in integrands)


def _nodes(d: int) -> tuple[FloatArray, FloatArray, FloatArray]:
    """rho = tanh w, sqrt(1 - rho^2) = sech w, and weights; one node in the plane."""
    if d == 2:
        return np.ones(1), np.full(1, 1e-150), np.ones(1)
    step = min(0.2, 0.5 / math.sqrt(d))
    end = math.acosh(math.exp(min(_CUT / (d - 2), 300.0)))
    w = step * np.arange(1.0, math.ceil(end / step) + 1)
    rest = 1 / np.cosh(w)
    return np.tanh(w), rest, step * (d - 2) * np.tanh(w) * rest ** (d - 2)
