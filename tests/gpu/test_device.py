"""What must hold on a CUDA device: the same answers as NumPy, from its own random stream."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest

from boundcheck.attention import apply_network
from boundcheck.backend import array_namespace, is_cupy, namespace_named, on_host
from boundcheck.errors import InputError
from boundcheck.frames import orthonormal_rows
from boundcheck.harmonics import density_constant
from boundcheck.network import Layer, Network, converted
from boundcheck.sampling import SampleStream, haar_subspaces
from boundcheck.targets import nearest_neighbor

SIGMAS = 6.0


@pytest.fixture(scope="module")
def xp() -> ModuleType:
    try:
        return namespace_named("cupy").xp
    except InputError as error:
        pytest.skip(str(error))


def deviations(values: Any, mean: float) -> float:
    """The largest distance of a sample mean from ``mean``, in standard errors."""
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return float(np.max(np.abs(values.mean(axis=0) - mean) / errors))


def test_the_arrays_decide(xp: ModuleType) -> None:
    assert is_cupy(array_namespace(xp.ones(2)))
    with pytest.raises(InputError, match="numpy and cupy"):
        array_namespace(np.ones(2), xp.ones(2))
    assert type(on_host(xp.ones(2))) is np.ndarray


def test_float32_products_keep_their_digits(xp: ModuleType) -> None:
    # TF32 would leave relative errors near 2^-11 = 5e-4.
    rng = np.random.default_rng(0)
    A, B = rng.random((512, 512), np.float32), rng.random((512, 512), np.float32)
    exact = A.astype(np.float64) @ B.astype(np.float64)
    product = on_host(xp.matmul(xp.asarray(A), xp.asarray(B)))
    assert np.max(np.abs(product - exact) / exact) < 1e-5


@pytest.mark.parametrize("law", ["orthonormal", "iid"])
@pytest.mark.parametrize("points", [2, 3, 9])
def test_one_seed_gives_one_sample(xp: ModuleType, law: Any, points: int) -> None:
    stream = SampleStream(1, 10, points=points, law=law)
    X, y = map(on_host, stream.take(900, 2200, xp))
    chunks = list(stream.chunks(1300, 333, first=900, xp=xp))
    assert (np.concatenate([on_host(part) for part, _ in chunks]) == X).all()
    assert (np.concatenate([on_host(part) for _, part in chunks]) == y).all()
    assert len(np.unique(X[:, 0, 0])) == len(np.unique(y[:, 0])) == 1300
    other = on_host(SampleStream(2, 10, points=points, law=law).take(900, 2200, xp)[0])
    assert not (other == X).any()
    coarse = SampleStream(1, 10, points=points, law=law, dtype="float32").take(900, 2200, xp)
    assert on_host(coarse[0]).dtype == np.float32
    assert (on_host(coarse[0]) == X.astype(np.float32)).all()


@pytest.mark.parametrize("points", [2, 8])
def test_frames_are_haar(xp: ModuleType, points: int) -> None:
    # Moments as in the tests of sampling; plain QR misses the mean by far.
    n, d = 40_000, 8
    X, y = map(on_host, SampleStream(3, d, points=points).take(0, n, xp))
    assert np.abs(X @ X.transpose(0, 2, 1) - np.eye(points)).max() < 1e-13
    assert deviations(X, 0.0) < SIGMAS
    assert deviations(X**2, 1 / d) < SIGMAS
    assert deviations(X[:, 0] ** 2 * X[:, 1] ** 2, 1 / (d * (d + 2))) < SIGMAS
    t = (X[:, 0] * y).sum(axis=1)
    assert deviations(np.abs(t), 2 * float(density_constant(d)) / (d - 1)) < SIGMAS
    assert deviations(t**2, 1 / d) < SIGMAS


def test_subspaces_are_haar(xp: ModuleType) -> None:
    n, d, r = 20_000, 6, 2
    U = on_host(haar_subspaces(4, n, d, r, xp=xp))
    assert np.abs(U.transpose(0, 2, 1) @ U - np.eye(r)).max() < 1e-13
    assert (on_host(haar_subspaces(4, 5, d, r, xp=xp)) == U[:5]).all()
    assert deviations(U, 0.0) < SIGMAS
    share = (U[:, 0, :] ** 2).sum(axis=1)
    assert deviations(share, r / d) < SIGMAS
    assert deviations(share**2, r * (r + 2) / (d * (d + 2))) < SIGMAS


@pytest.mark.parametrize("N", [3, 10])
def test_orthonormal_rows_agree_with_numpy(xp: ModuleType, N: int) -> None:
    A = np.random.default_rng(5).standard_normal((50, N, 12))
    assert np.abs(on_host(orthonormal_rows(xp.asarray(A))) - orthonormal_rows(A)).max() < 1e-11


@pytest.mark.parametrize("N", [2, 3, 9])
def test_nearest_neighbors_and_their_ties_agree_with_numpy(xp: ModuleType, N: int) -> None:
    # Small integers: inner products are exact and ties are common.
    rng = np.random.default_rng(6)
    X = rng.integers(-2, 3, (500, N, 4)).astype(np.float64)
    y = rng.integers(-2, 3, (500, 4)).astype(np.float64)
    found = on_host(nearest_neighbor(xp.asarray(X), xp.asarray(y)))
    assert (found == nearest_neighbor(X, y)).all()


def heads(seed: int, H: int, d: int, r: int, points: int, **kind: Any) -> Network:
    rng = np.random.default_rng(seed)
    Q, K = rng.standard_normal((2, H, d, r))
    layer = Layer(Q=Q, K=K, **kind)
    return Network(layers=(layer, layer), d=d, points=points)


@pytest.mark.parametrize("points", [2, 3])
@pytest.mark.parametrize("scores", ["hardmax", "softmax"])
@pytest.mark.parametrize("values", ["scalars", "matrices", "shared"])
def test_networks_agree_with_numpy(xp: ModuleType, points: int, scores: Any, values: str) -> None:
    H, d, r = 70, 6, 2
    rng = np.random.default_rng(7)
    kind: dict[str, Any] = {"scores": scores, "residual": True}
    kind["values"] = rng.standard_normal((H, d, d) if values == "matrices" else H) / H
    if values == "shared":
        kind["matrix"] = rng.standard_normal((d, d))
    network = heads(8, H, d, r, points, **kind)
    X, y = SampleStream(9, d, points=points).take(0, 300)
    expected = apply_network(network, X, y)
    found = apply_network(converted(network, xp), xp.asarray(X), xp.asarray(y))
    assert is_cupy(array_namespace(found))
    assert np.abs(on_host(found) - expected).max() < 1e-11


def test_hardmax_ties_go_to_the_lowest_index(xp: ModuleType) -> None:
    for points in (2, 3):
        network = heads(10, 4, 5, 1, points, values=np.ones(4))
        X = np.broadcast_to(np.eye(5)[:1], (2, points, 5)).copy()
        found = apply_network(converted(network, xp), xp.asarray(X), xp.asarray(X[:, 0]))
        assert (on_host(found) == apply_network(network, X, X[:, 0])).all()


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_full_rank_softmax_has_its_predicted_error(xp: ModuleType, dtype: Any) -> None:
    # U2 at d = 8, beta = 10: 0.05508, rounded to 5 decimals.
    I = np.eye(8)[None]
    layer = Layer(Q=I, K=I, values=np.ones(1), scores="softmax", inverse_temperature=10.0)
    network = converted(Network(layers=(layer,), d=8, points=2), xp, dtype)
    errors = []
    for X, y in SampleStream(11, 8, dtype=dtype).chunks(400_000, 65_536, xp=xp):
        output = apply_network(network, X, y)
        assert output.dtype == X.dtype
        errors.append(on_host(xp.sum((output - nearest_neighbor(X, y)) ** 2, axis=1)))
    found = np.concatenate(errors).astype(np.float64)
    assert abs(found.mean() - 0.05508) < SIGMAS * found.std() / np.sqrt(len(found)) + 5e-6


def test_the_memory_cap_is_kept(xp: ModuleType) -> None:
    cupy = pytest.importorskip("cupy")
    if not hasattr(cupy, "get_default_memory_pool"):
        pytest.skip("NumPy stands in for CuPy")
    cap = 2**28
    H, d, batch = 65_536, 64, 512
    U = haar_subspaces(12, H, d, 1, dtype="float32", xp=xp)
    layer = Layer(Q=U, K=U, values=xp.full(H, 1 / H, dtype=xp.float32))
    network = Network(layers=(layer,), d=d, points=2)
    X, y = SampleStream(13, d, dtype="float32").take(0, batch, xp)
    pool = cupy.get_default_memory_pool()
    pool.free_all_blocks()
    before, limit = pool.total_bytes(), pool.get_limit()
    # Beyond its limit the pool refuses. A tenth more than the cap: it rounds sizes up.
    pool.set_limit(size=before + cap + cap // 10)
    try:
        assert apply_network(network, X, y, memory_cap=cap).shape == (batch, d)
    finally:
        pool.set_limit(size=limit)
