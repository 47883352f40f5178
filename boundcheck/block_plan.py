"""How many samples and heads attention takes at once, within a memory cap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from boundcheck.errors import InputError
from boundcheck.problem import whole_number

#: 1 GiB.
DEFAULT_MEMORY_CAP = 2**30

#: Numbers of one matrix product's result on a CPU. Larger ones leave the last cache, and
#: smaller ones make the threads of the product wait for each other more often: on a busy
#: machine half the size took two to four times as long.
_PRODUCT_NUMBERS = 2**21
#: Samples of a block on a CPU: enough to make up for rearranging the heads of each block.
_ROWS = 2048
#: Numbers that go through the elementwise work between two products together on a CPU, so
#: that they stay in its inner cache: all at once take a third longer.
_CACHED_NUMBERS = 2**17
#: Fewer heads at once make poor matrix products; then fewer samples are better.
_FEW_HEADS = 64
#: Python's own objects, and headers.
_OVERHEAD = 2**16


class LayerShape(NamedTuple):
    """What of a layer decides its memory; matrices: whether V_h are (H, m, m)."""

    heads: int
    m: int
    r: int
    points: int
    matrices: bool
    itemsize: int

    @property
    def scored(self) -> int:
        """Score arrays: of two points the difference is enough."""
        return 1 if self.points == 2 else self.points

    def bytes_per_sample(self) -> int:
        """Memory of one sample whatever the heads: tokens, queries, sums in float64."""
        tokens = self.points * self.m
        return self.itemsize * (4 * tokens + 6 * self.m) + 8 * 3 * (self.points + self.m)

    def bytes_per_head(self, rows: int) -> int:
        """Memory of one head at that many samples: its columns, scores and weights."""
        numbers = rows * (self.r * (1 + self.scored) + 6 * self.scored) + 2 * self.m * self.r
        if self.matrices:
            numbers += rows * (3 * self.points + self.m) + self.m**2
        return self.itemsize * numbers + 16

    def heads_at_once(self, rows: int, memory: int, cached: bool) -> int:
        """Heads that fit into memory beside that many samples; 0 if none does."""
        left = memory - rows * self.bytes_per_sample()
        heads = min(self.heads, max(0, left // self.bytes_per_head(rows)))
        if cached:
            widest = max(self.r * self.scored, self.m if self.matrices else 0)
            heads = min(heads, max(1, _PRODUCT_NUMBERS // (rows * widest)))
        return heads

    def product_numbers(self, rows: int, heads: int) -> int:
        """Numbers of the products of queries and of points with that many heads."""
        return rows * heads * self.r * (1 + self.scored)

    def rows_cached(self, rows: int, heads: int) -> int:
        """Samples whose numbers fit into the inner cache with that many heads."""
        widest = max(self.r * self.scored, self.m if self.matrices else 0)
        return min(rows, max(1, _CACHED_NUMBERS // (heads * widest)))


class LayerBlocks(NamedTuple):
    """Heads of one matrix product, and samples that are weighed together after it."""

    heads: int
    rows: int


class BlockPlan(NamedTuple):
    """Samples of one matrix product, for each layer the rest, and numbers of its products."""

    rows: int
    layers: tuple[LayerBlocks, ...]
    product_numbers: int


def block_plan(
    layers: Sequence[LayerShape], batch: int, result_bytes: int, memory_cap: int, *, cached: bool
) -> BlockPlan:
    """Block sizes that keep all arrays of a call, its result included, within memory_cap.

    Parameters
    ----------
    layers : sequence of LayerShape
    batch : int
        Samples in all, at least 1.
    result_bytes : int
        Bytes of the whole result.
    memory_cap : int
        Bytes.
    cached : bool
        Whether to keep blocks small enough for a CPU's caches; a GPU wants them large.

    Raises
    ------
    InputError
        If the cap is too small for one sample and one head.

    Examples
    --------
    >>> layer = LayerShape(heads=65536, m=64, r=1, points=2, matrices=False, itemsize=4)
    >>> plan = block_plan([layer], 512, 512 * 64 * 4, 2**30, cached=True)
    >>> plan.rows, plan.layers
    (512, (LayerBlocks(heads=4096, rows=32),))
    """
    allowed = "a whole number of bytes"
    memory_cap = whole_number(memory_cap, "memory-cap", allowed, 1)
    memory = memory_cap - result_bytes - _OVERHEAD
    rows = batch
    if cached:
        widest = max(layer.heads * layer.r * layer.scored for layer in layers)
        rows = min(batch, max(_ROWS, _PRODUCT_NUMBERS // widest))
    while True:
        heads = tuple(layer.heads_at_once(rows, memory, cached) for layer in layers)
        wanted = 1 if rows == 1 else _FEW_HEADS
        if all(
            h >= min(wanted, layer.heads_at_once(rows, 2**63, cached))
            for h, layer in zip(heads, layers, strict=True)
        ):
            both = list(zip(layers, heads, strict=True))
            return BlockPlan(
                rows,
                tuple(
                    LayerBlocks(h, layer.rows_cached(rows, h) if cached else rows)
                    for layer, h in both
                ),
                max(layer.product_numbers(rows, h) for layer, h in both),
            )
        if rows == 1:
            least = max(layer.bytes_per_sample() + layer.bytes_per_head(1) for layer in layers)
            least += result_bytes + _OVERHEAD
            raise InputError(
                "memory-cap", memory_cap, f"at least {least} bytes for one sample and the result"
            )
        rows = (rows + 1) // 2
