"""The exact error of one layer of rank-1 hardmax heads with scalar values, N = 2 (K1, K2).

Head h outputs a_h times the x_i with the larger <q_h, y><k_h, x_i>. With x and z as in
section 0, f = (z + x sign<x,y>)/sqrt2 and the layer is
(z sum_h a_h + x sum_h a_h sign<q_h,y> sign<k_h,x>)/sqrt2, so its error is

    1/2 [(1 - sum a)^2 + 1 - 2 b.a + a^T C a],

with b_h = E sign<x,y> sign<k_h,x> sign<q_h,y> a function of <q_h, k_h> alone (K2) and
C_hh' = (2/pi)^2 arcsin<q_h,q_h'> arcsin<k_h,k_h'> (K1).

K2's series converges slowly for small d. It sums to the integral used here: as q turns,
E_y[(2/pi) arcsin<k,y> sign<q,y>] changes by an integral over the sphere q^perp, and

    b(s) = (2/pi)^2 int_0^oo sech(w)^d coth(w) arcsinh(s sinh w) dw,    s = <q,k>.

Its integrand is even in w and analytic for |Im w| < pi/2 at every s in [-1, 1], so the
trapezoidal rule gives all digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from boundcheck.errors import InputError

FloatArray = NDArray[np.float64]

#: The integrand is cut where it has fallen by exp(-_CUT).
_CUT = 42.0
#: Above this |cosine| the angle is computed from the chord: arcsin would lose digits.
_NEAR = 1 - 1e-4
#: Heads in the rows and columns of a block of C. Few large matrix products: each makes
#: its threads wait for each other, which on a busy machine outweighs the rest.
_ROWS = 256
_COLUMNS = 8192
#: Numbers of elementwise work, which then stays in the cache.
_CACHED = 2**16


def target_correlation(d: int, s: FloatArray) -> FloatArray:
    """b(s) = E[sign<x,y> sign<k,x> sign<q,y>] for <q,k> = s, to rounding (K2).

    Parameters
    ----------
    d : int
        d >= 2.
    s : ndarray (n,)
        In [-1, 1].

    Examples
    --------
    For d = 2 it is 1/2 - 2 theta^2 / pi^2 with theta = arccos s in [0, pi/2]:

    >>> target_correlation(2, np.array([0.0, 0.5, 1.0])).round(12) + 0
    array([0.        , 0.27777778, 0.5       ])
    """
    w, weights = _nodes(d)
    sinh, weights = np.sinh(w), weights / np.tanh(w)
    # coth(w) arcsinh(s sinh w) is s at w = 0, the end of the half line.
    total: FloatArray = 0.5 * _step(d) * (2 / math.pi) ** 2 * s
    for some in _slices(len(s), _CACHED // len(w)):
        total[some] += np.arcsinh(np.multiply.outer(s[some], sinh)) @ weights
    return total


def target_correlation_slope(d: int, s: FloatArray) -> FloatArray:
    """b'(s), the derivative of `target_correlation`.

    Examples
    --------
    >>> s, h = np.array([0.3]), 1e-6
    >>> rise = target_correlation(8, s + h) - target_correlation(8, s - h)
    >>> bool(np.allclose(rise / (2 * h), target_correlation_slope(8, s)))
    True
    """
    w, weights = _nodes(d)
    sinh, weights = np.sinh(w), weights * np.cosh(w)
    total = np.full_like(s, 0.5 * _step(d) * (2 / math.pi) ** 2)
    for some in _slices(len(s), _CACHED // len(w)):
        total[some] += (1 / np.sqrt(1 + np.multiply.outer(s[some], sinh) ** 2)) @ weights
    return total


def _step(d: int) -> float:
    # The rule's error is about exp(-pi^2/step), or exp(-2 pi^2 / (d step^2)) where the
    # peak of sech^d is narrow.
    return min(0.2, 0.5 / math.sqrt(d))


@lru_cache(maxsize=16)
def _nodes(d: int) -> tuple[FloatArray, FloatArray]:
    """w > 0 and (2/pi)^2 step sech(w)^d."""
    end = math.acosh(math.exp(_CUT / (d - 1)))
    w = _step(d) * np.arange(1.0, math.ceil(end / _step(d)) + 1)
    log_cosh = 0.5 * np.log1p(np.sinh(w) ** 2)
    weights: FloatArray = (2 / math.pi) ** 2 * _step(d) * np.exp(-d * log_cosh)
    w.flags.writeable = weights.flags.writeable = False
    return w, weights


def angles(A: FloatArray, B: FloatArray) -> FloatArray:
    """arcsin<a_i, b_j> for unit rows, shape (len(A), len(B)); exact to rounding near +-pi/2."""
    G: FloatArray = A @ B.T
    for some in _slices(len(A), max(1, _CACHED // len(B))):
        _to_angles(G[some], A[some], B)
    return G


def _to_angles(G: FloatArray, A: FloatArray, B: FloatArray) -> None:
    """Replace G = A B^T by its arcsin."""
    near = np.abs(G) > _NEAR
    some = bool(near.any())  # far cheaper than to list none
    if some:
        i, j = np.nonzero(near)
        side = np.sign(G[i, j])
        chord = np.linalg.norm(A[i] - side[:, None] * B[j], axis=1)
        G[i, j] = 0.0
    np.arcsin(G, out=G)
    if some:
        G[i, j] = side * (math.pi / 2 - 2 * np.arcsin(np.minimum(1.0, chord / 2)))


def _slices(count: int, size: int) -> Iterator[slice]:
    return (slice(i, min(i + size, count)) for i in range(0, count, size))


def unit_heads(Q: FloatArray, K: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Q and K (H, d) in float64 with rows of length 1.

    Raises
    ------
    InputError
        If their shapes differ or are not (H, d), or if a row is zero or not finite.
    """
    if np.ndim(Q) != 2 or np.shape(Q) != np.shape(K) or 0 in np.shape(Q) or np.shape(Q)[1] < 2:
        raise InputError("Q, K", f"shapes {np.shape(Q)} and {np.shape(K)}", "(heads, d) twice")
    return _unit("Q", Q), _unit("K", K)


def _unit(name: str, A: FloatArray) -> FloatArray:
    rows = np.asarray(A, dtype=np.float64)
    lengths = np.sqrt(np.einsum("hd,hd->h", rows, rows))
    if not (np.isfinite(lengths) & (lengths > 0)).all():
        raise InputError(name, "a row that is zero or not finite", "finite rows, none zero")
    unit: FloatArray = rows / lengths[:, None]
    return unit


def upper_blocks(heads: int) -> Iterator[tuple[slice, slice]]:
    """Rows and columns of blocks that cover the upper triangle; those on the diagonal are square.

    Examples
    --------
    >>> list(upper_blocks(2))
    [(slice(0, 2, None), slice(0, 2, None))]
    """
    for rows in _slices(heads, _ROWS):
        yield rows, rows
        for left in range(rows.stop, heads, _COLUMNS):
            yield rows, slice(left, min(left + _COLUMNS, heads))


def head_correlations(Q: FloatArray, K: FloatArray, rows: slice, columns: slice) -> FloatArray:
    """C[rows, columns], the correlations of heads with heads, for unit rows (K1)."""
    block = angles(Q[rows], Q[columns])
    block *= angles(K[rows], K[columns])
    block *= (2 / math.pi) ** 2
    return block


def target_correlations(Q: FloatArray, K: FloatArray) -> FloatArray:
    """b, the correlations of the heads with the target, for unit rows (K2)."""
    return target_correlation(Q.shape[1], _cosines(Q, K))


def rank_one_error(Q: FloatArray, K: FloatArray, values: FloatArray) -> float:
    """The error of hardmax heads (q_h, k_h) with values a_h I, N = 2, to rounding (K1, K2).

    Either law of the points. Correction heads are heads like the others here.

    Parameters
    ----------
    Q, K : ndarray (H, d)
        Only their directions matter.
    values : ndarray (H,)
        a.

    Raises
    ------
    InputError
        If the shapes do not fit or a row is zero or not finite.

    Examples
    --------
    At d = 2 one head with q = k and value 3/4 has error 7/16:

    >>> q = np.array([[1.0, 0.0]])
    >>> round(rank_one_error(q, q, np.array([0.75])), 12)
    0.4375
    """
    Q, K, a, b = _checked(Q, K, values)
    quadratic = 0.0
    for rows, columns in upper_blocks(len(a)):
        part = float(a[rows] @ head_correlations(Q, K, rows, columns) @ a[columns])
        quadratic += part if rows == columns else 2 * part
    return 0.5 * ((1 - float(a.sum())) ** 2 + 1 - 2 * float(b @ a) + quadratic)


def rank_one_error_and_gradient(
    Q: FloatArray, K: FloatArray, values: FloatArray
) -> tuple[float, FloatArray, FloatArray, FloatArray]:
    """`rank_one_error` and its derivatives by Q (H, d), K (H, d) and values (H,).

    Where two heads' q (or k) coincide or are opposite the error has a kink; the
    terms of such pairs are left out of the derivative by that q (or k).

    Raises
    ------
    InputError
        As `rank_one_error`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Q, K, a = rng.normal(size=(4, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    >>> error, by_Q, by_K, by_values = rank_one_error_and_gradient(Q, K, a)
    >>> step = 1e-6 * rng.normal(size=(4, 3))
    >>> rise = rank_one_error(Q + step, K, a) - rank_one_error(Q - step, K, a)
    >>> bool(abs(rise / 2 - (by_Q * step).sum()) < 1e-12)
    True
    """
    lengths = [np.linalg.norm(np.asarray(A, dtype=np.float64), axis=1) for A in (Q, K)]
    Q, K, a, b = _checked(Q, K, values)
    Ca = np.zeros_like(a)
    by_Q, by_K = np.zeros_like(Q), np.zeros_like(K)
    for rows, columns in upper_blocks(len(a)):
        of_Q, of_K = angles(Q[rows], Q[columns]), angles(K[rows], K[columns])
        product = of_Q * of_K
        mirrored = rows != columns
        Ca[rows] += product @ a[columns]
        if mirrored:
            Ca[columns] += a[rows] @ product
        pairs = np.multiply.outer(a[rows], a[columns])
        for A, by_A, own, other in ((Q, by_Q, of_Q, of_K), (K, by_K, of_K, of_Q)):
            # d arcsin<q,q'> = <dq, q'> / cos(arcsin<q,q'>).
            cosine = np.cos(own)
            smooth = cosine > 1e-15
            weights = np.where(smooth, pairs * other / np.where(smooth, cosine, 1.0), 0.0)
            by_A[rows] += weights @ A[columns]
            if mirrored:
                by_A[columns] += weights.T @ A[rows]
    scale = (2 / math.pi) ** 2
    Ca *= scale
    slopes = (a * target_correlation_slope(Q.shape[1], _cosines(Q, K)))[:, None]
    by_Q, by_K = scale * by_Q - slopes * K, scale * by_K - slopes * Q
    # Lengths do not matter, so only the part across each row is left.
    for A, by_A, length in zip((Q, K), (by_Q, by_K), lengths, strict=True):
        by_A -= np.einsum("hd,hd->h", by_A, A)[:, None] * A
        by_A /= length[:, None]
    rest = 1 - float(a.sum())
    error = 0.5 * (rest**2 + 1 - 2 * float(b @ a) + float(a @ Ca))
    return error, by_Q, by_K, Ca - b - rest


def _cosines(Q: FloatArray, K: FloatArray) -> FloatArray:
    cosines: FloatArray = np.clip(np.einsum("hd,hd->h", Q, K), -1.0, 1.0)
    return cosines


def _checked(
    Q: FloatArray, K: FloatArray, values: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Unit rows, values in float64, and b."""
    Q, K = unit_heads(Q, K)
    a = np.asarray(values, dtype=np.float64)
    if a.shape != (len(Q),) or not np.isfinite(a).all():
        raise InputError(
            "values", f"shape {a.shape}", f"shape ({len(Q)},), finite, one value for each head"
        )
    return Q, K, a, target_correlations(Q, K)
