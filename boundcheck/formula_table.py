"""The formulas themselves, one function for each statement.

sympy is loaded at module level: import this module where it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from boundcheck.formula_symbols import (
    A,
    C,
    D,
    E,
    H,
    N,
    P,
    b,
    beta,
    c,
    c0,
    d,
    eps,
    factor,
    j,
    k,
    l,
    m,
    mean_advantage,
    mean_square,
    moment,
    odd_sum,
    r,
    right,
    s,
    sign_coefficient,
    sphere_mean,
    t,
    tau,
)
from boundcheck.formulas import Formula, Relation

_ERROR = r"\mathbb{E}\|f-g\|^2"
#: Classes and conditions of T1: how one head's share m(l) is made up, and D.
_SHARES: tuple[tuple[str, Callable[[Any], Any], Any], ...] = (
    ("scalar", lambda l: m(r, l), d),
    ("standard", lambda l: 2 * m(r, l) + m(r, l - 2), d),
    ("generalized, D = d-1", lambda l: 2 * m(r, l) + m(r, l - 1) + m(r, l - 2), d - 1),
    ("generalized, D = d", lambda l: 2 * m(r, l) + r * m(r, l - 1) + m(r, l - 2), d),
)
_HALF = sp.Rational(1, 2)


def _error(
    statement: str, relation: Relation, expression: Any, label: str = "", condition: str = ""
) -> Formula:
    return Formula(statement, label, "error", _ERROR, relation, expression, condition)


def _heads(
    statement: str, relation: Relation, expression: Any, label: str = "", condition: str = ""
) -> Formula:
    return Formula(statement, label, "H", "H", relation, expression, condition)


def _h1() -> tuple[Formula, ...]:
    difference = sp.binomial(D + l - 1, l) - sp.binomial(D + l - 3, l - 2)
    left = "N(D, l)", "N(D,l)"
    return (
        Formula("H1", "difference", *left, "=", difference),
        Formula("H1", "product", *left, "=", N(D, l), "l >= 1 or D >= 3"),
    )


def _h2() -> tuple[Formula, ...]:
    value = 2 * c(D) * (1 - tau**2) ** ((D - 1) / sp.Integer(2)) * P(D + 2, l - 1, tau) / (D - 1)
    left = r"\mathbb{E}[\operatorname{sign}(t-\tau) P_l(t)]"
    return (Formula("H2", "", "E[sign(t - tau) P_l(t)]", left, "=", value, "-1 < tau < 1, l >= 1"),)


def _h3() -> tuple[Formula, ...]:
    size = (-1) ** ((l - 1) / 2) * sp.gamma(D * _HALF) * sp.gamma(l * _HALF)
    value = size / (sp.pi * sp.gamma((l + D) * _HALF))
    return (
        Formula(
            "H3", "coefficient", "lambda_l(D)", r"\lambda_l(D)", "=", value, "odd l; 0 for even l"
        ),
        Formula(
            "H3", "energy", "E_l(D)", "E_l(D)", "=", N(D, l) * sign_coefficient(D, l) ** 2, "odd l"
        ),
    )


def _h4() -> tuple[Formula, ...]:
    left = r"\sum_{l' > 2j,\ \text{odd}} E_{l'}(D)"
    value = 1 - sp.Sum(E(D, 2 * k + 1), (k, 0, j - 1))
    return (Formula("H4", "", "E_{2j+1}(D) + E_{2j+3}(D) + ...", left, "=", value),)


def _h6() -> tuple[Formula, ...]:
    value = 2 / sp.pi * sp.binomial(l - 1, (l - 1) / 2) / (2 ** (l - 1) * l)
    return (Formula("H6", "", "E_l(D)", "E_l(D)", "~", value, "odd l, as D grows"),)


def _l1() -> tuple[Formula, ...]:
    return (Formula("L1", "", "m_r(l)", "m_r(l)", "=", sp.binomial(r + l - 1, l), "l >= 0"),)


def _l2() -> tuple[Formula, ...]:
    return tuple(
        Formula("L2", label, "m(l)", "m(l)", "=", share(l), "odd l") for label, share, _ in _SHARES
    )


def _k1() -> tuple[Formula, ...]:
    left = (
        r"\mathbb{E} \operatorname{sign}\langle k,x\rangle \operatorname{sign}\langle k',x\rangle"
    )
    value = 2 / sp.pi * sp.asin(s)
    return (Formula("K1", "", "E sign<k,x> sign<k',x>", left, "=", value, "s = <k,k'>"),)


def _k2() -> tuple[Formula, ...]:
    left = (
        r"\mathbb{E} \operatorname{sign}\langle x,y\rangle"
        r" \operatorname{sign}\langle k,x\rangle \operatorname{sign}\langle q,y\rangle"
    )
    value = odd_sum(lambda l: sign_coefficient(d, l) ** 3 * N(d, l) * P(d, l, s))
    return (Formula("K2", "", "E sign<x,y> sign<k,x> sign<q,y>", left, "=", value, "s = <q,k>"),)


def _left_by_heads(share: Callable[[Any], Any], D: Any, first: int) -> Any:
    """1/2 sum of E_l max(0, 1 - H m(l)/N(D,l))."""
    return odd_sum(lambda l: E(D, l) * sp.Max(0, 1 - H * share(l) / N(D, l)), first) / 2


def _t1() -> tuple[Formula, ...]:
    errors = [_error("T1", ">=", _left_by_heads(share, D, 0), label) for label, share, D in _SHARES]
    _, share, _ = _SHARES[1]
    energy = odd_sum(lambda l: E(d, l), j)
    taken = odd_sum(lambda l: E(d, l) * share(l) / N(d, l), j)
    condition = "every j >= 0; the largest counts; m(l) of the other classes likewise"
    counts = _heads("T1", ">=", (energy - 2 * eps) / taken, "standard, least heads", condition)
    return (*errors, counts)


def _t1s() -> tuple[Formula, ...]:
    return tuple(
        _error("T1s", ">=", _left_by_heads(share, D, 1), label, "A y is free")
        for label, share, D in _SHARES
    )


def _t2() -> tuple[Formula, ...]:
    one = odd_sum(lambda l: E(d, l) * sp.Max(0, 1 - H / N(d, l))) / 2
    several = odd_sum(lambda l: E(d, l) * (1 - m(r, l) / N(d, l)) ** H) / 2
    return (
        _error("T2", "=", one, "r = 1", "infimum over scalar heads"),
        _error("T2", "<=", several, "r > 1", "infimum over weights, for some K_1, ..., K_H"),
    )


def _t5() -> tuple[Formula, ...]:
    _, share, _ = _SHARES[1]
    left = odd_sum(lambda l: E(d, l), (l - 1) / 2)
    value = (1 - 2 * eps / left) * N(d, l) / share(l)
    condition = "odd l; weaker than T1, other classes likewise"
    return (_heads("T5", ">=", value, "closed form, standard", condition),)


def _t5a() -> tuple[Formula, ...]:
    value = C * 2 ** (d - (r + 1) * sp.log(2 * d / r, 2))
    condition = "published form, C and c unspecified there; r <= d-3, epsilon < c/(d+1)"
    regime = Formula("T5a", "regime", "epsilon", r"\epsilon", "<=", c0 / (d + 1), condition)
    return (_heads("T5a", "~", value, "heads", condition), regime)


def _t5b() -> tuple[Formula, ...]:
    value = factor * (d / (r + C / eps)) ** (C / eps)
    return (_heads("T5b", "~", value, "", "published form, C and C_0 unspecified there; d >= 5"),)


def _u1() -> tuple[Formula, ...]:
    return (_error("U1", "=", sp.Integer(0), "", "K = Q = V = I, hardmax"),)


def _u2() -> tuple[Formula, ...]:
    u = beta * t / sp.sqrt(2)
    mean, square = sphere_mean(sp.tanh(u)), sphere_mean(sp.tanh(u) ** 2)
    enough = 4 * c(d) * (sp.log(2) - _HALF) / (sp.sqrt(2) * eps)
    plain = 2 * sphere_mean((1 + sp.exp(sp.sqrt(2) * beta * t)) ** -2)
    return (
        _error("U2", "=", plain, "V = I"),
        _error("U2", "=", 1 - (1 + mean) ** 2 / (2 * (1 + square)), "best V = a I"),
        Formula("U2", "enough for epsilon", "beta", r"\beta", ">=", enough, "d >= 3, V = I"),
    )


def _u3() -> tuple[Formula, ...]:
    reached = odd_sum(lambda l: E(d, l) * (1 - sign_coefficient(d, l) * moment(l)) ** 2)
    known = odd_sum(lambda l: E(d, l) * sign_coefficient(d, l) ** 2 * moment(l) ** 2)
    condition = "expected; mu_l is the integral of P_l, A the total variation of the measure"
    return (_error("U3", "=", (reached + (A**2 - known) / H) / 2, "", condition),)


def _u3r() -> tuple[Formula, ...]:
    M, mean = mean_square(d, r), mean_advantage(d, r)
    return (_error("U3r", "=", (1 - mean**2 / (M + (1 - M) / H)) / 2),)


def _u4() -> tuple[Formula, ...]:
    p = right(d, r, t)
    wrong = sp.Sum(sp.binomial(H, k) * p**k * (1 - p) ** (H - k), (k, 0, (H - 1) / 2))
    crude = sp.exp(-2 * H * (p - _HALF) ** 2)
    return (
        _error("U4", "=", 2 * sphere_mean(wrong), "odd H", "an even H does no better than H-1"),
        _error("U4", "<=", 2 * sphere_mean(crude), "Hoeffding"),
        _error("U4", "~", sp.sqrt(2 * sp.pi) * c(d) / sp.sqrt(H), "leading term, r = 1", "large H"),
    )


def _u4b() -> tuple[Formula, ...]:
    value = 2 * sp.hyper([_HALF], [d * _HALF], -2 * H / sp.pi**2)
    return (_error("U4b", "<=", value, "", "r = 1"),)


def _u4s() -> tuple[Formula, ...]:
    p = right(d, r, t)
    law = sp.binomial(H, k) * p**k * (1 - p) ** (H - k)
    votes = sp.Sum(law * (1 - sp.tanh(b * (2 * k - H))) ** 2, (k, 0, H))
    return (_error("U4s", "=", sphere_mean(votes) / 2, "", "b > 0"),)


TABLE: dict[str, Callable[[], tuple[Formula, ...]]] = {
    "H1": _h1,
    "H2": _h2,
    "H3": _h3,
    "H4": _h4,
    "H6": _h6,
    "L1": _l1,
    "L2": _l2,
    "K1": _k1,
    "K2": _k2,
    "T1": _t1,
    "T1s": _t1s,
    "T2": _t2,
    "T5": _t5,
    "T5a": _t5a,
    "T5b": _t5b,
    "U1": _u1,
    "U2": _u2,
    "U3": _u3,
    "U3r": _u3r,
    "U4": _u4,
    "U4b": _u4b,
    "U4s": _u4s,
}
