"""Tails of a series with rational term ratio, enclosed by telescoping sums.

Terms E_l, l = L, L+2, L+4, ..., with E_{l+2} = q(l) E_l, q rational. If a rational
function R satisfies R(l) - q(l) R(l+2) >= 1 for all l >= L and R(l) E_l -> 0, then
summing E_l <= R(l) E_l - R(l+2) E_{l+2} gives: tail from L <= R(L) E_L; with <= 1
it gives a lower bound. R is found as a truncated series in 1/l; that it satisfies the
inequality is then shown by a polynomial in l - L without a coefficient of the wrong sign.
"""

from __future__ import annotations

from flint import fmpq, fmpq_mat, fmpq_poly

from boundcheck.errors import UndecidedError


def tail_factors(above: fmpq_poly, below: fmpq_poly, first: int, terms: int) -> tuple[fmpq, fmpq]:
    """Bounds lo <= (E_L + E_{L+2} + ...) / E_L <= hi, exact.

    Parameters
    ----------
    above, below : fmpq_poly
        q(l) = above(l) / below(l) = 1 - 4/l + ..., positive from L on.
    first : int
        L >= 1.
    terms : int
        Terms of R; more are sharper, from a larger L on.

    Raises
    ------
    UndecidedError
        If L is too small for the inequality to be shown.

    Examples
    --------
    The sum of 1/l^2 over odd l >= 9.

    >>> from flint import arb
    >>> lo, hi = tail_factors(fmpq_poly([0, 0, 1]), fmpq_poly([4, 4, 1]), 9, 6)
    >>> exact = 81 * (arb.pi() ** 2 / 8 - 1 - arb(1) / 9 - arb(1) / 25 - arb(1) / 49)
    >>> arb(lo) < exact < arb(hi) < arb(lo) + 1e-3
    True
    """
    # R = (a_0 l^n + ... + a_n) / l^{n-1}. With h = above(l) l^{n-1} and
    # k = below(l) (l+2)^{n-1}, the defect R(l) - q R(l+2) - 1 has the numerator
    # sum of a_i [l^{n-i} k - (l+2)^{n-i} h] - l^{n-1} k; its leading
    # coefficients are made to vanish.
    n = terms - 1
    l, later = fmpq_poly([0, 1]), fmpq_poly([2, 1])
    h, k = above * l ** (n - 1), below * later ** (n - 1)
    columns = [l ** (n - i) * k - later ** (n - i) * h for i in range(terms)]
    right = l ** (n - 1) * k
    top = right.degree()
    system = fmpq_mat([[p[top - j] for p in columns] for j in range(terms)])
    solved = system.solve(fmpq_mat([[right[top - j]] for j in range(terms)]))
    a = [solved[i, 0] for i in range(terms)]

    def factor(sign: int) -> fmpq:
        # Moving the last coefficient by this much makes the defect's sign plain.
        b = [*a[:-1], a[-1] + sign * abs(a[-1]) + sign]
        defect = sum((x * p for x, p in zip(b, columns, strict=True)), fmpq_poly()) - right
        shifted = defect(fmpq_poly([first, 1]))
        if any(sign * c < 0 for c in shifted.coeffs()):
            raise UndecidedError(f"the tail from {first} on is not enclosed by {terms} terms")
        return sum((x * fmpq(first) ** (1 - i) for i, x in enumerate(b)), fmpq(0))

    return factor(-1), factor(1)
