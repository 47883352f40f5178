"""How often one low-rank head votes right, by closed forms, at points, and by sampling.

For unit x, y with <x,y> = t = cos(beta) and a Haar d x r matrix U, the advantage is
kappa_r = E sign<U^T x, U^T y>. With B = |U^T x|^2 = sin^2(theta) ~ Beta(r/2, (d-r)/2),
<U^T x, U^T y> has the sign of cot(beta) tan(theta) + w, w the first coordinate of a point of
S^{d-2}, so kappa_r is the mean of P(|w| < cot(beta) tan(theta)). numpy is loaded by what
uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb, factorial, sqrt
from typing import TYPE_CHECKING

from flint import acb, arb

from proofs_numeric.compare import Finding, Verdict
from proofs_numeric.integrals import density_constant, quarter_turn, real_integral

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

#: (d, r) with r > 1 for which `advantage` has a closed form.
CLOSED_FORMS = ((4, 2), (4, 3), (6, 2))
#: The closed forms for r > 1 are not evaluated closer to 0 and pi/2 than this.
_LEAST_ANGLE = 2.0**-16
_NODES = 96


def advantage(d: int, r: int, beta: acb) -> acb:
    """kappa_r at t = cos(beta), 0 < beta < pi/2, for r = 1 and `CLOSED_FORMS`.

    r = 1: sign<u,x> sign<u,y> depends on the angle alone. Beyond, the Beta law is
    integrated over theta: P(|w| < s) is s for d = 4 and (3s - s^3)/2 for d = 6, s <= 1.
    """
    half, cot = acb(quarter_turn()), beta.cot()
    match (d, r):
        case (_, 1):
            return 1 - beta / half
        case (4, 2):
            return beta * cot
        case (4, 3):
            return (half - beta - 2 * cot * beta.cos().log()) / half
        case (6, 2):
            return 3 * (cot**2 + beta * cot * (1 - cot**2)) / 4
    raise ValueError(f"no closed form for d = {d}, r = {r}")


def mean_over_advantage(d: int, r: int, g: Callable[[acb], acb]) -> arb:
    """E g(kappa_r(|t|)) in balls, g analytic and |g| <= 1 on [0, 1]; r as in `advantage`.

    beta has the density 2 c_d sin^{d-2} on (0, pi/2).
    """
    near = arb(0) if r == 1 else arb(_LEAST_ANGLE)
    end = quarter_turn() if r == 1 else quarter_turn() - near**4
    whole = real_integral(lambda beta: g(advantage(d, r, beta)) * beta.sin() ** (d - 2), near, end)
    # sin(beta)^{d-2} is at most beta^{d-2} before the first angle, and 1 after the last.
    left_out = near ** (d - 1) / (d - 1) + near**4
    return 2 * density_constant(d) * (whole + left_out * arb(0, 1))


def mean_advantage(d: int, r: int) -> Fraction:
    """E kappa_r(|t|), exact, for even r and d.

    For normal x, y, whose lengths do not matter, <x,y> = S + S' with S the sum over r
    coordinates and S' over the others. sign(S) sign(S + S') is 1 where |S| > |S'|, and has
    mean 0 elsewhere, so the mean is P(|S| > |S'|). Two products of normals add up to a
    difference of exponential variables, so S is a difference of two Gamma(r/2) ones.

    Examples
    --------
    >>> mean_advantage(6, 2)
    Fraction(3, 8)
    """
    tail, density = _gamma_difference_tail(r // 2), _gamma_difference((d - r) // 2)
    return sum(
        (
            a * b * Fraction(factorial(i + j), 2 ** (i + j + 1))
            for i, a in enumerate(tail)
            for j, b in enumerate(density)
        ),
        Fraction(0),
    )


def _gamma_difference(p: int) -> list[Fraction]:
    """The density of |G - G'| over e^{-s}: coefficients of 1, s, s^2, ..."""
    scale = Fraction(2, factorial(p - 1) ** 2)
    return [
        scale * comb(p - 1, k) * Fraction(factorial(p - 1 + k), 2 ** (p + k))
        for k in range(p - 1, -1, -1)
    ]


def _gamma_difference_tail(p: int) -> list[Fraction]:
    """P(|G - G'| > s) over e^{-s}: the integral of s^j e^{-s} is sum_{i<=j} j!/i! s^i e^{-s}."""
    density = _gamma_difference(p)
    return [
        sum((density[j] * (factorial(j) // factorial(i)) for j in range(i, p)), Fraction(0))
        for i in range(p)
    ]


def advantage_at(d: int, r: int, t: arb) -> arb:
    """kappa_r(t) in balls for even d >= 4, even r < d and 0 < t < 1.

    The density of |w| is 2 c_{d-1} (1-w^2)^{d/2-2}. P(B > b) is a sum of binomials: with
    n = d/2 - 1, B exceeds sin^2(theta) with the probability
    sum_{i < r/2} C(n,i) sin(theta)^{2i} cos(theta)^{2n-2i}. So the mean over |w| =
    cot(beta) tan(theta) is an integral over theta from 0 to beta.

    Examples
    --------
    >>> t = arb("0.3")
    >>> abs(advantage_at(6, 2, t) - advantage(6, 2, acb(t).acos()).real) < 1e-12
    True
    """
    n, cot = d // 2 - 1, t / (1 - t * t).sqrt()

    def integrand(theta: acb) -> acb:
        a, b = theta.sin() ** 2, theta.cos() ** 2
        survival = sum((comb(n, i) * a**i * b ** (n - i) for i in range(r // 2)), acb(0))
        return (1 - cot**2 * a / b) ** (n - 1) * survival / b

    return 2 * density_constant(d - 1) * cot * real_integral(integrand, arb(0), t.acos())


def advantage_rule(d: int, r: int) -> tuple[Array, Array]:
    """Values of kappa_r(|t|) and their weights, by Gauss-Legendre in floats.

    The integral of `advantage_at`, for even d and even r < d.
    """
    import numpy as np

    n, c = d // 2 - 1, float(density_constant(d - 1))
    x, w = np.polynomial.legendre.leggauss(_NODES)
    width = min(np.pi / 2, 9 / sqrt(d - 2))
    beta = np.pi / 2 - width * (1 - x) / 2
    weights = width * w * float(density_constant(d)) * np.sin(beta) ** (d - 2)
    theta = beta[:, None] * (1 + x) / 2
    v = np.tan(theta) / np.tan(beta)[:, None]
    survival = sum(
        comb(n, i) * np.sin(theta) ** (2 * i) * np.cos(theta) ** (2 * (n - i) - 2)
        for i in range(r // 2)
    )
    inside = (1 - v**2) ** (n - 1) * survival / np.tan(beta)[:, None]
    kappa: Array = 2 * c * (inside @ w) * beta / 2
    return kappa, weights


def quadrature_agrees(what: str, stated: float, found: float, tolerance: float) -> Finding:
    """Whether a value fits one from a rule without an error bound: consistent or refuted."""
    fits = abs(stated - found) <= tolerance
    detail = f"{what}: stated {stated:.10g}, found {found:.10g} (+-{tolerance:g}, quadrature)"
    return Finding(Verdict.CONSISTENT if fits else Verdict.REFUTED, detail)


def sampled_votes(
    rng: np.random.Generator, d: int, r: int, x: Array, y: Array, votes: int
) -> Array:
    """Sums of signs: for each pair of rows, Haar heads' votes sign<U^T x, U^T y>, added up.

    Parameters
    ----------
    rng : numpy.random.Generator
    d, r : int
    x, y : ndarray (n, d)
    votes : int
        H, heads drawn anew for each row.

    Returns
    -------
    ndarray (n,)
    """
    import numpy as np

    n = len(x)
    U, _ = np.linalg.qr(rng.standard_normal((n * votes, d, r)))
    products = np.einsum("nhdr,nd->nhr", U.reshape(n, votes, d, r), x)
    products *= np.einsum("nhdr,nd->nhr", U.reshape(n, votes, d, r), y)
    total: Array = np.sign(products.sum(axis=2)).sum(axis=1)
    return total


def sphere_rows(rng: np.random.Generator, n: int, d: int) -> Array:
    """n uniform points of the sphere."""
    rows: Array = rng.standard_normal((n, d))
    rows /= (rows**2).sum(axis=1, keepdims=True) ** 0.5
    return rows
