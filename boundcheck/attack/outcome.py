"""The error of the best heads found, beside the lower bounds that they must keep to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from boundcheck.attack.search import Best
from boundcheck.bounds.registry import bound_named
from boundcheck.evaluation import Verdict, beside_bound, worst
from boundcheck.montecarlo import error_estimates
from boundcheck.network import Network
from boundcheck.problem import HEAD_CLASSES, HeadClass, Problem
from boundcheck.sampling import SampleStream
from boundcheck.values import Enclosure, Numeric, Statistical

#: Fresh samples: as many as this, fewer where one of them needs much work.
_MOST_SAMPLES = 2**19
_LEAST_SAMPLES = 2**14
_WORK = 2**30


@dataclass(frozen=True, slots=True)
class Gap:
    """How far the best heads stay above a lower bound.

    Attributes
    ----------
    id : str
    head_class : str
        The class that the bound is for.
    error : Enclosure
        The bound.
    gap : float
        The error found less the bound.
    verdict : str
        "violated" only if the error is certain to be lower: by more than its rounding,
        or by `evaluation.SIGMAS` standard errors.
    """

    id: str
    head_class: HeadClass
    error: Enclosure
    gap: float
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Reference:
    """An error known to be reachable, to see how good a search was."""

    id: str
    what: str
    error: Enclosure | Numeric


def fresh_errors(best: Best, seed: int) -> Iterator[Numeric | Statistical]:
    """The error of the best heads, exactly or from samples that they were not fitted to.

    Sampled errors come one after another, each from more samples; the last counts.

    Examples
    --------
    >>> from boundcheck.attack.objectives import objective
    >>> from boundcheck.attack.search import Search
    >>> exact = objective(3, 1, 2, scores="hardmax", head_class="scalar", seed=0)
    >>> [error] = fresh_errors(Search(exact, seed=0).run(), seed=0)
    >>> error.kind
    'numeric'
    """
    if best.objective.exact:
        yield Numeric(best.error, best.objective.error_estimate(best.parameters))
        return
    network = best.heads
    assert isinstance(network, Network)
    # The mirrored seed: no seed is its own mirror.
    yield from error_estimates(
        network, SampleStream(2**128 - 1 - seed, network.d), samples=_samples(network)
    )


def _samples(network: Network) -> int:
    layer = network.layers[0]
    # Drawing x and y takes about as much work as 64 products for each of their numbers.
    per_sample = int(np.prod(layer.Q.shape) + np.prod(layer.values.shape)) + 64 * network.d
    return max(_LEAST_SAMPLES, min(_MOST_SAMPLES, _WORK // per_sample))


def gaps(best: Best, error: Numeric | Statistical) -> tuple[Gap, ...]:
    """T1 for every class that the heads belong to; none at d = 2.

    Heads with scalar values whose weights sum to 1 belong to all classes.

    Examples
    --------
    >>> from boundcheck.attack.objectives import objective
    >>> from boundcheck.attack.search import Search
    >>> best = Search(objective(5, 1, 8, scores="hardmax", head_class="scalar", seed=0), 0).run()
    >>> [error] = fresh_errors(best, 0)
    >>> [(gap.head_class, gap.verdict) for gap in gaps(best, error)][0]
    ('scalar', 'consistent')
    """
    heads, d, r = shape(best)
    if d < 3:
        return ()
    found = []
    for head_class in HEAD_CLASSES[HEAD_CLASSES.index(best.heads.head_class) :]:
        bound = bound_named("T1")
        limit = bound.error(Problem.of(d, r, head_class=head_class), heads)
        assert isinstance(limit, Enclosure)
        mean = error.value if isinstance(error, Numeric) else error.mean
        found.append(
            Gap(bound.id, head_class, limit, mean - float(limit.lo), _verdict(error, limit))
        )
    return tuple(found)


def reference(best: Best) -> Reference | None:
    """What is known to be reachable by heads like these; None where no statement says.

    T2 for arbitrary scores (also for standard heads, which may do better), and equally
    spaced heads for rank-one hardmax heads in the plane.
    """
    heads, d, r = shape(best)
    if not isinstance(best.heads, Network):
        if d < 3:
            return None
        limit = bound_named("T2").error(Problem.of(d, r), heads)
        assert isinstance(limit, Enclosure)
        return Reference("T2", "scalar heads with arbitrary scores", limit)
    if d == 2 and r == 1 and best.heads.layers[0].scores == "hardmax":
        from boundcheck.constructions.planar import planar_heads

        known = Numeric(float(planar_heads(heads).details["error"]), 1e-13)
        return Reference("K1", "equally spaced heads", known)
    return None


def shape(best: Best) -> tuple[int, int, int]:
    """H, d and r of the heads."""
    # Parameters of rank-one hardmax heads have no axis for the rank.
    H, d, *r = best.objective.shapes[0]
    return H, d, r[0] if r else 1


def verdict(found: tuple[Gap, ...]) -> Verdict:
    """The worst of the verdicts."""
    return worst([gap.verdict for gap in found])


def _verdict(error: Numeric | Statistical, bound: Enclosure) -> Verdict:
    if isinstance(error, Statistical):
        return beside_bound(error, bound)
    if error.value + error.error_estimate < bound.lo:
        return "violated"
    known = error.value - error.error_estimate >= bound.hi
    return "consistent" if known or bound.hi == 0 else "undecided"
