"""Heads with matrices V_h and arbitrary scores of weights that sum to 1, N = 2.

For given K_h and V_h the best scores are a linear least squares. They may depend on y and
on K_h^T x; dependence on K_h^T z would not help (T1's proof). Polynomials of K_h^T x are sums
of p_j(<k,x>) over directions k in the range of K_h, so with the fields p_j(<k,x>) V_h x,

    error = 1/2 [1 - tr(G^+ B) + min_c |I - sum c_h V_h|^2 / d],

G from `ridge_fields` and B from `ridge_correlations`: exact for scores up to a degree. The
c_h are there because scores may scale each V_h.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from boundcheck.attack.arbitrary_heads import ArbitraryHeads
from boundcheck.attack.arbitrary_scalars import ArbitraryScalars
from boundcheck.attack.objective import FloatArray, Parameters
from boundcheck.attack.ridge_correlations import SignCorrelations
from boundcheck.attack.ridge_fields import FieldProducts
from boundcheck.attack.zonal_expansions import expansions
from boundcheck.capacity import ridge_dimension
from boundcheck.constructions.seeds import heads_generator
from boundcheck.errors import InputError
from boundcheck.frames import unit_rows

#: The first degree, the last one, and how many fields (H r of degree 1) each may need.
_FIRST_DEGREE, _LAST_DEGREE = 7, 63
_FIRST_FIELDS, MOST_FIELDS = 160, 400
#: Eigenvalues of G below this, with fields of length 1, count as zero.
_NEGLIGIBLE = 1e-10


@dataclass(frozen=True)
class ArbitraryMatrices:
    """Heads of rank r with matrices V_h and the best scores up to an odd degree.

    Parameters
    ----------
    d, r, heads_wanted : int
    degree : int
        0 stands for the largest that makes a search quick.

    Raises
    ------
    InputError
        If there are too many heads.

    Examples
    --------
    With V = I it is the scalar class at the same degree (T2):

    >>> objective = ArbitraryMatrices(3, 1, 1)
    >>> error, _ = objective.error_and_gradient((np.ones((1, 3, 1)), np.eye(3)[None]))
    >>> f"{error:.5f}"
    '0.36447'
    """

    d: int
    r: int
    heads_wanted: int
    degree: int = 0

    exact = True

    def __post_init__(self) -> None:
        most = MOST_FIELDS // self.r
        if self.heads_wanted > most:
            raise InputError("heads", self.heads_wanted, f"at most {most} at rank {self.r}")
        if not self.degree:
            object.__setattr__(self, "degree", self._degree(_FIRST_DEGREE, _FIRST_FIELDS))

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """K (H, d, r) and V (H, d, d)."""
        H, d = self.heads_wanted, self.d
        return (H, d, self.r), (H, d, d)

    def start(self, rng: np.random.Generator) -> Parameters:
        """Standard normal K, and V scattered around I, more or less."""
        K, V = (rng.standard_normal(shape) for shape in self.shapes)
        return K, np.eye(self.d) + 10 ** rng.uniform(-1.5, 0) * V

    def error_and_gradient(self, parameters: Parameters) -> tuple[float, Parameters]:
        """The error with the best scores, and its derivatives by K and V."""
        K, V = parameters
        fit = Fit(self, K, V)
        by_k, by_V = fit.gradient()
        by_k -= np.einsum("hmd,hmd->hm", by_k, fit.k)[:, :, None] * fit.k
        by_k /= fit.lengths[:, :, None]
        return fit.error, (np.einsum("hmd,mr->hdr", by_k, fit.inside), by_V)

    def error_estimate(self, parameters: Parameters) -> float:
        """Rounding, made larger where G is nearly singular."""
        fit = Fit(self, *parameters)
        return float(np.finfo(float).eps) * 4 * fit.fields / fit.least

    def heads(self, parameters: Parameters) -> ArbitraryHeads:
        """K and c_h V_h."""
        K, V = parameters
        fit = Fit(self, K, V)
        return ArbitraryHeads(K, fit.scales[:, None, None] * V, self.degree, fit.error)

    def finer(self) -> ArbitraryMatrices | None:
        """The same with twice the degree, as far as it goes."""
        degree = self._degree(min(2 * self.degree + 1, _LAST_DEGREE), MOST_FIELDS)
        return replace(self, degree=degree) if degree > self.degree else None

    def simpler(self) -> ArbitraryScalars:
        """Scalar heads, which go to higher degrees."""
        return ArbitraryScalars(self.d, self.r, self.heads_wanted)

    def _degree(self, most: int, fields: int) -> int:
        degree = 1
        while degree + 2 <= most and self.heads_wanted * _fields(self.r, degree + 2) <= fields:
            degree += 2
        return degree


class Fit:
    """The best scores for given K and V.

    Attributes
    ----------
    k : ndarray (H, M, d)
        Directions.
    error : float
    scales : ndarray (H,)
        c.
    fields : int
        How many fields there are.
    least : float
        The smallest eigenvalue of G kept.
    solution : ndarray (fields, fields)
        G^+.
    kept : ndarray (H M, J) of bool
        Which fields there are.
    """

    def __init__(self, objective: ArbitraryMatrices, K: FloatArray, V: FloatArray) -> None:
        H, d, r = K.shape
        self.basis = expansions(d, objective.degree)
        self.inside = _directions(r, objective.degree)
        k = np.einsum("hdr,mr->hmd", K, self.inside)
        self.lengths = np.linalg.norm(k, axis=2)
        self.k = k / self.lengths[:, :, None]
        M = len(self.inside)
        flat, repeated = self.k.reshape(H * M, d), np.repeat(V, M, axis=0)
        self.products = FieldProducts(self.basis, flat, repeated)
        self.correlations = SignCorrelations(self.basis, flat, repeated)
        # M directions span degree j as soon as there are m_r(j).
        needed = [ridge_dimension(r, j) for j in range(1, objective.degree + 1, 2)]
        self.kept = np.tile(np.arange(M)[:, None] < np.array(needed), (H, 1))
        G, B = (self._fields(form.matrix) for form in (self.products, self.correlations))
        lengths = np.sqrt(np.diagonal(G))
        eigenvalues, vectors = np.linalg.eigh(G / np.outer(lengths, lengths))
        large = eigenvalues > _NEGLIGIBLE * eigenvalues[-1]
        scaled = vectors[:, large] / np.sqrt(eigenvalues[large]) / lengths[:, None]
        self.solution = scaled @ scaled.T
        self.fields, self.least = len(G), float(eigenvalues[large][0])
        self._seen = B
        across = V.reshape(H, d * d).T
        self.scales = np.linalg.lstsq(across, np.eye(d).ravel(), rcond=None)[0]
        self._rest = np.eye(d) - np.einsum("h,hij->ij", self.scales, V)
        captured = float(np.sum(self.solution * B))
        self.error = 0.5 * (1 - captured + float(np.sum(self._rest**2)) / d)

    def gradient(self) -> tuple[FloatArray, FloatArray]:
        """The derivatives of the error by the directions (H, M, d) and by V (H, d, d)."""
        H, M, d = self.k.shape
        Gamma = self.solution
        by_k, by_V = self.products.gradient(self._all_fields(Gamma @ self._seen @ Gamma / 2))
        for total, term in zip(
            (by_k, by_V), self.correlations.gradient(self._all_fields(-Gamma / 2)), strict=True
        ):
            total += term
        by_V = by_V.reshape(H, M, d, d).sum(axis=1)
        by_V -= self.scales[:, None, None] * self._rest / d
        return by_k.reshape(H, M, d), by_V

    def _fields(self, matrix: FloatArray) -> FloatArray:
        kept = self.kept.ravel()
        return np.asarray(matrix.reshape(len(kept), -1)[np.ix_(kept, kept)])

    def _all_fields(self, matrix: FloatArray) -> FloatArray:
        kept = self.kept.ravel()
        full = np.zeros((len(kept), len(kept)))
        full[np.ix_(kept, kept)] = matrix
        return full.reshape(self.kept.shape * 2)


def _fields(r: int, degree: int) -> int:
    """The fields of one head."""
    return sum(ridge_dimension(r, j) for j in range(1, degree + 1, 2))


@lru_cache(maxsize=16)
def _directions(r: int, degree: int) -> FloatArray:
    """m_r(degree) unit vectors in R^r, the most independent of many random ones at that degree."""
    from scipy.linalg import qr

    if r == 1:
        return np.ones((1, 1))
    count = ridge_dimension(r, degree)
    many = unit_rows(heads_generator(0).standard_normal((20 * count, r)))
    # The powers <k,.>^degree are what has to be independent; this is their Gram matrix in
    # an inner product of polynomials.
    _, _, order = qr((many @ many.T) ** degree, pivoting=True, mode="economic")
    return np.asarray(many[order[:count]])
