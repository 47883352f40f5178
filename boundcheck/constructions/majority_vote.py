"""U4 and U4s as weights: H votes of rank r in one layer, one head of rank 1 that reads them.

Tokens are [x_i; e_i] and the query is [y; 0, 0]. Each voting head adds e_i / H for the
point it picks; after the residual the query is [y; v_1, v_2] with the shares v of the
votes, and the second layer picks the point with the larger share.

Its maps are (1, -1) in place of THEORY's (1, -1)/sqrt2, which changes no hardmax and is
exact: an equal vote stays an equal score, and goes to the first point. The scores are then
+-(v_1 - v_2), so the softmax that gives the two points weights whose difference is
tanh(b (2k - H)), k votes for the first, has the inverse temperature b H.
"""

from __future__ import annotations

import math
from types import ModuleType

import array_api_compat.numpy

from boundcheck.bounds.majority_vote import best_vote_inverse_temperature
from boundcheck.constructions.seeds import Seed, dimension, head_count, head_rank, seed_number
from boundcheck.errors import InputError
from boundcheck.network import Layer, Network
from boundcheck.sampling import Dtype, haar_subspaces


def majority_vote(
    d: int,
    r: int,
    votes: int,
    seed: Seed,
    *,
    dtype: Dtype = "float64",
    xp: ModuleType = array_api_compat.numpy,
) -> Network:
    """The majority of H Haar hardmax heads of rank r, in two layers, N = 2 (U4).

    Parameters
    ----------
    d, r : int
        1 <= r <= d, d >= 2.
    votes : int
        H >= 1; the network has H + 1 heads. The first point wins ties.
    seed : int or numpy.random.Generator
    dtype : {"float64", "float32"}
    xp : module
        The array library of the weights.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> network = majority_vote(8, 2, 15, seed=0)
    >>> network.statement, network.heads, network.depth
    ('U4', 16, 2)
    >>> [layer.r for layer in network.layers]
    [2, 1]
    """
    return _network(d, r, votes, seed, None, dtype, xp)


def soft_majority_vote(
    d: int,
    r: int,
    votes: int,
    seed: Seed,
    *,
    vote_inverse_temperature: float | None = None,
    dtype: Dtype = "float64",
    xp: ModuleType = array_api_compat.numpy,
) -> Network:
    """`majority_vote` with a softmax of inverse temperature 2b on the vote difference (U4s).

    Parameters
    ----------
    d, r, votes, seed, dtype, xp
        As in `majority_vote`, r < d unless b is given.
    vote_inverse_temperature : float, optional
        b > 0; by default the best one.

    Returns
    -------
    Network
        Its details hold b.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> network = soft_majority_vote(8, 2, 15, seed=0)
    >>> network.statement, network.layers[1].scores
    ('U4s', 'softmax')
    """
    d, votes = dimension(d), head_count(votes)
    b = vote_inverse_temperature
    if b is None:
        r = head_rank(r, d)
        if r == d:
            # All votes are right, and the best softmax is the hardmax.
            raise InputError("r", r, f"at most {d - 1} for a softmax of the best temperature")
        b = best_vote_inverse_temperature(d, r, votes)
    if not 0 < b < math.inf:
        raise InputError("vote-inverse-temperature", b, "a positive number")
    return _network(d, r, votes, seed, b, dtype, xp)


def _network(
    d: int, r: int, votes: int, seed: Seed, b: float | None, dtype: Dtype, xp: ModuleType
) -> Network:
    d, votes, seed = dimension(d), head_count(votes), seed_number(seed)
    r = head_rank(r, d)
    real = getattr(xp, dtype)
    U = haar_subspaces(seed, votes, d, r, zero_rows=2, dtype=dtype, xp=xp)
    on_points = xp.arange(d + 2) < d
    on_positions = xp.astype(~on_points, real)
    voting = Layer(
        Q=U,
        K=U,
        values=xp.full(votes, 1 / votes, dtype=real),
        matrix=xp.eye(d + 2, dtype=real) * on_positions,
        residual=True,
    )
    difference = xp.concat([xp.zeros(d, dtype=real), xp.asarray([1.0, -1.0], dtype=real)])
    difference = difference[None, :, None]
    reading = Layer(
        Q=difference,
        K=difference,
        values=xp.ones(1, dtype=real),
        matrix=xp.eye(d + 2, dtype=real) * xp.astype(on_points, real),
        scores="hardmax" if b is None else "softmax",
        inverse_temperature=1.0 if b is None else b * votes,
    )
    details: dict[str, float | int | str] = {"seed": seed}
    if b is not None:
        details["vote_inverse_temperature"] = b
    return Network(
        layers=(voting, reading),
        d=d,
        points=2,
        positions=True,
        statement="U4" if b is None else "U4s",
        random_heads=votes,
        details=details,
    )
