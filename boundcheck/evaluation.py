"""A measured error beside what is predicted for it and what bounds it from below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from boundcheck.backend import on_host
from boundcheck.bounds.registry import bound_named, lower_bound_id
from boundcheck.network import Network
from boundcheck.problem import HeadClass, Problem
from boundcheck.values import Enclosure, Numeric, Statistical

Verdict = Literal["consistent", "violated", "undecided"]

#: Standard errors at which a verdict falls: two sides of a normal law hold 2e-9 beyond,
#: which leaves room for skew below one false alarm in a million.
SIGMAS = 6.0
#: Standard errors of the interval that reports show: 95 % of a normal law.
SHOWN_SIGMAS = 1.96
#: Heads up to which the exact error of given rank-one heads is summed.
EXACT_HEADS = 2**13


@dataclass(frozen=True, slots=True)
class Prediction:
    """The error a statement gives.

    Attributes
    ----------
    id : str
    error : Enclosure or Numeric
    of_these_heads : bool
        Whether it is the error of the very heads given; otherwise it is the
        mean over random draws of heads, and no verdict rests on it.
    """

    id: str
    error: Enclosure | Numeric
    of_these_heads: bool


@dataclass(frozen=True, slots=True)
class AppliedBound:
    """A lower bound that speaks of the heads given."""

    id: str
    head_class: HeadClass
    error: Enclosure
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What `boundcheck evaluate` reports.

    Attributes
    ----------
    measured : Statistical
    predicted : Prediction or None
    bounds : tuple of AppliedBound
    verdict : str
        "violated" if the measurement contradicts a bound or an exact
        prediction, "undecided" if it is too wide to tell a bound, "consistent"
        otherwise.
    remark : str or None
        Why no lower bound applies.
    """

    measured: Statistical
    predicted: Prediction | None
    bounds: tuple[AppliedBound, ...]
    verdict: Verdict
    remark: str | None


def evaluation(network: Network, measured: Statistical) -> Evaluation:
    """The verdict on a network's measured error.

    Examples
    --------
    >>> from boundcheck.constructions.full_rank import full_rank_softmax
    >>> measured = Statistical(0.0551, 0.0005, 20_000, 0, 2.0)
    >>> found = evaluation(full_rank_softmax(8, 10.0), measured)
    >>> found.predicted.id, found.verdict
    ('U2', 'consistent')
    """
    predicted = prediction(network)
    remark = why_no_bound(network)
    bounds = () if remark else (_applied(network, measured),)
    verdicts: list[Verdict] = [bound.verdict for bound in bounds]
    if predicted is not None and predicted.of_these_heads:
        verdicts.append(_beside_prediction(measured, predicted.error))
    return Evaluation(measured, predicted, bounds, worst(verdicts), remark)


def worst(verdicts: Sequence[Verdict]) -> Verdict:
    """One verdict for several.

    Examples
    --------
    >>> worst(["consistent", "undecided"]), worst([])
    ('undecided', 'consistent')
    """
    order: tuple[Verdict, ...] = ("violated", "undecided", "consistent")
    return min(verdicts, key=order.index, default="consistent")


def why_no_bound(network: Network) -> str | None:
    """Why no lower bound speaks of the network; None if one does."""
    if network.d < 3:
        return f"the lower bounds need d >= 3, this network has d = {network.d}"
    if network.points != 2:
        return f"T1 is for 2 points, this network has {network.points}"
    return network.why_no_lower_bound()


def beside_bound(measured: Statistical, bound: Enclosure) -> Verdict:
    """Whether a measured error keeps to a lower bound.

    Examples
    --------
    >>> from fractions import Fraction
    >>> bound = Enclosure.exactly(Fraction(3, 10))
    >>> [beside_bound(Statistical(mean, 0.01, 10**6, 0, 1.0), bound) for mean in (0.2, 0.31, 0.5)]
    ['violated', 'undecided', 'consistent']
    """
    low, high = measured.interval(SIGMAS)
    if high < bound.lo:
        return "violated"
    return "consistent" if low >= bound.hi or bound.hi == 0 else "undecided"


def _applied(network: Network, measured: Statistical) -> AppliedBound:
    head_class = network.head_class
    skip = network.layers[0].residual
    problem = Problem.of(network.d, network.rank, head_class=head_class, skip=skip)
    bound = bound_named(lower_bound_id(skip))
    error = bound.error(problem, network.heads)
    assert isinstance(error, Enclosure)
    return AppliedBound(bound.id, head_class, error, beside_bound(measured, error))


def _beside_prediction(measured: Statistical, predicted: Enclosure | Numeric) -> Verdict:
    low, high = measured.interval(SIGMAS)
    if isinstance(predicted, Enclosure):
        least, most = float(predicted.lo), float(predicted.hi)
    else:
        least = predicted.value - predicted.error_estimate
        most = predicted.value + predicted.error_estimate
    return "consistent" if low <= most and least <= high else "violated"


def prediction(network: Network) -> Prediction | None:
    """What a formula says of the network's error; None where there is none.

    For one layer of rank-one hardmax heads with scalar values it is exact (K1, K2),
    wherever the heads come from.
    """
    exact = _rank_one_error(network)
    if exact is not None:
        return Prediction("K1", exact, of_these_heads=True)
    formula = _FORMULAS.get(network.statement or "")
    found = formula(network) if formula is not None and network.points == 2 else None
    if found is None or network.statement is None:
        return None
    return Prediction(network.statement, found, network.statement in _EXACT)


def _rank_one_error(network: Network) -> Numeric | None:
    from boundcheck.constructions.rank_one_error import rank_one_error

    layer = network.layers[0]
    plain = network.depth == 1 and network.points == 2 and not network.positions
    scalar = layer.values.ndim == 1 and layer.matrix is None and not layer.residual
    if not (plain and scalar and layer.scores == "hardmax" and layer.r == 1):
        return None
    if layer.heads > EXACT_HEADS:
        return None
    Q, K, values = (on_host(A).astype(np.float64) for A in (layer.Q, layer.K, layer.values))
    error = rank_one_error(Q[:, :, 0], K[:, :, 0], values)
    rounding = 1e-13 * (1 + float(np.abs(values).sum())) ** 2
    return Numeric(error, rounding)


def _softmax_error(network: Network) -> Numeric | None:
    from boundcheck.bounds.full_rank import best_value, full_rank_softmax_error

    d, layer = network.d, network.layers[0]
    value, beta = float(on_host(layer.values)[0]), layer.inverse_temperature
    if value == 1:
        return full_rank_softmax_error(d, beta)
    if np.isclose(value, best_value(d, beta).value, rtol=1e-6, atol=0):
        return full_rank_softmax_error(d, beta, best_value=True)
    return None


def _vote_error(network: Network) -> Numeric | None:
    from boundcheck.bounds.majority_vote import majority_vote_error

    votes = network.layers[0]
    return majority_vote_error(network.d, votes.r, votes.heads)


def _soft_vote_error(network: Network) -> Numeric | None:
    from boundcheck.bounds.majority_vote import soft_vote_error

    votes, b = network.layers[0], network.details.get("vote_inverse_temperature")
    if not isinstance(b, float):
        return None
    return soft_vote_error(network.d, votes.r, votes.heads, b)


def _haar_error(network: Network) -> Numeric | None:
    from boundcheck.bounds.haar_heads import haar_heads_error

    if network.random_heads is None:
        return None
    found = haar_heads_error(network.d, network.layers[0].r, network.random_heads)
    return found if isinstance(found, Numeric) else None


def _measure_error(network: Network) -> Enclosure | None:
    from boundcheck.bounds.random_heads import random_heads_error_upper_bound

    if network.random_heads is None:
        return None
    return random_heads_error_upper_bound(network.d, network.random_heads)


def _no_error(network: Network) -> Enclosure:
    return Enclosure.exactly(0)


#: Statements with the error of the very network; the others average over heads.
_EXACT = ("U1", "U2")
_FORMULAS: dict[str, Callable[[Network], Enclosure | Numeric | None]] = {
    "U1": _no_error,
    "U2": _softmax_error,
    "U3": _measure_error,
    "U3r": _haar_error,
    "U4": _vote_error,
    "U4s": _soft_vote_error,
}
