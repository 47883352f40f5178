"""Times of sampling and attention beside a plain matrix product, as a Markdown table.

Run it as ``python tests/gpu/benchmark.py [--backend auto|numpy|cupy]``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

from boundcheck.attention import apply_network
from boundcheck.backend import Array, devices, is_cupy, namespace_named, versions
from boundcheck.network import Layer, Network
from boundcheck.sampling import SampleStream, haar_subspaces

REPEATS = 7


def seconds(xp: ModuleType, work: Callable[[], Array], repeats: int = REPEATS) -> float:
    """The shortest of several runs after one to warm up, waiting for the device."""

    def wait() -> None:
        if is_cupy(xp):
            import_module("cupy").cuda.Device().synchronize()

    work()
    times = []
    for _ in range(repeats):
        wait()
        start = time.perf_counter()
        work()
        wait()
        times.append(time.perf_counter() - start)
    return min(times)


def row(what: str, size: str, time_taken: float, rate: str) -> str:
    """One line of the table."""
    return f"| {what} | {size} | {time_taken * 1e3:.3g} ms | {rate} |"


def voting_network(xp: ModuleType, H: int, d: int, r: int) -> Network:
    """H hardmax heads of equal values on Haar subspaces."""
    U = haar_subspaces(0, H, d, r, dtype="float32", xp=xp)
    layer = Layer(Q=U, K=U, values=xp.full(H, 1 / H, dtype=xp.float32))
    return Network(layers=(layer,), d=d, points=2)


def attention_rows(xp: ModuleType, batch: int, H: int, d: int) -> list[str]:
    """Rank-1 hardmax heads on pairs of points, and a matrix product of the same flops."""
    network = voting_network(xp, H, d, 1)
    X, y = SampleStream(0, d, dtype="float32").take(0, batch, xp)
    keys = xp.concat([y, X[:, 0, :]], axis=0)
    weights = xp.matrix_transpose(network.layers[0].Q[:, :, 0])
    flops = 4 * batch * d * H
    product = seconds(xp, lambda: keys @ weights)
    heads = seconds(xp, lambda: apply_network(network, X, y))
    size = f"batch {batch}, d={d}, N=2, r=1, H={H}, float32"
    return [
        row("matrix product", size, product, f"{flops / product / 1e9:.4g} GFLOP/s"),
        row("hardmax heads", size, heads, f"{product / heads:.0%} of the product's"),
    ]


def sampling_row(xp: ModuleType, samples: int, points: int, d: int) -> str:
    """Frames and queries, in chunks."""

    def draw() -> None:
        for _ in SampleStream(0, d, points=points).chunks(samples, 2**16, xp=xp):
            pass

    taken = seconds(xp, draw, repeats=2)
    size = f"{samples} samples, d={d}, N={points}, float64"
    return row("frames and queries", size, taken, f"{samples / taken:.3g} samples/s")


def votes_row(xp: ModuleType, H: int, d: int, batch: int) -> str:
    """Very many heads, streamed within the default memory cap."""
    network = voting_network(xp, H, d, 1)
    X, y = SampleStream(0, d, dtype="float32").take(0, batch, xp)
    taken = seconds(xp, lambda: apply_network(network, X, y), repeats=2)
    size = f"batch {batch}, d={d}, N=2, r=1, H={H}, float32"
    return row("voting heads", size, taken, f"{batch * H / taken:.3g} votes/s")


def main() -> None:
    """Print the machine and the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", choices=("auto", "numpy", "cupy"))
    xp, reason = namespace_named(parser.parse_args().backend)
    names = [device.name for device in devices()] if is_cupy(xp) else []
    shown = ", ".join(f"{name} {v}" for name, v in versions(xp).items() if v is not None)
    print(f"{reason}. Device: {', '.join(names) or 'none'}. Versions: {shown}.\n")
    print("| what | size | time | rate |\n| --- | --- | --- | --- |")
    sizes = [(4096, 1024, 64)]
    if is_cupy(xp):
        # The first does not fill a large device.
        sizes.append((65_536, 16_384, 64))
    for batch, H, d in sizes:
        print(*attention_rows(xp, batch, H, d), sep="\n", flush=True)
    print(sampling_row(xp, 10**6, 2, 64), flush=True)
    print(votes_row(xp, 10**6, 64, 64), flush=True)


if __name__ == "__main__":
    main()
