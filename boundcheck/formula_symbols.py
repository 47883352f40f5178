"""The symbols and named functions of the formulas, and what the functions stand for.

sympy is loaded at module level: import this module where it is used.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sympy as sp

# sympy brings no types: its expressions are Any here.
d, r, D, H = (sp.Symbol(name, integer=True, positive=True) for name in "drDH")
l = sp.Symbol("l", integer=True)
k, j = (sp.Symbol(name, integer=True, nonnegative=True) for name in "kj")
n = sp.Symbol("n", integer=True, positive=True)
eps = sp.Symbol("epsilon", positive=True)
beta, b, theta = (sp.Symbol(name, positive=True) for name in ("beta", "b", "theta"))
t, s, w, tau, B = (sp.Symbol(name, real=True) for name in ("t", "s", "w", "tau", "B"))
#: Total variation of U3's measure; constants of the published forms.
A, C, c0, factor = (sp.Symbol(name, positive=True) for name in ("A", "C", "c", "C_0"))


def _function(name: str, typeset: Callable[..., str]) -> Any:
    """A function that prints as ``name(...)``, and in LaTeX as ``typeset`` says."""

    def latex(self: Any, printer: Any, exp: str | None = None) -> str:
        text = typeset(*(printer._print(argument) for argument in self.args))
        if exp is None:
            return text
        return rf"{text}^{{{exp}}}" if "(" not in text else rf"\left({text}\right)^{{{exp}}}"

    return types.new_class(name, (sp.Function,), exec_body=lambda ns: ns.update(_latex=latex))


N = _function("N", lambda D, l: rf"N({D},{l})")
E = _function("E", lambda D, l: rf"E_{{{l}}}({D})")
sign_coefficient = _function("lambda_", lambda D, l: rf"\lambda_{{{l}}}({D})")
c = _function("c", lambda D: rf"c_{{{D}}}")
m = _function("m", lambda r, l: rf"m_{{{r}}}({l})")
P = _function("P", lambda D, l, t: rf"P_{{{l}}}^{{[{D}]}}({t})")
#: Moments of U3's measure: the integral of P_l; a letter of the measure, not defined further.
moment = _function("mu", lambda l: rf"\mu_{{{l}}}")
cdf = _function("F", lambda D, s: rf"F_{{{D}}}\left({s}\right)")
right = _function("p", lambda d, r, t: rf"p_{{{r}}}({t})")
advantage = _function("kappa", lambda d, r, t: rf"\kappa_{{{r}}}({t})")
mean_advantage = _function("b", lambda d, r: "b")
mean_square = _function("M", lambda d, r: "m")


@dataclass(frozen=True, slots=True)
class Definition:
    """What a named function stands for.

    Parameters
    ----------
    function : sympy function
    arguments : tuple of Symbol
    expression : Expr
        In these arguments and other named functions.
    """

    function: Any
    arguments: tuple[Any, ...]
    expression: Any

    @property
    def left(self) -> Any:
        """The function of its arguments."""
        return self.function(*self.arguments)


def sphere_mean(expression: Any) -> Any:
    """E over t = <x, e>, x uniform on S^{d-1}, of an even function: twice the half t > 0."""
    density = (1 - t**2) ** ((d - 3) / sp.Integer(2))
    return 2 * c(d) * sp.Integral(expression * density, (t, 0, 1))


def odd_sum(expression: Callable[[Any], Any], first: Any = 0) -> Any:
    """The sum of an expression in l over l = 2k+1, k from ``first`` on."""
    return sp.Sum(expression(2 * k + 1), (k, first, sp.oo))


@lru_cache(maxsize=1)
def definitions() -> tuple[Definition, ...]:
    """What the named functions stand for; none but `moment` is left open."""
    half = sp.Rational(1, 2)
    beta_density = B ** (r * half - 1) * (1 - B) ** ((d - r) * half - 1)
    beta_constant = sp.gamma(d * half) / (sp.gamma(r * half) * sp.gamma((d - r) * half))
    return (
        # The product, not H1's difference: sympy has taken 1 - H/(difference) for negative
        # and a maximum with 0 for 0, where numbers were put in for H before d.
        Definition(N, (D, l), (2 * l + D - 2) * sp.binomial(l + D - 2, l) / (l + D - 2)),
        Definition(E, (D, l), N(D, l) * sign_coefficient(D, l) ** 2),
        Definition(
            sign_coefficient,
            (D, l),
            (-1) ** ((l - 1) / 2)
            * sp.gamma(D * half)
            * sp.gamma(l * half)
            / (sp.pi * sp.gamma((l + D) * half)),
        ),
        Definition(c, (D,), sp.gamma(D * half) / (sp.sqrt(sp.pi) * sp.gamma((D - 1) * half))),
        Definition(m, (r, l), sp.Piecewise((sp.binomial(r + l - 1, l), l >= 0), (0, True))),
        Definition(
            P, (D, l, t), sp.gegenbauer(l, D * half - 1, t) / sp.gegenbauer(l, D * half - 1, 1)
        ),
        Definition(
            cdf,
            (D, s),
            half + c(D) * sp.Integral((1 - w**2) ** ((D - 3) * half), (w, 0, sp.Min(1, s))),
        ),
        Definition(
            right,
            (d, r, t),
            beta_constant
            * sp.Integral(
                cdf(d - 1, t * sp.sqrt(B / ((1 - t**2) * (1 - B)))) * beta_density, (B, 0, 1)
            ),
        ),
        Definition(advantage, (d, r, t), 2 * right(d, r, t) - 1),
        Definition(mean_advantage, (d, r), sphere_mean(advantage(d, r, t))),
        Definition(mean_square, (d, r), sphere_mean(advantage(d, r, t) ** 2)),
    )


def definitions_used(expression: Any) -> tuple[Definition, ...]:
    """The definitions that an expression needs, also for one another, in order."""
    needed: set[Any] = set()
    pending = [expression]
    while pending:
        current = pending.pop()
        for definition in definitions():
            if definition.function not in needed and current.has(definition.function):
                needed.add(definition.function)
                pending.append(definition.expression)
    return tuple(one for one in definitions() if one.function in needed)


def written_out(expression: Any) -> Any:
    """The expression with every named function replaced by what it stands for."""
    while used := [one for one in definitions() if expression.has(one.function)]:
        for one in used:
            expression = expression.replace(one.function, _substitution(one))
    return expression


def _substitution(one: Definition) -> Callable[..., Any]:
    def substituted(*values: Any) -> Any:
        return one.expression.subs(dict(zip(one.arguments, values, strict=True)), simultaneous=True)

    return substituted
