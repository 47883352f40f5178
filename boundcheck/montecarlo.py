"""The squared error E||f - g||^2 of a layer or network, from samples.

Streaming: memory does not grow with the number of samples, and every estimate
on the way can be shown when the work is interrupted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

from boundcheck.attention import apply_network
from boundcheck.backend import Array, array_namespace, on_host
from boundcheck.block_plan import DEFAULT_MEMORY_CAP
from boundcheck.errors import InputError
from boundcheck.network import Network
from boundcheck.problem import whole_number
from boundcheck.sampling import SampleStream
from boundcheck.targets import nearest_neighbor
from boundcheck.values import Statistical

#: Samples evaluated at once, in whole blocks of the stream.
CHUNK = 8192
#: Without a number of samples the wanted precision decides, up to here.
MAX_SAMPLES = 10**9
#: No precision is believed before this many samples.
LEAST_SAMPLES = 1024


@dataclass(slots=True)
class RunningMean:
    """Mean and variance of a stream of numbers, chunk by chunk (Chan's update).

    Examples
    --------
    >>> import numpy as np
    >>> running = RunningMean()
    >>> for chunk in ([1.0, 2.0], [3.0], [4.0, 5.0]):
    ...     running.add(np.asarray(chunk))
    >>> running.count, running.mean, running.variance
    (5, 3.0, 2.5)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    largest: float = 0.0

    def add(self, values: Array) -> None:
        """Take in a chunk of numbers."""
        xp = array_namespace(values)
        values = xp.astype(values, xp.float64)
        count = int(values.shape[0])
        mean = float(xp.mean(values))
        squares = float(xp.sum((values - mean) ** 2))
        difference, total = mean - self.mean, self.count + count
        self.squares += squares + difference * difference * (self.count * count / total)
        self.mean += difference * count / total
        self.count = total
        self.largest = max(self.largest, float(xp.max(xp.abs(values))))

    @property
    def variance(self) -> float:
        """The unbiased estimate; 0 for fewer than two numbers."""
        return self.squares / (self.count - 1) if self.count > 1 else 0.0

    def estimate(self, seed: int) -> Statistical:
        """What is known so far."""
        std_error = math.sqrt(self.variance / self.count)
        return Statistical(self.mean, std_error, self.count, seed, self.largest)


Output = Callable[[Array, Array], Array]


def error_estimates(
    layer: Network | Output,
    stream: SampleStream,
    *,
    samples: int | None = None,
    precision: float | None = None,
    memory_cap: int = DEFAULT_MEMORY_CAP,
) -> Iterator[Statistical]:
    """Estimates of E||f - g||^2, one after each chunk of samples, each better than the last.

    Parameters
    ----------
    layer : Network or callable
        g: a network, or a function of X (batch, N, d) and y (batch, d).
    stream : SampleStream
        The law of (X, y); arrays come in the library of the network's weights.
    samples : int, optional
        How many samples to take. One of samples and precision is needed.
    precision : float, optional
        Stop once the standard error is at most this.
    memory_cap : int
        Bytes for a network's evaluation.

    Raises
    ------
    InputError
        If the network does not fit the stream, or a number is out of range.

    Examples
    --------
    >>> from boundcheck.constructions.full_rank import full_rank_softmax
    >>> network = full_rank_softmax(8, 10.0)
    >>> *_, last = error_estimates(network, SampleStream(0, 8), samples=20_000)
    >>> low, high = last.interval(6)
    >>> low < 0.05508 < high  # U2
    True
    """
    most = _most_samples(samples, precision)
    output, xp = _output(layer, stream, memory_cap)
    running = RunningMean()
    size = max(1, CHUNK // stream.block_size) * stream.block_size
    for X, y in stream.chunks(most, size, xp=xp):
        difference = nearest_neighbor(X, y) - output(X, y)
        running.add(array_namespace(difference).sum(difference * difference, axis=1))
        estimate = running.estimate(stream.seed)
        yield estimate
        enough = estimate.samples >= LEAST_SAMPLES
        if precision is not None and enough and estimate.std_error <= precision:
            return


def measured_error(
    layer: Network | Output,
    stream: SampleStream,
    *,
    samples: int | None = None,
    precision: float | None = None,
    memory_cap: int = DEFAULT_MEMORY_CAP,
) -> Statistical:
    """The last of `error_estimates`.

    Examples
    --------
    >>> from boundcheck.constructions.full_rank import full_rank_hardmax
    >>> measured_error(full_rank_hardmax(4), SampleStream(0, 4), samples=2000).mean
    0.0
    """
    *_, last = error_estimates(
        layer, stream, samples=samples, precision=precision, memory_cap=memory_cap
    )
    return last


def _most_samples(samples: int | None, precision: float | None) -> int:
    if samples is not None:
        allowed = f"a whole number from 2 to {MAX_SAMPLES}"
        samples = whole_number(samples, "samples", allowed, 2, MAX_SAMPLES)
    if precision is not None and not 0 < precision < math.inf:
        raise InputError("precision", precision, "a positive number")
    if samples is None and precision is None:
        raise InputError("samples, precision", "neither", "at least one of them")
    return MAX_SAMPLES if samples is None else samples


def _output(
    layer: Network | Output, stream: SampleStream, memory_cap: int
) -> tuple[Output, ModuleType]:
    if not isinstance(layer, Network):
        import array_api_compat.numpy as xp

        return layer, xp
    for name, needed, given in (("d", layer.d, stream.d), ("points", layer.points, stream.points)):
        if needed != given:
            raise InputError(name, given, f"{needed}, as the network has")
    weights = layer.layers[0].Q
    if str(on_host(weights[:0, ...]).dtype) != stream.dtype:
        raise InputError("dtype", stream.dtype, f"{weights.dtype}, as the network has")
    return (
        lambda X, y: apply_network(layer, X, y, memory_cap=memory_cap),
        array_namespace(weights),
    )
