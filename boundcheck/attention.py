"""Attention in batches: what networks of heads output, as matrix products on blocks.

The library of the arrays computes, in their dtype. Heads with one common value are
counted, not summed, so that as many votes for one point as for the other stay exactly
equal; `score_weights` says how ties are broken.
"""

from __future__ import annotations

import math

from boundcheck.backend import Array, array_namespace, is_cupy
from boundcheck.block_plan import DEFAULT_MEMORY_CAP, BlockPlan, LayerShape, block_plan
from boundcheck.errors import InputError
from boundcheck.layer import Layer, slices
from boundcheck.network import Network
from boundcheck.score_weights import WeightBlocks, scratch_memory, weight_blocks


def apply_network(
    network: Network, X: Array, y: Array, *, memory_cap: int = DEFAULT_MEMORY_CAP
) -> Array:
    """The network's output for every sample.

    Parameters
    ----------
    network : Network
    X : array (batch, N, d)
        Points, of the library and dtype of the weights.
    y : array (batch, d)
        Queries.
    memory_cap : int
        Bytes that all arrays made here may take together, the result included.

    Returns
    -------
    array (batch, d)

    Raises
    ------
    InputError
        If arrays do not fit each other, are not finite or so large that scores
        could overflow, or if the cap is too small for one sample.

    Examples
    --------
    One full-rank hardmax head is the nearest neighbour (U1):

    >>> import numpy as np
    >>> I = np.eye(3)[None]
    >>> full = Network(layers=(Layer(Q=I, K=I, values=np.ones(1)),), d=3, points=2)
    >>> X = np.asarray([[[1.0, 0, 0], [0, 1, 0]]])
    >>> apply_network(full, X, np.asarray([[0.6, 0.8, 0]]))
    array([[0., 1., 0.]])
    """
    _check_samples(network.layers[0], {"X": X, "y": y}, network.points, network.d)
    return _in_blocks(network.layers, X, y, memory_cap, positions=network.positions)


def apply_layer(
    layer: Layer, tokens: Array, q: Array, *, memory_cap: int = DEFAULT_MEMORY_CAP
) -> Array:
    """One layer's output for every sample.

    Parameters
    ----------
    layer : Layer
    tokens : array (batch, N, m)
    q : array (batch, m)
        Query tokens.
    memory_cap : int
        As in `apply_network`.

    Returns
    -------
    array (batch, m)

    Raises
    ------
    InputError
        As in `apply_network`.

    Examples
    --------
    >>> import numpy as np
    >>> I = np.eye(2)[None]
    >>> layer = Layer(Q=I, K=I, values=np.ones(1), scores="softmax", residual=True)
    >>> apply_layer(layer, np.asarray([[[1.0, 0], [0, 1]]]), np.zeros((1, 2)))
    array([[0.5, 0.5]])
    """
    _check_samples(layer, {"tokens": tokens, "q": q}, None, layer.m)
    return _in_blocks((layer,), tokens, q, memory_cap, positions=False)


def attend(
    weights: Array,
    X: Array,
    values: Array,
    matrix: Array | None = None,
    *,
    memory_cap: int = DEFAULT_MEMORY_CAP,
) -> Array:
    """sum_h V_h sum_i phi_{h,i} x_i for weights phi from anywhere.

    Parameters
    ----------
    weights : array (batch, H, N)
        phi, any finite numbers.
    X : array (batch, N, m)
    values : array (H,) or (H, m, m)
        As in `Layer`.
    matrix : array (m, m), optional
    memory_cap : int
        As in `apply_network`.

    Returns
    -------
    array (batch, m)

    Raises
    ------
    InputError
        As in `apply_network`.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.asarray([[[1.0, 0], [0, 1]]])
    >>> attend(np.asarray([[[3.0, -1]]]), X, np.asarray([2.0]))
    array([[ 6., -2.]])
    """
    xp = array_namespace(weights, X, values, matrix)
    if weights.ndim != 3 or X.ndim != 3 or weights.shape[::2] != X.shape[:2]:
        raise InputError(
            "weights, X",
            f"shapes {tuple(weights.shape)} and {tuple(X.shape)}",
            "(batch, H, N) and (batch, N, m)",
        )
    (batch, H, n), m = weights.shape, X.shape[2]
    # A layer with these values; its checks are the ones needed here.
    unused = xp.broadcast_to(xp.ones((1, 1, 1), dtype=X.dtype), (H, m, 1))
    layer = Layer(Q=unused, K=unused, values=values, matrix=matrix)
    _check_dtype(weights, "weights", layer)
    _check_dtype(X, "X", layer)
    out = xp.empty_like(X[:, 0, :])
    plan = _plan((layer,), n, out, memory_cap)
    (at_once,) = plan.layers

    def blocks(samples: slice) -> WeightBlocks:
        phi = weights[samples, ...]
        for chunk in slices(H, at_once.heads):
            parts = slices(phi.shape[0], at_once.rows)
            yield chunk, ((rows, xp.permute_dims(phi[rows, chunk, :], (0, 2, 1))) for rows in parts)

    for samples in slices(batch, plan.rows):
        _largest(weights[samples, ...], "weights")
        _largest(X[samples, ...], "X")
        out[samples, :] = _summed(layer, blocks(samples), X[samples, ...])
    return out


def _in_blocks(
    layers: tuple[Layer, ...], X: Array, y: Array, memory_cap: int, *, positions: bool
) -> Array:
    xp = array_namespace(X)
    out = xp.empty_like(y)
    plan = _plan(layers, X.shape[1], out, memory_cap)
    scratch = scratch_memory(xp, plan.product_numbers, X.dtype)
    for rows in slices(X.shape[0], plan.rows):
        tokens, q = X[rows, ...], y[rows, ...]
        if positions:
            tokens, q = _with_positions(tokens, q)
        for layer, at_once in zip(layers, plan.layers, strict=True):
            _check_scores(layer, tokens, q)
            sums = _summed(layer, weight_blocks(layer, tokens, q, at_once, scratch), tokens)
            q = q + sums if layer.residual else sums
        _largest(q, "the output", "finite; the weights are too large for their dtype")
        out[rows, :] = q[:, : y.shape[1]]
    return out


def _plan(layers: tuple[Layer, ...], points: int, out: Array, memory_cap: int) -> BlockPlan:
    xp = array_namespace(out)
    itemsize = xp.finfo(out.dtype).bits // 8
    shapes = [
        LayerShape(layer.heads, layer.m, layer.r, points, layer.values.ndim == 3, itemsize)
        for layer in layers
    ]
    batch, d = out.shape
    return block_plan(
        shapes, max(1, batch), batch * d * itemsize, memory_cap, cached=not is_cupy(xp)
    )


def _with_positions(X: Array, y: Array) -> tuple[Array, Array]:
    """Tokens [x_i; e_i] and the query [y; 0]."""
    xp = array_namespace(X)
    rows, n, _ = X.shape
    e = xp.broadcast_to(xp.eye(n, dtype=X.dtype)[None, :, :], (rows, n, n))
    zeros = xp.zeros((rows, n), dtype=y.dtype)
    return xp.concat([X, e], axis=2), xp.concat([y, zeros], axis=1)


def _summed(layer: Layer, blocks: WeightBlocks, X: Array) -> Array:
    """sum_h V_h sum_i phi_{h,i} x_i, added up in float64 over the slices of heads."""
    if layer.values.ndim == 3:
        return _summed_matrices(layer.values, blocks, X)
    xp = array_namespace(X)
    rows, n, _ = X.shape
    least, most = float(xp.min(layer.values)), float(xp.max(layer.values))
    # Counts are exact where sums of a common value are not: ties of votes stay ties.
    common = least == most
    mixture = xp.zeros((rows, n), dtype=xp.float64)
    total, weighed = 0.0, n
    for chunk, parts in blocks:
        a = xp.ones_like(layer.values[chunk]) if common else layer.values[chunk]
        total += float(xp.sum(xp.astype(a, xp.float64)))
        for part, weights in parts:
            weighed = weights.shape[1]
            sums = xp.reshape(weights, (-1, a.shape[0])) @ a
            mixture[part, :weighed] += xp.reshape(xp.astype(sums, xp.float64), (-1, weighed))
    if weighed < n:
        mixture[:, 1] = total - mixture[:, 0]
    if common:
        mixture = least * mixture
    out = xp.matmul(xp.astype(mixture, X.dtype)[:, None, :], X)[:, 0, :]
    return out if layer.matrix is None else out @ layer.matrix.T


def _summed_matrices(V: Array, blocks: WeightBlocks, X: Array) -> Array:
    xp = array_namespace(X)
    rows, n, m = X.shape
    out = xp.zeros((rows, m), dtype=xp.float64)
    for chunk, parts in blocks:
        stacked = xp.reshape(xp.permute_dims(V[chunk, :, :], (0, 2, 1)), (-1, m))
        for part, weights in parts:
            if weights.shape[1] < n:
                weights = xp.concat([weights, 1 - weights], axis=1)
            pooled = xp.matmul(xp.permute_dims(weights, (0, 2, 1)), X[part, ...])
            sums = xp.reshape(pooled, (-1, stacked.shape[0])) @ stacked
            out[part, :] += xp.astype(sums, xp.float64)
    return xp.astype(out, X.dtype)


def _check_samples(layer: Layer, given: dict[str, Array], points: int | None, m: int) -> None:
    (of_points, X), (of_queries, q) = given.items()
    array_namespace(layer.Q, X, q)
    n = "N" if points is None else points
    fits = X.ndim == 3 and X.shape[2] == m and (X.shape[1] == points or points is None)
    if not fits or X.shape[1] < 1:
        raise InputError(of_points, f"shape {tuple(X.shape)}", f"shape (batch, {n}, {m})")
    if tuple(q.shape) != (X.shape[0], m):
        raise InputError(of_queries, f"shape {tuple(q.shape)}", f"shape ({X.shape[0]}, {m})")
    for name, array in given.items():
        _check_dtype(array, name, layer)


def _check_dtype(array: Array, name: str, layer: Layer) -> None:
    if array.dtype != layer.Q.dtype:
        raise InputError(name, array.dtype, f"{layer.Q.dtype}, the dtype of the heads")


def _check_scores(layer: Layer, X: Array, q: Array) -> None:
    """Refuse what is not finite, and what could take a score beyond the dtype's range."""
    xp = array_namespace(X)
    largest = layer.largest_score * 2 * _largest(X, "X") * max(1.0, _largest(q, "y"))
    most = float(xp.finfo(X.dtype).max)
    if not max(1.0, layer.inverse_temperature) * largest < most:
        raise InputError(
            "Q, K, X, y",
            "numbers whose scores could overflow",
            f"scores below {most:.0e} in {X.dtype}",
        )


def _largest(array: Array, name: str, allowed: str = "finite numbers") -> float:
    """max|array|, 0 for an empty one; refuses nan and infinities."""
    if not math.prod(array.shape):
        return 0.0
    xp = array_namespace(array)
    # Both are nan where a number is.
    most, least = float(xp.max(array)), float(xp.min(array))
    if not (math.isfinite(most) and math.isfinite(least)):
        raise InputError(name, "nan or an infinity", allowed)
    return max(most, -least)
