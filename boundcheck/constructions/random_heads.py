"""U3 and U3r as weights: one layer of random hardmax heads and two correction heads.

The correction heads are a pair (q, k), (q, -k), which together pick each point once.
With the weight (1 - sum of the others) / 2 they make the component along x_1 + x_2 exact.
"""

from __future__ import annotations

import numpy as np

from boundcheck.backend import Array
from boundcheck.bounds.haar_heads import advantage_moments
from boundcheck.bounds.random_heads import random_heads_measure
from boundcheck.constructions.seeds import (
    Seed,
    dimension,
    head_count,
    head_rank,
    heads_generator,
    seed_number,
)
from boundcheck.frames import unit_rows
from boundcheck.network import Layer, Network
from boundcheck.sampling import Dtype, haar_subspaces


def random_heads(d: int, heads: int, seed: Seed, *, dtype: Dtype = "float64") -> Network:
    """Hardmax heads of rank 1 drawn from the best measure for that many (U3).

    t from |mu|/A, unit vectors (q, k) uniform with <q, k> = t, weight sign(mu) A/H.
    The statement's error is the mean over draws; `rank_one_error` gives that of one.

    Parameters
    ----------
    d : int
        d >= 2.
    heads : int
        H >= 1 random heads; the layer has two more.
    seed : int or numpy.random.Generator
    dtype : {"float64", "float32"}

    Returns
    -------
    Network
        Its details hold the seed, the measure's total variation A and the mean error.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> network = random_heads(30, 1024, seed=0)
    >>> network.statement, network.heads, network.rank, network.head_class
    ('U3', 1026, 1, 'scalar')
    """
    d, heads, seed = dimension(d), head_count(heads), seed_number(seed)
    measure = random_heads_measure(d, heads)
    variation = float(measure.variation)
    atoms = np.asarray(measure.weights)
    rng = heads_generator(seed)
    k, across = np.moveaxis(rng.standard_normal((heads, 2, d)), 1, 0)
    drawn = rng.choice(len(atoms), size=heads, p=np.abs(atoms) / np.abs(atoms).sum())
    k = unit_rows(k)
    across = unit_rows(across - np.vecdot(across, k)[:, None] * k)
    t = np.asarray(measure.nodes)[drawn][:, None]
    q = t * k + np.sqrt(1 - t * t) * across
    values = np.sign(atoms[drawn]) * variation / heads
    return _corrected(
        q[:, :, None],
        k[:, :, None],
        values,
        dtype,
        "U3",
        {
            "seed": seed,
            "total_variation": variation,
            "expected_error": float(measure.error(heads).hi),
        },
    )


def haar_heads(d: int, r: int, heads: int, seed: Seed, *, dtype: Dtype = "float64") -> Network:
    """Hardmax heads K = Q = U_h, Haar of rank r, all with the best common value A/H (U3r).

    A = b / (m + (1-m)/H). The statement's error is the mean over draws.

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    heads : int
        H >= 1 random heads; the layer has two more.
    seed : int or numpy.random.Generator
    dtype : {"float64", "float32"}

    Returns
    -------
    Network
        Its details hold the seed and A.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> network = haar_heads(64, 4, 1024, seed=0)
    >>> network.statement, network.heads, network.rank, network.head_class
    ('U3r', 1026, 4, 'scalar')
    """
    d, heads, seed = dimension(d), head_count(heads), seed_number(seed)
    r = head_rank(r, d)
    moments = advantage_moments(d, r)
    total = moments.b / (moments.m + (1 - moments.m) / heads)
    U = haar_subspaces(seed, heads, d, r)
    values = np.full(heads, total / heads)
    return _corrected(U, U, values, dtype, "U3r", {"seed": seed, "total": total})


def _corrected(
    Q: Array,
    K: Array,
    values: Array,
    dtype: Dtype,
    statement: str,
    details: dict[str, float | int | str],
) -> Network:
    """The layer of these heads and the two correction heads, built on the first of them."""
    rest = (1 - float(values.sum())) / 2
    layer = Layer(
        Q=np.concatenate([Q, Q[:1], Q[:1]]).astype(dtype),
        K=np.concatenate([K, K[:1], -K[:1]]).astype(dtype),
        values=np.append(values, [rest, rest]).astype(dtype),
    )
    return Network(
        layers=(layer,),
        d=int(Q.shape[1]),
        points=2,
        statement=statement,
        random_heads=len(Q),
        details=details,
    )
