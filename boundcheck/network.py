"""Layers of attention heads as a network, and what the lower bounds need to know of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import ModuleType

from boundcheck.backend import Array, array_namespace, on_host
from boundcheck.errors import InputError
from boundcheck.layer import Layer, layer_rank, per_step, slices
from boundcheck.problem import HeadClass, whole_number

__all__ = ["Layer", "Network", "converted"]

_STATEMENT = re.compile(r"[A-Z][0-9]{1,2}[a-z]?", re.ASCII)


@dataclass(frozen=True, eq=False, kw_only=True)
class Network:
    """Layers of heads, each reading the same points with the query it was handed.

    Parameters
    ----------
    layers : tuple of Layer
        Of one array library and dtype.
    d : int
        Dimension of points and queries, d >= 2.
    points : int
        N >= 2.
    positions : bool
        If true the tokens are [x_i; e_i] in R^{d+N} and the query is [y; 0];
        the output is the first d coordinates of the last layer's.
    statement : str, optional
        Id of the statement the network realises; None for weights from elsewhere.
    random_heads : int, optional
        The statement's H, without correction heads and later layers.
    details : mapping
        What else is known of its making, such as a seed: numbers and strings.

    Raises
    ------
    InputError
        If the layers do not fit each other, d or the number of points, or a
        head has more than d columns.

    Examples
    --------
    >>> import numpy as np
    >>> I = np.eye(3)[None]
    >>> full = Network(layers=(Layer(Q=I, K=I, values=np.ones(1)),), d=3, points=2)
    >>> full.heads, full.depth, full.rank, full.head_class
    (1, 1, 3, 'scalar')
    """

    layers: tuple[Layer, ...]
    d: int
    points: int
    positions: bool = False
    statement: str | None = None
    random_heads: int | None = None
    details: Mapping[str, float | int | str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole_number(self.d, "d", "a whole number from 2", 2)
        whole_number(self.points, "points", "a whole number from 2", 2)
        if self.random_heads is not None:
            whole_number(self.random_heads, "random-heads", "a whole number from 1", 1)
        if self.statement is not None and not _STATEMENT.fullmatch(self.statement):
            raise InputError("statement", self.statement, "the id of a statement, such as U4")
        if not self.layers:
            raise InputError("layers", "none", "at least one layer")
        array_namespace(*(layer.Q for layer in self.layers))
        for i, layer in enumerate(self.layers):
            if layer.m != self.token_dimension:
                raise InputError(
                    f"layer {i + 1}",
                    f"heads of shape {layer.Q.shape[1:]}",
                    f"{self.token_dimension} rows, the dimension of a token",
                )
            if layer.r > self.d:
                raise InputError("r", layer.r, f"a whole number from 1 to d = {self.d}")
            if layer.Q.dtype != self.layers[0].Q.dtype:
                raise InputError(
                    f"layer {i + 1}", layer.Q.dtype, f"{self.layers[0].Q.dtype} like the first"
                )

    @property
    def token_dimension(self) -> int:
        """m: d, or d + N with positions."""
        return self.d + self.points if self.positions else self.d

    @property
    def depth(self) -> int:
        """The number of layers."""
        return len(self.layers)

    @property
    def heads(self) -> int:
        """The whole heads of all layers."""
        return sum(layer.heads for layer in self.layers)

    @property
    def rank(self) -> int:
        """The largest rank of a head, see `layer_rank`."""
        return max(layer_rank(layer) for layer in self.layers)

    @property
    def head_class(self) -> HeadClass:
        """The smallest class of section 0 that holds all heads.

        "scalar" if every V_h, as a map of points, is exactly a multiple of I;
        else "standard", since the weights of softmax and hardmax sum to 1.
        """
        scalar = all(_is_scalar(layer, self.d) for layer in self.layers)
        return "scalar" if scalar else "standard"

    def why_no_lower_bound(self) -> str | None:
        """Why the lower bounds of section 2 do not speak of this network; None if they do.

        They do of one layer: T1 without a residual, T1s with one.
        """
        if self.depth > 1:
            return f"they hold for one layer, this network has {self.depth}"
        if self.positions and _reads_positions(self.layers[0], self.d):
            return "the values add more than points: they read the positions"
        return None


def converted(network: Network, xp: ModuleType, dtype: str | None = None) -> Network:
    """The network with its arrays in library xp, and in dtype where one is given.

    Parameters
    ----------
    network : Network
    xp : module
        An array library, as `namespace_named` returns it.
    dtype : {"float32", "float64"}, optional

    Examples
    --------
    >>> import numpy as np
    >>> I = np.eye(3)[None]
    >>> full = Network(layers=(Layer(Q=I, K=I, values=np.ones(1)),), d=3, points=2)
    >>> single = converted(full, np, "float32").layers[0]
    >>> str(single.Q.dtype), single.K is single.Q
    ('float32', True)
    """

    def moved(array: Array) -> Array:
        return xp.asarray(on_host(array), dtype=None if dtype is None else getattr(xp, dtype))

    layers = []
    for layer in network.layers:
        Q = moved(layer.Q)
        layers.append(
            replace(
                layer,
                Q=Q,
                K=Q if layer.K is layer.Q else moved(layer.K),
                values=moved(layer.values),
                matrix=None if layer.matrix is None else moved(layer.matrix),
            )
        )
    return replace(network, layers=tuple(layers))


def _is_scalar(layer: Layer, d: int) -> bool:
    """Whether the first d rows of every V_h are [a_h I, 0]."""
    if layer.values.ndim == 1 and layer.matrix is None:
        return True
    xp = array_namespace(layer.values)
    maps = layer.values if layer.matrix is None else layer.matrix[None, :, :]
    identity = xp.eye(d, layer.m, dtype=maps.dtype)
    return all(
        bool(xp.all(maps[chunk, :d, :] == maps[chunk, :1, :1] * identity))
        for chunk in slices(maps.shape[0], per_step(layer.m**2))
    )


def _reads_positions(layer: Layer, d: int) -> bool:
    if layer.values.ndim == 1 and layer.matrix is None:
        return False
    xp = array_namespace(layer.values)
    maps = layer.values if layer.matrix is None else layer.matrix[None, :, :]
    return bool(xp.any(maps[:, :d, d:] != 0))
