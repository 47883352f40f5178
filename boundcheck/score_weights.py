"""From scores to weights: hardmax, softmax, and the weights of a layer's heads in blocks.

Where scores are equal the rule is the same on every library: hardmax gives everything to
the lowest index among the largest. Of two points only the score's difference is computed,
so their tie is an exact zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
from array_api_compat import is_numpy_namespace

from boundcheck.backend import Array, array_namespace
from boundcheck.block_plan import LayerBlocks
from boundcheck.errors import InputError
from boundcheck.layer import Layer, slices

#: For each slice of heads the weights of slices of the samples: (samples, N, heads), or of
#: the first of two points alone, (samples, 1, heads), where the second has the rest to 1.
WeightBlocks: TypeAlias = Iterable[tuple[slice, Iterable[tuple[slice, Array]]]]


def softmax(logits: Array) -> Array:
    """exp(logits) divided by their sum over the last axis; logits of any size do not overflow.

    Parameters
    ----------
    logits : array (batch, H, N)
        Minus infinity leaves a point out.

    Raises
    ------
    InputError
        If a logit is nan or plus infinity, or all of a head's are minus infinity.

    Examples
    --------
    >>> import numpy as np
    >>> softmax(np.asarray([[[1e4, 1e4, -np.inf]]], dtype=np.float32))
    array([[[0.5, 0.5, 0. ]]], dtype=float32)
    """
    xp = array_namespace(logits)
    _check_logits(logits)
    return xp.permute_dims(_softmax(xp.permute_dims(logits, (0, 2, 1)), 1.0), (0, 2, 1))


def hardmax(logits: Array) -> Array:
    """1 at the lowest index among the largest of the last axis, else 0.

    Parameters
    ----------
    logits : array (batch, H, N)

    Raises
    ------
    InputError
        As `softmax`.

    Examples
    --------
    >>> import numpy as np
    >>> hardmax(np.asarray([[[1.0, 2.0, 2.0]]]))
    array([[[0., 1., 0.]]])
    """
    xp = array_namespace(logits)
    _check_logits(logits)
    return xp.permute_dims(_hardmax(xp.permute_dims(logits, (0, 2, 1))), (0, 2, 1))


def weight_blocks(
    layer: Layer, X: Array, q: Array, at_once: LayerBlocks, scratch: Array | None
) -> Iterator[tuple[slice, Iterator[tuple[slice, Array]]]]:
    """The weights of the layer's heads on tokens X (samples, N, m) for queries q, in blocks.

    The matrix products take all samples and at_once.heads heads, what follows them
    at_once.rows samples. Where scratch memory is given the products are written to it: use the
    weights of one slice of heads before asking for the next.
    """
    xp = array_namespace(X)
    rows, n, m = X.shape
    # Of two points only the difference of the scores matters.
    keys = X[:, :1, :] - X[:, 1:, :] if n == 2 else X
    count = keys.shape[1]
    keys = xp.reshape(keys, (rows * count, m))
    for chunk in slices(layer.heads, at_once.heads):
        Q = _columns(layer.Q[chunk, :, :])
        K = Q if layer.K is layer.Q else _columns(layer.K[chunk, :, :])
        on_keys, rest = _product(keys, K, scratch)
        on_queries, _ = _product(q, Q, rest)
        on_keys = xp.reshape(on_keys, (rows, count, layer.r, -1))
        on_queries = xp.reshape(on_queries, (rows, 1, layer.r, -1))
        yield chunk, _weights(layer, on_keys, on_queries, n, at_once.rows)


def _weights(
    layer: Layer, on_keys: Array, on_queries: Array, n: int, rows_at_once: int
) -> Iterator[tuple[slice, Array]]:
    """The weights from K_h^T x_i and Q_h^T q, both (samples, ., r, heads)."""
    xp = array_namespace(on_keys)
    for rows in slices(on_keys.shape[0], rows_at_once):
        products = on_keys[rows, ...]
        products *= on_queries[rows, ...]
        scores = products[:, :, 0, :] if layer.r == 1 else xp.sum(products, axis=2)
        if layer.scores == "hardmax":
            yield rows, xp.astype(scores >= 0, scores.dtype) if n == 2 else _hardmax(scores)
        elif n == 2:
            yield rows, _logistic(layer.inverse_temperature * scores)
        else:
            yield rows, _softmax(scores, layer.inverse_temperature)


def scratch_memory(xp: ModuleType, numbers: int, dtype: Any) -> Array | None:
    """Memory for the products of all blocks, on a CPU: fresh memory for each costs a quarter more.

    None on other devices, whose libraries keep freed memory.
    """
    return xp.empty((numbers,), dtype=dtype) if is_numpy_namespace(xp) else None


def _product(A: Array, B: Array, scratch: Array | None) -> tuple[Array, Array | None]:
    """A B, in the first numbers of scratch where there is one, and the rest of scratch."""
    if scratch is None:
        return A @ B, None
    shape = A.shape[0], B.shape[1]
    size = shape[0] * shape[1]
    return np.matmul(A, B, out=scratch[:size].reshape(shape)), scratch[size:]


def _columns(A: Array) -> Array:
    """Heads (H, m, r) as one matrix (m, r H), ordered so that sums over r run over long rows."""
    xp = array_namespace(A)
    H, m, r = A.shape
    return xp.reshape(xp.permute_dims(A, (2, 0, 1)), (r * H, m)).T


def _hardmax(scores: Array) -> Array:
    """One-hot weights of (batch, N, heads) along N, the lowest index first."""
    xp = array_namespace(scores)
    # Not argmax: not every library promises the first of several maxima.
    largest = scores == xp.max(scores, axis=1, keepdims=True)
    free = largest[:, 0, :] | True
    weights = []
    for i in range(scores.shape[1]):
        weights.append(xp.astype(largest[:, i, :] & free, scores.dtype))
        free &= ~largest[:, i, :]
    return xp.stack(weights, axis=1)


def _softmax(scores: Array, inverse_temperature: float) -> Array:
    xp = array_namespace(scores)
    powers = xp.exp(inverse_temperature * (scores - xp.max(scores, axis=1, keepdims=True)))
    return powers / xp.sum(powers, axis=1, keepdims=True)


def _logistic(t: Array) -> Array:
    """1 / (1 + exp(-t)), without overflow."""
    xp = array_namespace(t)
    power = xp.exp(-xp.abs(t))
    return xp.where(t >= 0, 1.0, power) / (1 + power)


def _check_logits(logits: Array) -> None:
    xp = array_namespace(logits)
    if logits.ndim != 3 or logits.shape[2] < 1:
        raise InputError("logits", f"shape {tuple(logits.shape)}", "shape (batch, H, N)")
    if bool(xp.any(xp.isnan(logits) | (logits == math.inf))):
        raise InputError("logits", "nan or plus infinity", "numbers and minus infinity")
    if bool(xp.any(xp.all(logits == -math.inf, axis=2))):
        raise InputError("logits", "all minus infinity", "a finite logit for every head and sample")
