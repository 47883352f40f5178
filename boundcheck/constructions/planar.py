"""Equally spaced rank-1 hardmax heads in the plane, d = 2, N = 2.

The target's sign cos(alpha - beta), for x and y at the angles alpha and beta, jumps where
they are perpendicular. With the n directions i pi/n for q, and between them as many for
k, the functions sign<q,y> sign<k,x> span all n x n patterns of the cells that those cut,
and the target's mean on the cells takes only 2n of them: every q with the two k that are
nearly perpendicular to it, at angles +-(pi/2 - pi/(2n)). All weights equal, the x-part of
the error is (1/n - 1/(4n^2)) / 2.

Turning k round and the sign of its weight with it changes the x-part not at all and the
sum of the weights by twice that weight, so it can be brought near to 1, which the z-part
wants. Up to 5 heads q = k at angles h pi/H is better, with error
1 - 27 H^2 / (16 (2 H^2 + 1)) -> 5/32.
"""

from __future__ import annotations

import math

import numpy as np

from boundcheck.constructions.best_weights import best_weights
from boundcheck.constructions.rank_one_error import FloatArray, rank_one_error
from boundcheck.constructions.seeds import head_count
from boundcheck.network import Layer, Network
from boundcheck.sampling import Dtype

#: Up to so many heads, q = k is better.
_FEW = 5


def planar_heads(heads: int, *, dtype: Dtype = "float64") -> Network:
    """H equally spaced rank-1 hardmax heads for d = 2 with their best values (K1).

    Parameters
    ----------
    heads : int
        H >= 1.
    dtype : {"float64", "float32"}

    Returns
    -------
    Network
        Its details hold the exact error: from 6 heads on below 1/(H-1).

    Raises
    ------
    InputError
        If heads is out of range.

    Examples
    --------
    >>> [round(float(planar_heads(H).details["error"]), 4) for H in (1, 2, 8, 32)]
    [0.4375, 0.25, 0.118, 0.0308]
    """
    H = head_count(heads)
    Q, K = _equal(H) if H <= _FEW else _perpendicular(H)
    values = best_weights(Q, K)
    layer = Layer(
        Q=Q[:, :, None].astype(dtype), K=K[:, :, None].astype(dtype), values=values.astype(dtype)
    )
    return Network(
        layers=(layer,),
        d=2,
        points=2,
        statement="K1",
        random_heads=H,
        details={"error": rank_one_error(Q, K, values)},
    )


def _equal(H: int) -> tuple[FloatArray, FloatArray]:
    q = _directions(np.arange(H) * math.pi / H)
    return q, q


def _perpendicular(H: int) -> tuple[FloatArray, FloatArray]:
    n = H // 2
    at = np.arange(n) * math.pi / n
    q = _directions(np.concatenate([at, at]))
    side = math.pi / 2 - math.pi / (2 * n)
    k = _directions(np.concatenate([at + side, at - side]))
    # Turning round every second head but one lets weights of size 1/2 sum to 1.
    k[n + 1 :] *= -1
    if H % 2:
        # A pair (q, k), (q, -k) makes the sum 1 exactly.
        q, k = np.concatenate([q, q[:1]]), np.concatenate([k, -k[:1]])
    return q, k


def _directions(angles: FloatArray) -> FloatArray:
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)
