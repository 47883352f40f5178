"""What the search minimises: the error of H heads as a function of a few arrays."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from boundcheck.attack.arbitrary_heads import ArbitraryHeads
from boundcheck.network import Network

FloatArray = NDArray[np.float64]
#: Arrays whose first axis is the head, such as Q and K of shape (H, d, r).
Parameters = tuple[FloatArray, ...]


class Objective(Protocol):
    """The error of heads with given parameters and the best values or scores for them.

    Attributes
    ----------
    shapes : tuple of shapes
        Of the parameters.
    exact : bool
        Whether the error is that of the heads. Otherwise it is their mean error over a
        sample that they are fitted to, and only a fresh sample tells their error.
    """

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]: ...

    @property
    def exact(self) -> bool: ...

    def start(self, rng: np.random.Generator) -> Parameters:
        """Random parameters to start from."""
        ...

    def error_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """The error, and its derivatives by the parameters."""
        ...

    def error_estimate(self, parameters: Parameters) -> float:
        """How far rounding may have moved the error."""
        ...

    def heads(self, parameters: Parameters) -> Network | ArbitraryHeads:
        """The heads that have this error."""
        ...

    def finer(self) -> Objective | None:
        """The same on a larger sample or with more degrees, to finish with; None if exact."""
        ...

    def simpler(self) -> Objective | None:
        """Heads of a smaller class with an exact error that the search must not stay above."""
        ...


def random_maps(rng: np.random.Generator, shape: tuple[int, ...]) -> Parameters:
    """Independent standard normal Q and K of one shape.

    Examples
    --------
    >>> Q, K = random_maps(np.random.default_rng(0), (8, 5, 2))
    >>> Q.shape == K.shape
    True
    """
    return rng.standard_normal(shape), rng.standard_normal(shape)
