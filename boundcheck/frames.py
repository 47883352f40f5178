"""Random orthonormal frames and points of the sphere, from a generator of normals."""

from __future__ import annotations

from types import ModuleType
from typing import Any, Protocol

import array_api_compat.numpy

from boundcheck.backend import Array, array_namespace
from boundcheck.errors import InputError

#: From this many rows on LAPACK's QR is faster, measured at d = 64 (N = 2: 3 times slower).
_QR_ROWS = 8

_NUMPY: ModuleType = array_api_compat.numpy


class NormalSource(Protocol):
    """A generator of NumPy or of CuPy."""

    def standard_normal(self, size: Any) -> Array: ...


def unit_rows(A: Array) -> Array:
    """The rows of A (..., d), each divided by its length."""
    xp = array_namespace(A)
    return A / xp.sqrt(xp.vecdot(A, A))[..., None]


def orthonormal_rows(A: Array) -> Array:
    """The Gram-Schmidt orthonormalisation of the rows of A (batch, N, d), N <= d.

    It is the orthonormal factor whose triangular factor has a positive
    diagonal. That makes it commute with rotations of R^d, so standard normal
    entries give Haar distributed frames; the factor QR routines return has
    its signs set by the reflections they use, and gives something else.

    Examples
    --------
    >>> import numpy as np
    >>> orthonormal_rows(np.asarray([[[3.0, 4.0], [0.0, 1.0]]]))
    array([[[ 0.6,  0.8],
            [-0.8,  0.6]]])
    """
    xp = array_namespace(A)
    if A.shape[1] >= _QR_ROWS:
        Q, R = xp.linalg.qr(xp.matrix_transpose(A))
        signs = 1 - 2 * xp.astype(xp.linalg.diagonal(R) < 0, A.dtype)
        return xp.matrix_transpose(Q) * signs[:, :, None]
    rows: list[Array] = []
    for k in range(A.shape[1]):
        row = A[:, k, :]
        # Once leaves errors as large as the rows were dependent; twice is enough.
        for _ in range(2):
            for earlier in rows:
                row = row - xp.vecdot(row, earlier)[:, None] * earlier
        rows.append(unit_rows(row))
    return xp.stack(rows, axis=1)


def haar_frames(
    rng: NormalSource, count: int, points: int, d: int, xp: ModuleType = _NUMPY
) -> Array:
    """Haar distributed orthonormal frames (count, points, d), float64.

    Parameters
    ----------
    rng : numpy.random.Generator or cupy.random.Generator
    count, points, d : int
        points at most d.
    xp : module
        The library of the result.

    Raises
    ------
    InputError
        If points exceeds d.

    Examples
    --------
    >>> import numpy as np
    >>> X = haar_frames(np.random.default_rng(0), 5, 3, 8)
    >>> bool(np.allclose(X @ X.transpose(0, 2, 1), np.eye(3)))
    True
    """
    check_orthonormal(points, d)
    return orthonormal_rows(xp.asarray(rng.standard_normal((count, points, d))))


def sphere_points(
    rng: NormalSource, count: int, points: int, d: int, xp: ModuleType = _NUMPY
) -> Array:
    """Independent uniform points of S^{d-1}, (count, points, d), float64."""
    return unit_rows(xp.asarray(rng.standard_normal((count, points, d))))


def check_orthonormal(points: int, d: int) -> None:
    """Refuse more orthonormal points than dimensions."""
    if points > d:
        raise InputError("points", points, f"at most d = {d} for orthonormal points")
