"""Seeds and sizes as the constructions take them."""

from __future__ import annotations

import numpy as np

from boundcheck.problem import MAX_DIMENSION, whole_number
from boundcheck.sampling import Purpose, valid_seed

Seed = int | np.random.Generator


def seed_number(seed: Seed) -> int:
    """The seed itself, or one below 2^53 drawn from the generator.

    Raises
    ------
    InputError
        If it is neither.

    Examples
    --------
    >>> seed_number(7)
    7
    """
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**53))
    return valid_seed(seed)


def heads_generator(seed: int) -> np.random.Generator:
    """The generator of random heads; samples of the same seed are independent of it."""
    key = np.random.SeedSequence(seed, spawn_key=(int(Purpose.HEADS),))
    return np.random.Generator(np.random.SFC64(key))


def dimension(d: object) -> int:
    """d, from 2 to 10^6."""
    return whole_number(d, "d", f"a whole number from 2 to {MAX_DIMENSION}", 2, MAX_DIMENSION)


def head_rank(r: object, d: int) -> int:
    """r, from 1 to d."""
    return whole_number(r, "r", f"a whole number from 1 to d = {d}", 1, d)


def head_count(heads: object) -> int:
    """H, at least 1."""
    return whole_number(heads, "heads", "a whole number from 1", 1)
