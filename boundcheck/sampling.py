"""Random points, queries and subspaces, the same for one seed however they are cut.

Samples come in blocks. Each block has its own generator, keyed by the seed,
by what it is for and by its number, so sample i depends on the seed and on i
alone: not on chunks, workers or how many samples are drawn. NumPy and every
library that takes NumPy's arrays share one stream; CuPy draws on its device,
from another. Both streams are tied to their library's version.

All arithmetic is in float64; float32 samples are these, rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from types import ModuleType
from typing import Literal, get_args

import array_api_compat.numpy
import numpy as np

from boundcheck.backend import Array, is_cupy
from boundcheck.errors import InputError
from boundcheck.frames import (
    NormalSource,
    check_orthonormal,
    haar_frames,
    sphere_points,
    unit_rows,
)
from boundcheck.problem import MAX_DIMENSION, whole_number

Law = Literal["orthonormal", "iid"]
QueryLaw = Literal["sphere", "gaussian"]
Dtype = Literal["float32", "float64"]

#: Samples of one block, fewer where one sample is large; see `block_size`.
BLOCK = 1024
#: Numbers of one block at most: 128 MiB.
_BLOCK_NUMBERS = 2**24
#: Threads of one device generator; part of what its stream is.
_DEVICE_THREADS = 2**16

_NUMPY: ModuleType = array_api_compat.numpy


class Purpose(IntEnum):
    """What random numbers are for: one seed gives each purpose its own stream.

    Weights and samples drawn with the same seed must stay independent.
    """

    POINTS = 0
    QUERIES = 1
    SUBSPACES = 2
    HEADS = 3


def valid_seed(seed: object) -> int:
    """The seed as an int.

    Raises
    ------
    InputError
        If it is not a whole number from 0 to 2^128 - 1.
    """
    return whole_number(seed, "seed", "a whole number from 0 to 2^128 - 1", 0, 2**128 - 1)


def block_generator(
    seed: int, purpose: Purpose, block: int, xp: ModuleType = _NUMPY
) -> NormalSource:
    """The generator of one block, on the device where xp is CuPy.

    Examples
    --------
    >>> rng = block_generator(0, Purpose.POINTS, 7)
    >>> again = block_generator(0, Purpose.POINTS, 7)
    >>> bool(rng.standard_normal(3)[2] == again.standard_normal(3)[2])
    True
    """
    key = np.random.SeedSequence(seed, spawn_key=(int(purpose), block))
    if is_cupy(xp):
        from importlib import import_module

        random = import_module("cupy").random
        source: NormalSource = random.Generator(random.Philox4x3210(key, size=_DEVICE_THREADS))
        return source
    # SFC64 is the fastest of NumPy's generators for normals.
    return np.random.Generator(np.random.SFC64(key))


def block_size(numbers: int) -> int:
    """Samples in a block when each takes that many random numbers.

    Examples
    --------
    >>> block_size(2 * 64), block_size(512 * 512)
    (1024, 64)
    """
    return max(1, min(BLOCK, _BLOCK_NUMBERS // numbers))


def haar_subspaces(
    seed: int,
    heads: int,
    d: int,
    r: int,
    *,
    zero_rows: int = 0,
    dtype: Dtype = "float64",
    xp: ModuleType = _NUMPY,
) -> Array:
    """Haar distributed d x r matrices U_h with orthonormal columns, (heads, d, r).

    U_h depends on the seed and on h alone, so fewer heads are the first of more.
    So many rows of zeros follow below each U_h, for tokens longer than d.

    Raises
    ------
    InputError
        If r exceeds d, or a number is out of range.

    Examples
    --------
    >>> U = haar_subspaces(0, 3, 8, 2)
    >>> U.shape, bool(np.allclose(U.transpose(0, 2, 1) @ U, np.eye(2)))
    ((3, 8, 2), True)
    """
    seed = valid_seed(seed)
    heads = whole_number(heads, "heads", "a whole number from 1", 1)
    d = whole_number(d, "d", f"a whole number from 2 to {MAX_DIMENSION}", 2, MAX_DIMENSION)
    r = whole_number(r, "r", f"a whole number from 1 to d = {d}", 1, d)
    size = block_size(r * d)
    # Filled in place: 10^6 heads are large enough not to be held twice.
    frames = xp.zeros((heads, r, d + zero_rows), dtype=getattr(xp, dtype))
    for block, rows in _blocks(size, 0, heads):
        rng = block_generator(seed, Purpose.SUBSPACES, block, xp)
        start = block * size
        frames[start : start + rows.stop, :, :d] = xp.astype(
            haar_frames(rng, size, r, d, xp)[rows, ...], frames.dtype
        )
    return xp.matrix_transpose(frames)


@dataclass(frozen=True, slots=True)
class SampleStream:
    """An endless, numbered sequence of samples (X, y) of points and query.

    Parameters
    ----------
    seed : int
        From 0 to 2^128 - 1.
    d : int
        From 2.
    points : int
        N; at most d for orthonormal points.
    law : {"orthonormal", "iid"}
        X is a Haar distributed frame, or N independent uniform points of the
        sphere.
    queries : {"sphere", "gaussian"}
        y is uniform on the sphere or standard normal; the sphere's are the
        Gaussian ones, normalised.
    dtype : {"float64", "float32"}

    Raises
    ------
    InputError
        If one of them is out of range.

    Examples
    --------
    >>> stream = SampleStream(0, 8)
    >>> X, y = stream.take(1000, 1030)
    >>> X.shape, y.shape
    ((30, 2, 8), (30, 8))
    >>> whole = [len(y) for X, y in stream.chunks(3000, 1700)]
    >>> whole
    [1700, 1300]
    """

    seed: int
    d: int
    points: int = 2
    law: Law = "orthonormal"
    queries: QueryLaw = "sphere"
    dtype: Dtype = "float64"

    def __post_init__(self) -> None:
        allowed = f"a whole number from 2 to {MAX_DIMENSION}"
        numbers = {
            "seed": valid_seed(self.seed),
            "d": whole_number(self.d, "d", allowed, 2, MAX_DIMENSION),
            "points": whole_number(self.points, "points", "a whole number from 1", 1),
        }
        for name, number in numbers.items():
            object.__setattr__(self, name, number)
        for name, choices in (("law", Law), ("queries", QueryLaw), ("dtype", Dtype)):
            value = getattr(self, name)
            if value not in get_args(choices):
                raise InputError(name, value, " or ".join(get_args(choices)))
        if self.law == "orthonormal":
            check_orthonormal(self.points, self.d)

    @property
    def block_size(self) -> int:
        """Samples that are drawn together."""
        return block_size(self.points * self.d)

    def block(self, number: int, xp: ModuleType = _NUMPY) -> tuple[Array, Array]:
        """All samples of one block: X (block_size, N, d) and y (block_size, d)."""
        count, dtype = self.block_size, getattr(xp, self.dtype)
        rng = block_generator(self.seed, Purpose.POINTS, number, xp)
        draw = haar_frames if self.law == "orthonormal" else sphere_points
        X = draw(rng, count, self.points, self.d, xp)
        rng = block_generator(self.seed, Purpose.QUERIES, number, xp)
        y = xp.asarray(rng.standard_normal((count, self.d)))
        if self.queries == "sphere":
            y = unit_rows(y)
        return xp.astype(X, dtype), xp.astype(y, dtype)

    def take(self, first: int, last: int, xp: ModuleType = _NUMPY) -> tuple[Array, Array]:
        """Samples number first, ..., last - 1, in arrays of the library xp.

        Workers that take disjoint ranges share the work and nothing else.

        Raises
        ------
        InputError
            If there is no such sample.
        """
        first = whole_number(first, "first sample", "a whole number from 0", 0)
        last = whole_number(last, "last sample", f"a whole number above {first}", first + 1)
        return _joined(lambda number: self.block(number, xp), self.block_size, first, last, xp)

    def chunks(
        self, samples: int, size: int, *, first: int = 0, xp: ModuleType = _NUMPY
    ) -> Iterator[tuple[Array, Array]]:
        """The samples from number ``first`` on, at most ``size`` at a time.

        Raises
        ------
        InputError
            If one of the numbers is out of range.
        """
        samples = whole_number(samples, "samples", "a whole number, 0 or more", 0)
        size = whole_number(size, "chunk size", "a whole number from 1", 1)
        first = whole_number(first, "first sample", "a whole number from 0", 0)
        # A block that ends in the next chunk is drawn once.
        block = lru_cache(maxsize=1)(lambda number: self.block(number, xp))
        end = first + samples
        for start in range(first, end, size):
            yield _joined(block, self.block_size, start, min(start + size, end), xp)


def _blocks(size: int, first: int, last: int) -> Iterator[tuple[int, slice]]:
    """The blocks that hold rows first, ..., last - 1, and which of their rows."""
    for block in range(first // size, -(-last // size)):
        start = block * size
        yield block, slice(max(first - start, 0), min(last - start, size))


def _joined(
    block: Callable[[int], tuple[Array, Array]], size: int, first: int, last: int, xp: ModuleType
) -> tuple[Array, Array]:
    pieces = []
    for number, rows in _blocks(size, first, last):
        X, y = block(number)
        pieces.append((X[rows, ...], y[rows, ...]))
    if len(pieces) == 1:
        return pieces[0]
    return xp.concat([X for X, _ in pieces], axis=0), xp.concat([y for _, y in pieces], axis=0)
