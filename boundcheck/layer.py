"""One layer of attention heads as arrays, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from boundcheck.backend import Array, array_namespace
from boundcheck.errors import InputError

Scores = Literal["hardmax", "softmax"]
SCORES: tuple[Scores, ...] = get_args(Scores)

#: Numbers of one step of a check.
_STEP = 2**22
#: Heads whose rank is found at once; usually the first few show the largest possible one.
_RANKED = 256


@dataclass(frozen=True, eq=False, kw_only=True)
class Layer:
    """H attention heads that read the points with one query token (section 0).

    Head h gives point x_i the score <Q_h^T q, K_h^T x_i>; hardmax puts all
    weight on the largest score, and on the lowest index among several that are
    equally large; softmax takes inverse_temperature times the score. The layer
    outputs sum_h V_h sum_i phi_{h,i} x_i, plus q if it is residual.

    Parameters
    ----------
    Q, K : array (H, m, r)
        Query and key maps, 1 <= r <= m; K may be the same object as Q.
    values : array (H,) or (H, m, m)
        Scalars a_h, for V_h = a_h I or a_h times `matrix`; or the matrices V_h.
    matrix : array (m, m), optional
        The matrix all heads share; only with scalar values.
    scores : {"hardmax", "softmax"}
    inverse_temperature : float
        Positive; hardmax does not depend on it.
    residual : bool
        Whether the query is added to the output.

    Attributes
    ----------
    largest_score : float
        Every score is at most this times max|q_j| times max|x_ij|.

    Raises
    ------
    InputError
        If the arrays are of several libraries or dtypes, neither float32 nor
        float64, of shapes that do not fit, without a head, not finite, or so
        small that products of a head's entries vanish in their dtype.

    Examples
    --------
    >>> import numpy as np
    >>> U = np.eye(3)[None, :, :2]
    >>> layer = Layer(Q=U, K=U, values=np.ones(1))
    >>> layer.heads, layer.m, layer.r
    (1, 3, 2)
    """

    Q: Array
    K: Array
    values: Array
    matrix: Array | None = None
    scores: Scores = "hardmax"
    inverse_temperature: float = 1.0
    residual: bool = False
    largest_score: float = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.scores not in SCORES:
            raise InputError("scores", self.scores, ", ".join(SCORES))
        if not 0 < self.inverse_temperature < math.inf:
            raise InputError("inverse-temperature", self.inverse_temperature, "a positive number")
        _check_shapes(self)
        _check_dtypes(self)
        _check_finite("values", self.values)
        if self.matrix is not None:
            _check_finite("matrix", self.matrix)
        object.__setattr__(self, "largest_score", _largest_score(self))

    @property
    def heads(self) -> int:
        """H."""
        return int(self.Q.shape[0])

    @property
    def m(self) -> int:
        """The dimension of the tokens."""
        return int(self.Q.shape[1])

    @property
    def r(self) -> int:
        """The columns of each K_h; the rank may be lower, see `layer_rank`."""
        return int(self.Q.shape[2])


def layer_rank(layer: Layer) -> int:
    """The largest rank of the heads: a head depends on X through Q_h K_h^T X alone.

    Each head's rank is the smaller of the numerical ranks of Q_h and K_h. A
    singular value counts unless it is within rounding of zero, that is at most
    max(m, r) eps times the largest: a rank stated too low would make the lower
    bounds say too much. A layer whose heads all vanish has rank 1.

    Examples
    --------
    >>> import numpy as np
    >>> K = np.ones((1, 4, 2))
    >>> layer_rank(Layer(Q=np.eye(4)[None, :, :2], K=K, values=np.ones(1)))
    1
    """
    if layer.r == 1:
        return 1
    xp = array_namespace(layer.K)
    largest = 1
    for chunk in slices(layer.heads, _RANKED):
        ranks = _numerical_ranks(layer.K[chunk, :, :])
        if layer.Q is not layer.K:
            ranks = xp.minimum(ranks, _numerical_ranks(layer.Q[chunk, :, :]))
        largest = max(largest, int(xp.max(ranks)))
        if largest == layer.r:
            break
    return largest


def slices(length: int, at_once: int) -> Iterator[slice]:
    """Slices of at most at_once that cover range(length)."""
    for start in range(0, length, at_once):
        yield slice(start, min(start + at_once, length))


def per_step(numbers_per_item: int) -> int:
    """Items of an array to look at in one step, where a copy of the whole would cost memory."""
    return max(1, _STEP // max(1, numbers_per_item))


def _numerical_ranks(A: Array) -> Array:
    xp = array_namespace(A)
    singular = xp.linalg.svdvals(A)
    rounding = max(A.shape[1:]) * float(xp.finfo(A.dtype).eps)
    return xp.count_nonzero(singular > rounding * singular[:, :1], axis=1)


def _check_shapes(layer: Layer) -> None:
    array_namespace(layer.Q, layer.K, layer.values, layer.matrix)
    shape = tuple(layer.Q.shape)
    if len(shape) != 3:
        raise InputError("Q", f"shape {shape}", "shape (heads, m, r)")
    H, m, r = shape
    if H < 1:
        raise InputError("heads", H, "at least one head")
    if m < 1 or not 1 <= r <= m:
        raise InputError("Q", f"shape {shape}", "shape (heads, m, r) with 1 <= r <= m")
    if layer.K.shape != layer.Q.shape:
        raise InputError("K", f"shape {tuple(layer.K.shape)}", f"shape {shape} like Q")
    given = tuple(layer.values.shape)
    if layer.matrix is not None and given != (H,):
        raise InputError("values", f"shape {given}", f"shape ({H},), scalars times the matrix")
    if given not in {(H,), (H, m, m)}:
        raise InputError("values", f"shape {given}", f"shape ({H},) or ({H}, {m}, {m})")
    if layer.matrix is not None and tuple(layer.matrix.shape) != (m, m):
        raise InputError("matrix", f"shape {tuple(layer.matrix.shape)}", f"shape ({m}, {m})")


def _check_dtypes(layer: Layer) -> None:
    xp = array_namespace(layer.Q)
    if layer.Q.dtype not in (xp.float32, xp.float64):
        raise InputError("Q", layer.Q.dtype, "float32 or float64")
    for name in ("K", "values", "matrix"):
        array = getattr(layer, name)
        if array is not None and array.dtype != layer.Q.dtype:
            raise InputError(name, array.dtype, f"{layer.Q.dtype} like Q")


def _check_finite(name: str, array: Array) -> None:
    xp = array_namespace(array)
    per_item = math.prod(array.shape[1:])
    for chunk in slices(array.shape[0], per_step(per_item)):
        if not bool(xp.all(xp.isfinite(array[chunk, ...]))):
            raise InputError(name, "nan or an infinity", "finite numbers")


def _largest_score(layer: Layer) -> float:
    """m^2 r max|Q| max|K|, or less; refuses what is not finite or vanishes."""
    xp = array_namespace(layer.Q)
    # Scores of a head whose entries multiply to less lose digits, and at last all of them.
    least = float(xp.finfo(layer.Q.dtype).smallest_normal) * 2**40
    largest = 0.0
    for chunk in slices(layer.heads, per_step(layer.m * layer.r)):
        of_queries = _largest_entries("Q", layer.Q[chunk, :, :])
        of_keys = of_queries if layer.K is layer.Q else _largest_entries("K", layer.K[chunk, :, :])
        # Cut off so that the product stays finite; only small ones matter here.
        products = xp.clip(of_queries, max=1e150) * xp.clip(of_keys, max=1e150)
        vanishing = (products < least) & (of_queries > 0) & (of_keys > 0)
        if layer.scores == "hardmax" and bool(xp.any(vanishing)):
            raise InputError(
                "Q, K",
                "a head with entries too small to multiply",
                f"products from {least:.0e} in {layer.Q.dtype}; scaling Q or K changes no hardmax",
            )
        largest = max(largest, float(xp.max(of_queries)) * float(xp.max(of_keys)))
    return float(layer.m) ** 2 * layer.r * largest


def _largest_entries(name: str, heads: Array) -> Any:
    """max|A_h| of each head, in float64."""
    xp = array_namespace(heads)
    if not bool(xp.all(xp.isfinite(heads))):
        raise InputError(name, "nan or an infinity", "finite numbers")
    return xp.astype(xp.max(xp.abs(heads), axis=(1, 2)), xp.float64)
