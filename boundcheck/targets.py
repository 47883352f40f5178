"""The functions f(X; y) that heads are asked to approximate."""

from __future__ import annotations

from boundcheck.backend import Array, array_namespace
from boundcheck.errors import InputError


def nearest_neighbor(X: Array, y: Array) -> Array:
    """The point x_i with the largest <x_i, y>; the lowest index on ties (section 0).

    For points of one length this is the point nearest to y.

    Parameters
    ----------
    X : array (batch, N, d)
        Points.
    y : array (batch, d)
        Queries, of the same library.

    Returns
    -------
    array (batch, d)
        Rows of X, unchanged.

    Raises
    ------
    InputError
        If the shapes do not fit or the arrays come from different libraries.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.asarray([[[1.0, 0.0], [0.0, 1.0]]])
    >>> nearest_neighbor(points, np.asarray([[0.6, 0.8]]))
    array([[0., 1.]])
    """
    xp = array_namespace(X, y)
    if X.ndim != 3 or y.ndim != 2 or (X.shape[0], X.shape[2]) != y.shape or X.shape[1] < 1:
        raise InputError(
            "X, y", f"shapes {X.shape} and {y.shape}", "(batch, N, d) and (batch, d), N at least 1"
        )
    # Row by row, so that equal points have equal scores.
    scores = xp.vecdot(X, y[:, None, :])
    if X.shape[1] == 2:
        # Several times faster than an index for each element.
        return xp.where((scores[:, 0] >= scores[:, 1])[:, None], X[:, 0, :], X[:, 1, :])
    # The standard promises the first of several maxima.
    best = xp.argmax(scores, axis=1)
    return xp.take_along_axis(X, best[:, None, None], axis=1)[:, 0, :]
