"""Random rank-1 hardmax heads with the best scalar values (K1, K2).

The error of `rank_one_error` is least where (C + 11^T) a = b + 1. The matrix is a Gram
matrix, so the system always has solutions, all with the same error, also where heads
repeat and it is singular.
"""

from __future__ import annotations

import numpy as np

from boundcheck.block_plan import DEFAULT_MEMORY_CAP
from boundcheck.constructions.conjugate_gradients import GramMatrix, gram_solution
from boundcheck.constructions.rank_one_error import (
    FloatArray,
    head_correlations,
    target_correlations,
    unit_heads,
    upper_blocks,
)
from boundcheck.constructions.seeds import (
    Seed,
    dimension,
    head_count,
    heads_generator,
    seed_number,
)
from boundcheck.frames import unit_rows
from boundcheck.network import Layer, Network
from boundcheck.sampling import Dtype

#: Bytes beside the matrix: blocks of C while they are made, and vectors.
_BESIDE = 2**26


def best_weight_heads(
    d: int,
    heads: int,
    seed: Seed,
    *,
    dtype: Dtype = "float64",
    memory_cap: int = DEFAULT_MEMORY_CAP,
) -> Network:
    """Hardmax heads with independent uniform q_h, k_h and the best values a_h I (K1).

    Fewer heads of the same seed are the first of more.

    Parameters
    ----------
    d : int
        d >= 2.
    heads : int
        H >= 1.
    seed : int or numpy.random.Generator
    dtype : {"float64", "float32"}
    memory_cap : int
        As in `best_weights`.

    Returns
    -------
    Network
        Its details hold the seed and the exact error of these very heads.

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> network = best_weight_heads(10, 512, 0)
    >>> network.heads, network.rank, round(float(network.details["error"]), 2)
    (512, 1, 0.24)
    """
    d, heads, seed = dimension(d), head_count(heads), seed_number(seed)
    pairs = unit_rows(heads_generator(seed).standard_normal((heads, 2, d)))
    Q, K = (np.ascontiguousarray(pairs[:, i]) for i in range(2))
    values = best_weights(Q, K, memory_cap=memory_cap)
    Q, K = unit_heads(Q, K)
    error = 1 - 0.5 * float((1 + target_correlations(Q, K)) @ values)
    layer = Layer(
        Q=Q[:, :, None].astype(dtype), K=K[:, :, None].astype(dtype), values=values.astype(dtype)
    )
    return Network(
        layers=(layer,),
        d=d,
        points=2,
        statement="K1",
        random_heads=heads,
        details={"seed": seed, "error": error},
    )


def best_weights(
    Q: FloatArray, K: FloatArray, *, memory_cap: int = DEFAULT_MEMORY_CAP
) -> FloatArray:
    """The values a that make the error of heads (q_h, k_h) least.

    By Cholesky factorisation where the matrix fits in the memory cap, else by
    conjugate gradients with the blocks of C that fit kept and the others computed
    again; also where heads depend on each other, so that the matrix is singular.

    Parameters
    ----------
    Q, K : ndarray (H, d)
        Only their directions matter.
    memory_cap : int
        Bytes that the arrays made here may take together.

    Returns
    -------
    ndarray (H,)
        Conjugate gradients stop within about 1e-12 of the least error.

    Raises
    ------
    InputError
        As `rank_one_error`.
    ArithmeticError
        If conjugate gradients do not settle.

    Examples
    --------
    >>> q = np.array([[1.0, 0.0], [1.0, 0.0]])
    >>> bool(np.isclose(best_weights(q, q).sum(), 0.75))
    True
    """
    Q, K = unit_heads(Q, K)
    target = 1 + target_correlations(Q, K)
    if 8 * len(Q) ** 2 + _BESIDE <= memory_cap:
        solution = _by_cholesky(Q, K, target)
        if solution is not None:
            return solution
    return gram_solution(GramMatrix(Q, K, memory_cap - _BESIDE), target)


def _by_cholesky(Q: FloatArray, K: FloatArray, target: FloatArray) -> FloatArray | None:
    """The solution, or None where the matrix is singular to rounding."""
    from scipy.linalg import LinAlgError, cho_factor, cho_solve

    # One triangle is made. Transposed it lies as LAPACK wants it, so that it is
    # factorised in place.
    matrix = np.empty((len(Q), len(Q)))
    for rows, columns in upper_blocks(len(Q)):
        np.add(head_correlations(Q, K, rows, columns), 1, out=matrix[rows, columns])
    try:
        factor, lower = cho_factor(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    if float(np.diagonal(factor).min()) ** 2 < 8 * len(Q) * float(np.finfo(float).eps):
        return None
    solution: FloatArray = cho_solve((factor, lower), target, check_finite=False)
    return solution
