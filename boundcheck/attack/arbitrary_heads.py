"""Heads with arbitrary scores as the search reports and writes them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from boundcheck.array_files import write_arrays
from boundcheck.problem import HeadClass

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ArbitraryHeads:
    """Key maps and values; the scores are the best ones up to a degree in K_h^T x.

    They are the least-squares solution for these K and values, which
    `ridge_layer.RidgeLayer` computes for matrices and
    `constructions.arbitrary_scores.arbitrary_score_layer` for scalars.

    Attributes
    ----------
    K : ndarray (H, d, r)
    values : ndarray (H,) or (H, d, d)
    degree : int
        The largest degree of the scores, odd.
    error : float
    """

    K: FloatArray
    values: FloatArray
    degree: int
    error: float

    @property
    def head_class(self) -> HeadClass:
        """Standard for matrices, since the weights sum to 1; else scalar."""
        return "scalar" if self.values.ndim == 1 else "standard"


def write_arbitrary_heads(path: str | os.PathLike[str], heads: ArbitraryHeads) -> None:
    """Write the arrays K and values, and the string ``boundcheck_arbitrary_scores``.

    The string is JSON with the degree and the error. `read_network` refuses such
    files: no dot products give these scores.

    Raises
    ------
    InputError
        If path cannot be written or has another suffix than .npz and .safetensors.
    """
    header = json.dumps({"version": 1, "degree": heads.degree, "error": heads.error})
    arrays = {"K": heads.K, "values": heads.values}
    write_arrays(path, arrays, {"boundcheck_arbitrary_scores": header})
