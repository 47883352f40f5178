"""U1 and U2 as weights: one head with K = Q = I."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from boundcheck.bounds.full_rank import (
    best_value,
    full_rank_softmax_error,
    inverse_temperature_for,
    sufficient_inverse_temperature,
)
from boundcheck.constructions.seeds import dimension
from boundcheck.errors import InputError
from boundcheck.network import Layer, Network
from boundcheck.problem import exact_fraction
from boundcheck.sampling import Dtype


def full_rank_hardmax(d: int, *, points: int = 2, dtype: Dtype = "float64") -> Network:
    """One hardmax head with K = Q = V = I: error 0 for every N (U1).

    Parameters
    ----------
    d : int
        d >= 2.
    points : int
        N >= 2.
    dtype : {"float64", "float32"}

    Raises
    ------
    InputError
        If a number is out of range.

    Examples
    --------
    >>> network = full_rank_hardmax(8)
    >>> network.statement, network.heads, network.rank, network.head_class
    ('U1', 1, 8, 'scalar')
    """
    identity = np.eye(dimension(d), dtype=dtype)[None]
    layer = Layer(Q=identity, K=identity, values=np.ones(1, dtype=dtype))
    return Network(layers=(layer,), d=d, points=points, statement="U1", random_heads=1)


def full_rank_softmax(
    d: int,
    inverse_temperature: float | None = None,
    *,
    eps: Fraction | float | str | None = None,
    with_best_value: bool = False,
    dtype: Dtype = "float64",
) -> Network:
    """One softmax head with scores beta <x_i, y>, N = 2 (U2).

    Parameters
    ----------
    d : int
        d >= 2.
    inverse_temperature : float, optional
        beta > 0.
    eps : Fraction, float or str, optional
        In (0, 1/2), in place of beta: the beta with which V = I reaches that error.
        About the least one; for d = 2 up to twice that.
    with_best_value : bool
        Whether the value is a I with the best a in place of I.
    dtype : {"float64", "float32"}

    Returns
    -------
    Network
        Its details hold beta and the error.

    Raises
    ------
    InputError
        If a number is out of range, or not just one of beta and eps is given.

    Examples
    --------
    >>> network = full_rank_softmax(8, 10.0)
    >>> round(float(network.details["error"]), 5)
    0.05508
    >>> float(full_rank_softmax(8, eps="0.1").details["error"]) <= 0.1
    True
    """
    d = dimension(d)
    if (inverse_temperature is None) == (eps is None):
        raise InputError("inverse-temperature, eps", "both or none", "one of them")
    beta = _reaching(d, eps) if inverse_temperature is None else inverse_temperature
    if not 0 < beta < float("inf"):
        raise InputError("inverse-temperature", beta, "a positive number")
    value = best_value(d, beta).value if with_best_value else 1.0
    identity = np.eye(d, dtype=dtype)[None]
    layer = Layer(
        Q=identity,
        K=identity,
        values=np.full(1, value, dtype=dtype),
        scores="softmax",
        inverse_temperature=beta,
    )
    error = full_rank_softmax_error(d, beta, best_value=with_best_value).value
    return Network(
        layers=(layer,),
        d=d,
        points=2,
        statement="U2",
        random_heads=1,
        details={"inverse_temperature": beta, "error": error},
    )


def _reaching(d: int, given: Fraction | float | str | None) -> float:
    allowed = "a decimal or fraction between 0 and 1/2, such as 0.1 or 1/10"
    eps = given if isinstance(given, Fraction) else exact_fraction(str(given), "eps", allowed)
    if not 0 < eps < Fraction(1, 2):
        raise InputError("eps", eps, allowed)
    try:
        if d > 2:
            return inverse_temperature_for(d, eps)
        # The density of t is not bounded by c_2, so the closed form may be too small.
        beta = float(sufficient_inverse_temperature(d, eps))
    except OverflowError:
        raise InputError("eps", given, "an error whose inverse temperature is a float") from None
    while full_rank_softmax_error(d, beta).value > eps:
        beta *= 2
    return beta
