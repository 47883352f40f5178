"""L3: the distance of the sign from a fixed space, by exact least squares."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random

from flint import fmpq, fmpq_mat

from proofs_numeric import exact
from proofs_numeric.claim import Claim, Effort, Mutation, Source
from proofs_numeric.compare import Finding, at_least, equal
from proofs_numeric.harmonic_basis import gram_matrix

#: One degree: its energy, the dimension of the projection of W, and N(D, l).
Degree = tuple[Fraction, int, int]


@dataclass(frozen=True, slots=True)
class Statement:
    """The least mean squared distance, from what is known of each degree."""

    distance: Callable[[Sequence[Degree]], Fraction]


def mean_squared_distance(D: int, degrees: Sequence[int], W: Sequence[fmpq_mat], rank: int) -> fmpq:
    """E_y dist(sign<., y>, W)^2 / c_D^2 within these degrees, by least squares.

    Parameters
    ----------
    D : int
    degrees : sequence of int
        The degrees in which W lives; the others add their energy to both sides.
    W : sequence of fmpq_mat
        For each degree, the coordinates of the functions that span W (one a
        row) along the rational basis of the degree.
    rank : int
        How many they are; they must be independent.
    """
    # Normal equations: G a = <w_i, sign<., y>>, and the mean over y of the products
    # of the right sides is lambda_l^2 <w_i, w_j> summed over the degrees (H5).
    G, C, total = fmpq_mat(rank, rank), fmpq_mat(rank, rank), fmpq(0)
    for l, rows in zip(degrees, W, strict=True):
        inner = rows * gram_matrix(D, l) * rows.transpose()
        G += inner
        C += inner * exact.rational(exact.sign_coefficient(D, l) ** 2)
        total += exact.rational(exact.sign_energy(D, l))
    captured = G.inv() * C
    return total - sum((captured[i, i] for i in range(rank)), fmpq(0))


def _random_rows(rng: Random, rows: int, columns: int) -> fmpq_mat:
    return fmpq_mat([[fmpq(rng.randint(-9, 9)) for _ in range(columns)] for _ in range(rows)])


def check(stated: Statement, effort: Effort) -> Iterator[Finding]:
    """Random spaces W: mixed over degrees (at least), and sums of parts (equal)."""
    rng = Random(13)
    cases = [(2, (1, 3, 5)), (3, (1, 3)), (3, (1, 3, 5)), (4, (1, 3))]
    if effort == "full":
        cases += [(2, (1, 3, 5, 7, 9)), (3, (1, 3, 5, 7)), (4, (1, 3, 5)), (5, (1, 3))]
    for D, degrees in cases:
        counts = [exact.harmonics_count(D, l) for l in degrees]
        energies = [exact.sign_energy(D, l) for l in degrees]
        ranks = range(1, sum(counts) + 1) if effort == "quick" else range(1, sum(counts) + 1, 2)
        for rank in ranks:
            # All functions have parts in all degrees.
            W = [_random_rows(rng, rank, N) for N in counts]
            dimensions = [rows.rank() for rows in W]
            if sum((w * w.transpose() for w in W), fmpq_mat(rank, rank)).rank() < rank:
                continue
            known = list(zip(energies, dimensions, counts, strict=True))
            found = exact.fraction(mean_squared_distance(D, degrees, W, rank))
            what = f"distance from a space of dimension {rank}, D={D}, degrees {degrees}"
            yield at_least(what, found, stated.distance(known))
        for _ in range(10 if effort == "quick" else 40):
            # Each function lives in one degree.
            parts = [rng.randint(0, N) for N in counts]
            rank = sum(parts)
            if rank == 0:
                continue
            W, above = [], 0
            for part, N in zip(parts, counts, strict=True):
                rows = [[fmpq(0)] * N for _ in range(rank)]
                own = _independent_rows(rng, part, N)
                rows[above : above + part] = own
                W.append(fmpq_mat(rows))
                above += part
            known = list(zip(energies, parts, counts, strict=True))
            found = exact.fraction(mean_squared_distance(D, degrees, W, rank))
            what = f"distance from parts of dimensions {parts}, D={D}, degrees {degrees}"
            yield equal(what, stated.distance(known), found)


def _independent_rows(rng: Random, rows: int, columns: int) -> list[list[fmpq]]:
    while True:
        drawn = _random_rows(rng, rows, columns)
        if rows == 0 or drawn.rank() == rows:
            return drawn.tolist()


def _stated(known: Sequence[Degree]) -> Fraction:
    """Sum of E_l max(0, 1 - dim/N)."""
    return sum((E * max(Fraction(0), 1 - Fraction(m, N)) for E, m, N in known), Fraction(0))


CLAIM = Claim(
    id="L3",
    words="distance of the sign from a fixed space, degree by degree",
    latex=(
        r"\mathbb{E}_y \operatorname{dist}(\operatorname{sign}\langle\cdot,y\rangle, W)^2 \ge"
        r" \sum_l E_l \max\Bigl(0,\ 1 - \frac{\dim \Pi_l W}{N(D,l)}\Bigr),"
        r" \text{ with equality if } W = \bigoplus_l \Pi_l W"
    ),
    source=Source("explicit", "energy even over each degree (H5), degrees orthogonal"),
    evidence=("exact rational",),
    statement=Statement(_stated),
    check=check,
    mutations=(
        Mutation(
            "every dimension too small by one",
            Statement(lambda known: _stated([(E, max(0, m - 1), N) for E, m, N in known])),
        ),
        Mutation(
            "the share squared",
            Statement(
                lambda known: sum((E * (1 - Fraction(m, N) ** 2) for E, m, N in known), Fraction(0))
            ),
        ),
        Mutation(
            "no degree captured in part",
            Statement(lambda known: sum((E for E, m, N in known if m < N), Fraction(0))),
        ),
    ),
)
