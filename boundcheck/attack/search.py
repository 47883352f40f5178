"""Minimisation from many starts, within a budget of time or a number of starts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from boundcheck.attack.arbitrary_heads import ArbitraryHeads
from boundcheck.attack.objective import FloatArray, Objective, Parameters
from boundcheck.network import Network
from boundcheck.sampling import Purpose

#: Steps of one minimisation, and of the one that finishes the search.
_STEPS = 500
_LAST_STEPS = 200
#: Pairs of vectors from which L-BFGS estimates the curvature.
_PAIRS = 20
#: Relative change of the error at which a minimisation ends; a sample's is not worth more.
_EXACT_CHANGE, _SAMPLED_CHANGE = 2e-9, 1e-6
#: Of a budget, what is left for finishing on the finer objective; which is tried only if
#: so many evaluations by the coarser one would still fit.
_LAST_SHARE = 0.25
_LAST_EVALUATIONS = 25


@dataclass(frozen=True, eq=False)
class Best:
    """The best parameters so far.

    Attributes
    ----------
    objective : Objective
        What they were judged by.
    parameters : tuple of ndarray
    error : float
    """

    objective: Objective
    parameters: Parameters
    error: float

    @cached_property
    def heads(self) -> Network | ArbitraryHeads:
        """The heads themselves."""
        return self.objective.heads(self.parameters)


@dataclass(eq=False)
class Search:
    """A search that can be interrupted at any time and then still knows its best.

    Start number i depends on the seed and on i; every second start is the best of the
    earlier ones with a quarter of its heads drawn anew.

    Parameters
    ----------
    objective : Objective
    seed : int
    budget : float, optional
        Seconds. The first evaluation is always made.
    starts : int, optional
        With neither, one start is made. The same seed and number of starts give
        the same answer, unless the budget ends first.
    notify : callable, optional
        Called with the search after every evaluation.

    Attributes
    ----------
    started : int
        Starts begun.
    cut_short : bool
        Whether time ended within a start, or before the last one asked for.
    """

    objective: Objective
    seed: int
    budget: float | None = None
    starts: int | None = None
    notify: Callable[[Search], None] = field(default=lambda search: None)
    started: int = field(default=0, init=False)
    cut_short: bool = field(default=False, init=False)
    _searched: Best | None = field(default=None, init=False)
    _simple: Best | None = field(default=None, init=False)
    _evaluation_seconds: float = field(default=0.0, init=False)
    _began: float = field(default=0.0, init=False)

    @property
    def seconds(self) -> float:
        """Seconds since `run` was called."""
        return time.monotonic() - self._began

    @property
    def best(self) -> Best | None:
        """The best heads so far; None before the first evaluation."""
        simple, searched = self._simple, self._searched
        if simple is not None and (searched is None or simple.error <= searched.error):
            return simple
        return searched

    def run(self) -> Best:
        """Search to the end, and return the best heads found."""
        self._began = time.monotonic()
        simpler = self.objective.simpler()
        if simpler is not None:
            parameters = simpler.start(self._generator(0))
            error, _ = simpler.error_and_gradient(parameters)
            self._simple = Best(simpler, parameters, error)
        finer = self.objective.finer()
        share = 1.0 if finer is None else 1 - _LAST_SHARE
        end = math.inf if self.budget is None else share * self.budget
        most = self.starts
        if most is None and self.budget is None:
            most = 1
        while most is None or self.started < most:
            if self.started and self.seconds >= end:
                self.cut_short = most is not None
                break
            start = self._start(self.started)
            self.started += 1
            if not self._minimised(self.objective, start, _STEPS, end):
                self.cut_short = True
                break
        while finer is not None:
            assert self._searched is not None
            # An error by the coarser objective says nothing beside one by the finer.
            parameters, last, finer = self._searched.parameters, finer, finer.finer()
            end = math.inf if self.budget is None else self.budget
            if end - self.seconds < _LAST_EVALUATIONS * self._evaluation_seconds:
                break
            self._minimised(last, parameters, _LAST_STEPS, end)
        assert self.best is not None
        return self.best

    def _start(self, number: int) -> Parameters:
        rng = self._generator(number)
        fresh = self.objective.start(rng)
        H = len(fresh[0])
        if self._searched is None or number % 2 == 0 or H == 1:
            return fresh
        drawn = rng.choice(H, max(1, H // 4), replace=False)
        changed = tuple(array.copy() for array in self._searched.parameters)
        for array, new in zip(changed, fresh, strict=True):
            array[drawn] = new[drawn]
        return changed

    def _generator(self, number: int) -> np.random.Generator:
        key = np.random.SeedSequence(self.seed, spawn_key=(int(Purpose.HEADS), number))
        return np.random.Generator(np.random.SFC64(key))

    def _minimised(self, objective: Objective, start: Parameters, steps: int, end: float) -> bool:
        """Minimise from one start; whether it came to an end before its time was over."""
        from scipy.optimize import minimize

        def error_and_gradient(flat: FloatArray) -> tuple[float, FloatArray]:
            parameters = _unpacked(flat, start)
            before = self.seconds
            error, gradient = objective.error_and_gradient(parameters)
            self._evaluation_seconds = self.seconds - before
            best = self._searched
            if best is None or best.objective is not objective or error < best.error:
                self._searched = Best(objective, parameters, error)
            self.notify(self)
            if self.seconds >= end:
                raise _TimeOverError
            return error, _packed(gradient)

        try:
            minimize(
                error_and_gradient,
                _packed(start),
                jac=True,
                method="L-BFGS-B",
                options={
                    "maxiter": steps,
                    "maxfun": 2 * steps,
                    "maxcor": _PAIRS,
                    "ftol": _EXACT_CHANGE if objective.exact else _SAMPLED_CHANGE,
                },
            )
        except _TimeOverError:
            return False
        return True


class _TimeOverError(Exception):
    """The budget ended within a minimisation."""


def _packed(arrays: Parameters) -> FloatArray:
    return np.concatenate([array.ravel() for array in arrays])


def _unpacked(flat: FloatArray, like: Parameters) -> Parameters:
    arrays, at = [], 0
    for array in like:
        arrays.append(flat[at : at + array.size].reshape(array.shape).copy())
        at += array.size
    return tuple(arrays)
