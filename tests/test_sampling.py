"""Samples: their laws, against moments known in closed form, and that a seed fixes them.

Statistical checks allow 6 standard deviations of a fixed seed's draw; each is
also shown to fail for the mistake it is meant to catch.
"""

from __future__ import annotations

import pickle
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any, get_args

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from boundcheck import sampling
from boundcheck.backend import on_host
from boundcheck.errors import InputError
from boundcheck.frames import haar_frames, orthonormal_rows, sphere_points
from boundcheck.harmonics import density_constant
from boundcheck.sampling import Law, QueryLaw, SampleStream, block_size, haar_subspaces

Floats = NDArray[np.float64]
SIGMAS = 6.0


def gaussians(seed: int, *shape: int) -> Floats:
    return np.random.default_rng(seed).standard_normal(shape)


def plain_qr(A: Floats) -> Floats:
    """The mistake: an orthonormal factor with the signs that Householder's method leaves."""
    return np.linalg.qr(A.transpose(0, 2, 1))[0].transpose(0, 2, 1)


def deviations(values: Floats, mean: float) -> float:
    """The largest distance of a sample mean from ``mean``, in standard errors."""
    errors = values.std(axis=0, ddof=1) / np.sqrt(len(values))
    return float(np.max(np.abs(values.mean(axis=0) - mean) / errors))


def mean_absolute_coordinate(d: int) -> float:
    """E|t| = 2 c_d / (d-1) for a coordinate t of a uniform point, by the exact density."""
    return 2 * float(density_constant(d)) / (d - 1)


# --- orthonormal frames -----------------------------------------------------


@given(st.integers(1, 12), st.integers(0, 4), st.integers(0, 10**6))
def test_frames_are_the_positive_triangular_factorisation(N: int, more: int, seed: int) -> None:
    # A = L Q with orthonormal rows in Q, L lower triangular, positive diagonal: the
    # only such Q there is. N runs through Gram-Schmidt and through QR.
    A = gaussians(seed, 3, N, N + more)
    Q = orthonormal_rows(A)
    assert np.abs(Q @ Q.transpose(0, 2, 1) - np.eye(N)).max() < 1e-14
    L = A @ Q.transpose(0, 2, 1)
    assert np.abs(np.triu(L, 1)).max() < 1e-13
    assert np.diagonal(L, axis1=1, axis2=2).min() > 0
    assert np.abs(L @ Q - A).max() < 1e-13


def test_nearly_dependent_rows_still_become_orthonormal() -> None:
    # One pass of Gram-Schmidt leaves errors near 1e-16 / 1e-7 here.
    A = gaussians(1, 50, 3, 5)
    A[:, 1] = A[:, 0] + 1e-7 * A[:, 1]
    A[:, 2] = A[:, 0] + 1e-7 * A[:, 2]
    Q = orthonormal_rows(A)
    assert np.abs(Q @ Q.transpose(0, 2, 1) - np.eye(3)).max() < 1e-14


@pytest.mark.parametrize("N", [2, 9])
def test_frames_turn_with_the_space(N: int) -> None:
    # orthonormal_rows(A R) = orthonormal_rows(A) R: the reason why they are Haar.
    A, R = gaussians(2, 20, N, 10), plain_qr(gaussians(3, 1, 10, 10))[0]
    assert np.abs(orthonormal_rows(A @ R) - orthonormal_rows(A) @ R).max() < 1e-12
    # The sign of Householder's first row does not turn with the space.
    assert np.abs(plain_qr(A @ R) - plain_qr(A) @ R).max() > 0.1


@pytest.mark.parametrize("points", [2, 8])
def test_entries_have_mean_zero_where_plain_qr_has_not(points: int) -> None:
    n, d = 20_000, 8
    X = on_host(haar_frames(np.random.default_rng(4), n, points, d))
    assert deviations(X, 0.0) < SIGMAS
    plain = plain_qr(gaussians(4, n, points, d))
    assert deviations(plain, 0.0) > 5 * SIGMAS
    # Householder makes the first entry -|t|: at d = 8 its mean is -E|t| = -0.291.
    assert mean_absolute_coordinate(d) == pytest.approx(0.291, abs=5e-4)
    assert deviations(plain[:, 0, 0], -mean_absolute_coordinate(d)) < SIGMAS


def test_entries_have_the_haar_second_and_fourth_moments() -> None:
    # Moments of the orthogonal group: E q11^2 = 1/d, E q11^2 q21^2 = 1/(d(d+2)),
    # E q11 q12 q21 q22 = -1/((d-1)d(d+2)).
    n, d = 40_000, 4
    X = on_host(haar_frames(np.random.default_rng(5), n, 2, d))
    a, b = X[:, 0, :], X[:, 1, :]
    assert deviations(X**2, 1 / d) < SIGMAS
    assert deviations(a**2 * b**2, 1 / (d * (d + 2))) < SIGMAS
    crossed = a * b * np.roll(a, 1, axis=1) * np.roll(b, 1, axis=1)
    assert deviations(crossed, -1 / ((d - 1) * d * (d + 2))) < SIGMAS
    # Independent points of the sphere are told apart from frames.
    X = on_host(sphere_points(np.random.default_rng(5), n, 2, d))
    assert deviations(X[:, 0, :] ** 2 * X[:, 1, :] ** 2, 1 / (d * (d + 2))) > 2 * SIGMAS


@pytest.mark.parametrize("d", [3, 9])
def test_square_frames_are_as_often_reflections_as_rotations(d: int) -> None:
    n = 4000
    determinants = np.linalg.det(on_host(haar_frames(np.random.default_rng(6), n, d, d)))
    assert np.abs(np.abs(determinants) - 1).max() < 1e-13
    # n fair coins: the mean's standard error is 1 / sqrt(n).
    assert abs(determinants.mean()) < SIGMAS / np.sqrt(n)
    # d Householder reflections, or d - 1: the determinant is always the same.
    assert abs(np.linalg.det(plain_qr(gaussians(6, n, d, d))).mean()) == pytest.approx(1.0)


# --- points and queries -----------------------------------------------------


def test_independent_points_have_the_moments_of_the_sphere() -> None:
    n, d = 20_000, 5
    X, y = map(on_host, SampleStream(7, d, points=3, law="iid").take(0, n))
    assert np.abs((X**2).sum(axis=2) - 1).max() < 1e-14
    assert np.abs((y**2).sum(axis=1) - 1).max() < 1e-14
    assert deviations(X, 0.0) < SIGMAS
    # <x1,x2> and <x,y> are coordinates of uniform points: E t^2 = 1/d, E t^4 = 3/(d(d+2)).
    for t in ((X[:, 0] * X[:, 1]).sum(axis=1), (X[:, 2] * y).sum(axis=1), y[:, 0]):
        assert deviations(t, 0.0) < SIGMAS
        assert deviations(np.abs(t), mean_absolute_coordinate(d)) < SIGMAS
        assert deviations(t**2, 1 / d) < SIGMAS
        assert deviations(t**4, 3 / (d * (d + 2))) < SIGMAS


def test_queries_on_the_sphere_are_the_gaussian_ones_normalised() -> None:
    n, d = 20_000, 6
    X, y = map(on_host, SampleStream(8, d).take(0, n))
    same, g = map(on_host, SampleStream(8, d, queries="gaussian").take(0, n))
    assert (same == X).all()
    assert np.abs(g / np.linalg.norm(g, axis=1, keepdims=True) - y).max() < 1e-15
    # |g|^2 is chi^2 with d degrees of freedom: mean d, second moment d(d+2).
    assert deviations((g**2).sum(axis=1), d) < SIGMAS
    assert deviations((g**2).sum(axis=1) ** 2, d * (d + 2)) < SIGMAS
    assert deviations(g, 0.0) < SIGMAS


@pytest.mark.parametrize("law", get_args(Law))
def test_one_seed_gives_independent_points_queries_and_subspaces(law: Law) -> None:
    n, d = 4096, 6
    X, y = map(on_host, SampleStream(9, d, law=law).take(0, n))
    U = on_host(haar_subspaces(9, n, d, 1))[:, :, 0]
    for a, b in ((X[:, 0], y), (X[:, 0], U), (X[:, 1], U), (y, U)):
        t = (a * b).sum(axis=1)
        assert deviations(t, 0.0) < SIGMAS
        assert deviations(t**2, 1 / d) < SIGMAS


# --- one seed, one sample ---------------------------------------------------


@settings(max_examples=30)
@given(
    st.integers(1, 3000),
    st.integers(1, 3000),
    st.integers(0, 2500),
    st.sampled_from(get_args(Law)),
    st.sampled_from(get_args(QueryLaw)),
)
def test_chunk_sizes_change_nothing(
    samples: int, size: int, first: int, law: Law, queries: QueryLaw
) -> None:
    size = max(size, samples // 20)
    stream = SampleStream(10, 3, law=law, queries=queries)
    X, y = stream.take(first, first + samples)
    chunks = list(stream.chunks(samples, size, first=first))
    assert max(len(part) for part, _ in chunks) <= size
    assert (np.concatenate([part for part, _ in chunks]) == X).all()
    assert (np.concatenate([part for _, part in chunks]) == y).all()
    one_X, one_y = stream.take(first + samples - 1, first + samples)
    assert (one_X[0] == X[-1]).all()
    assert (one_y[0] == y[-1]).all()


def test_chunks_draw_no_block_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    draw = sampling.block_generator

    def counting(seed: int, purpose: Any, block: int, xp: Any) -> Any:
        drawn.append(block)
        return draw(seed, purpose, block, xp)

    monkeypatch.setattr(sampling, "block_generator", counting)
    assert len(list(SampleStream(0, 4).chunks(3000, 10))) == 300
    assert drawn == [0, 0, 1, 1, 2, 2]  # points and queries of each


@pytest.mark.parametrize("workers", [1, 3])
def test_workers_change_nothing(workers: int) -> None:
    stream = SampleStream(11, 5, points=3)
    X, y = stream.take(0, 5000)
    ranges = [(first, min(first + 700, 5000)) for first in range(0, 5000, 700)]
    shuffled = random.Random(0).sample(ranges, len(ranges))
    # A stream travels to other processes as what it is: six numbers and names.
    copy = pickle.loads(pickle.dumps(stream))
    with ThreadPoolExecutor(workers) as pool:
        parts = dict(zip(shuffled, pool.map(lambda ends: copy.take(*ends), shuffled), strict=True))
    assert (np.concatenate([parts[ends][0] for ends in ranges]) == X).all()
    assert (np.concatenate([parts[ends][1] for ends in ranges]) == y).all()


def test_large_samples_come_in_smaller_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (block_size(2 * 64), block_size(2**14), block_size(2**15)) == (1024, 1024, 512)
    assert block_size(2**30) == 1
    monkeypatch.setattr(sampling, "_BLOCK_NUMBERS", 100)
    stream = SampleStream(12, 8, points=2)
    assert stream.block_size == 6
    X, y = stream.take(0, 50)
    assert (X.shape, y.shape) == ((50, 2, 8), (50, 8))
    chunks = list(stream.chunks(50, 7))
    assert (np.concatenate([part for part, _ in chunks]) == X).all()
    assert (np.concatenate([part for _, part in chunks]) == y).all()
    assert len(np.unique(X[:, 0, 0])) == 50


def test_seeds_and_samples_differ() -> None:
    X, y = SampleStream(13, 4).take(0, 3000)
    other_X, other_y = SampleStream(14, 4).take(0, 3000)
    assert not (other_X == X).any()
    assert not (y == other_y).any()
    assert len(np.unique(X[:, 0, 0])) == 3000
    assert len(np.unique(y[:, 0])) == 3000


def test_float32_is_the_float64_sample_rounded() -> None:
    fine = SampleStream(15, 7, points=4)
    coarse = SampleStream(15, 7, points=4, dtype="float32")
    for a, b in zip(fine.take(500, 1500), coarse.take(500, 1500), strict=True):
        assert b.dtype == np.float32
        assert (a.astype(np.float32) == b).all()
    U = haar_subspaces(15, 10, 7, 3, dtype="float32")
    assert U.dtype == np.float32
    assert (haar_subspaces(15, 10, 7, 3).astype(np.float32) == U).all()


@pytest.mark.parametrize("points", [2, 10])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_strict_array_api_gives_the_same_samples(points: int, dtype: Any) -> None:
    for law in get_args(Law):
        stream = SampleStream(16, 11, points=points, law=law, dtype=dtype)
        strict = stream.take(1000, 1100, array_api_strict)
        for a, b in zip(stream.take(1000, 1100), strict, strict=True):
            assert b.__array_namespace__() is array_api_strict
            # The two add up inner products in another order.
            assert np.abs(a - on_host(b)).max() < (1e-13 if dtype == "float64" else 1e-6)
    U = haar_subspaces(16, 3, 11, points, dtype=dtype, xp=array_api_strict)
    assert U.__array_namespace__() is array_api_strict
    assert on_host(U).dtype == np.dtype(dtype)


# --- subspaces --------------------------------------------------------------


@given(st.integers(2, 12), st.data())
@settings(max_examples=20)
def test_subspaces_are_orthonormal_and_fewer_are_the_first_of_more(d: int, data: Any) -> None:
    r = data.draw(st.integers(1, d))
    U = haar_subspaces(17, 1030, d, r)
    assert U.shape == (1030, d, r)
    assert np.abs(U.transpose(0, 2, 1) @ U - np.eye(r)).max() < 1e-14
    assert (haar_subspaces(17, 5, d, r) == U[:5]).all()
    assert (haar_subspaces(17, 1025, d, r) == U[:1025]).all()


def test_subspaces_are_haar() -> None:
    # The share of a fixed unit vector in a Haar subspace is Beta(r/2, (d-r)/2):
    # mean r/d, second moment r(r+2)/(d(d+2)).
    n, d, r = 20_000, 6, 2
    U = haar_subspaces(18, n, d, r)
    for e in np.eye(d):
        share = ((e @ U) ** 2).sum(axis=1)
        assert deviations(share, r / d) < SIGMAS
        assert deviations(share**2, r * (r + 2) / (d * (d + 2))) < SIGMAS
    assert deviations(U, 0.0) < SIGMAS


# --- refusals ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"points": 9}, "points: got 9, allowed: at most d = 8"),
        ({"points": 0}, "points: got 0"),
        ({"d": 1}, "d: got 1, allowed: a whole number from 2"),
        ({"seed": -1}, "seed: got -1"),
        ({"seed": 1.5}, "seed: got 1.5"),
        ({"seed": None}, "seed: got None"),
        ({"law": "normal"}, "law: got 'normal', allowed: orthonormal or iid"),
        ({"queries": "cube"}, "queries: got 'cube', allowed: sphere or gaussian"),
        ({"dtype": "float16"}, "dtype: got 'float16', allowed: float32 or float64"),
    ],
)
def test_streams_refuse(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        SampleStream(**{"seed": 0, "d": 8, **arguments})


def test_more_independent_points_than_dimensions_are_fine() -> None:
    X, _ = SampleStream(0, 3, points=7, law="iid").take(0, 2)
    assert X.shape == (2, 7, 3)


def test_other_refusals() -> None:
    with pytest.raises(InputError, match="points: got 4, allowed: at most d = 3"):
        haar_frames(np.random.default_rng(0), 1, 4, 3)
    with pytest.raises(InputError, match="r: got 4, allowed: a whole number from 1 to d = 3"):
        haar_subspaces(0, 1, 3, 4)
    with pytest.raises(InputError, match="heads: got 0"):
        haar_subspaces(0, 0, 3, 1)
    stream = SampleStream(0, 3)
    for first, last in ((5, 5), (-1, 5)):
        with pytest.raises(InputError, match="sample: got"):
            stream.take(first, last)
    with pytest.raises(InputError, match="chunk size: got 0"):
        next(stream.chunks(5, 0))
    assert list(stream.chunks(0, 5)) == []
