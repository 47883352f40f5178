"""U1: one hardmax head with K = Q = V = I is exact, at rational points."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from random import Random

from flint import fmpq, fmpq_mat

from boundcheck.bounds.full_rank import U1
from boundcheck.problem import Problem
from boundcheck.values import Enclosure
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, equal
from proofs_numeric.harmonic_basis import Point, inner, sphere_point


@dataclass(frozen=True, slots=True)
class Statement:
    """The head's K = Q and V, and the error of that many heads.

    Parameters
    ----------
    scores, values : callable
        K = Q and V, for d.
    error : callable
        (d, heads).
    """

    scores: Callable[[int], fmpq_mat]
    values: Callable[[int], fmpq_mat]
    error: Callable[[int, int], Enclosure]


def identity(d: int) -> fmpq_mat:
    """The d x d identity."""
    return fmpq_mat(d, d, [int(i == j) for i in range(d) for j in range(d)])


def orthonormal_points(rng: Random, d: int, points: int) -> list[Point]:
    """A rational orthonormal frame: some unit vectors, reflected twice."""
    frame = [tuple(fmpq(int(i == j)) for j in range(d)) for i in rng.sample(range(d), points)]
    for _ in range(2):
        u = sphere_point(rng, d)
        turned = []
        for x in frame:
            along = 2 * inner(u, x)
            turned.append(tuple(a - along * b for a, b in zip(x, u, strict=True)))
        frame = turned
    return frame


def _applied(matrix: fmpq_mat, x: Sequence[fmpq]) -> Point:
    found = matrix * fmpq_mat(len(x), 1, list(x))
    return tuple(found[i, 0] for i in range(len(x)))


def hardmax_head(K: fmpq_mat, V: fmpq_mat, points: Sequence[Point], y: Point) -> Point:
    """V x_i for the i with the largest <K x_i, K y>, exact."""
    query = _applied(K, y)
    winner = max(points, key=lambda x: inner(_applied(K, x), query))
    return _applied(V, winner)


def nearest_point(points: Sequence[Point], y: Point) -> Point:
    """The point at the least distance from y, which for unit vectors is the target."""

    def squared_distance(x: Point) -> fmpq:
        return sum(((a - b) ** 2 for a, b in zip(x, y, strict=True)), fmpq(0))

    return min(points, key=squared_distance)


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """The squared distance of the head's output to the nearest point, both laws, N >= 2."""
    rng = Random(31)
    draws = 4 if effort == "quick" else 60
    for d in (3, 5, 8):
        for N in range(2, 6):
            for law in ("orthonormal", "independent"):
                if law == "orthonormal" and d < N:
                    continue
                for _ in range(draws):
                    points = (
                        orthonormal_points(rng, d, N)
                        if law == "orthonormal"
                        else [sphere_point(rng, d) for _ in range(N)]
                    )
                    y = sphere_point(rng, d)
                    output = hardmax_head(stated.scores(d), stated.values(d), points, y)
                    miss = [a - b for a, b in zip(output, nearest_point(points, y), strict=True)]
                    what = f"squared distance, d={d}, N={N}, {law} points"
                    yield equal(what, fmpq(0), inner(miss, miss))
        for heads, error in ((1, 0), (0, 1)):
            found = stated.error(d, heads)
            what = f"error of {heads} heads, d={d}"
            yield equal(what, (found.lo, found.hi), (Fraction(error), Fraction(error)))


def _error(d: int, heads: int) -> Enclosure:
    return U1().error(Problem.of(d, d), heads)


def _without_last_coordinate(d: int) -> fmpq_mat:
    matrix = identity(d)
    matrix[d - 1, d - 1] = fmpq(0)
    return matrix


STATED = Statement(identity, identity, _error)

CLAIM = Claim(
    id="U1",
    words="one full-rank hardmax head with K = Q = V = I has error 0, for every N",
    latex=(
        r"g(X;y) = x_{i^*},\ i^* = \operatorname{argmax}_i \langle x_i, y\rangle"
        r"\quad\Longrightarrow\quad \mathbb{E}\|f-g\|^2 = 0"
    ),
    source=Source("explicit", "the definition of the target"),
    evidence=("exact rational",),
    statement=STATED,
    check=check,
    mutations=(
        Mutation("rank d-1 is enough", replace(STATED, scores=_without_last_coordinate)),
        Mutation("values of rank d-1 are enough", replace(STATED, values=_without_last_coordinate)),
        Mutation("no head is needed", replace(STATED, error=lambda d, heads: _error(d, 1))),
    ),
)
