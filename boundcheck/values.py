"""The kinds of number boundcheck reports, kept apart by type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar, Literal

Kind = Literal["certified", "numeric", "statistical", "published"]
Direction = Literal["lower", "upper"]


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A certified real number: it lies in [lo, hi], both exact.

    Parameters
    ----------
    lo, hi : Fraction
        Exact endpoints, lo <= hi.

    Examples
    --------
    >>> third = Enclosure(Fraction(33, 100), Fraction(34, 100))
    >>> Fraction(1, 3) in third
    True
    """

    lo: Fraction
    hi: Fraction
    kind: ClassVar[Kind] = "certified"

    def __post_init__(self) -> None:
        if self.lo > self.hi:
            raise ValueError(f"an enclosure needs lo <= hi, got lo={self.lo}, hi={self.hi}")

    @classmethod
    def exactly(cls, x: Fraction | int) -> Enclosure:
        """The enclosure of a number that is known exactly.

        Examples
        --------
        >>> Enclosure.exactly(0)
        Enclosure(lo=Fraction(0, 1), hi=Fraction(0, 1))
        """
        return cls(Fraction(x), Fraction(x))

    def __contains__(self, x: Fraction | int) -> bool:
        return self.lo <= x <= self.hi

    @property
    def width(self) -> Fraction:
        """hi - lo, exact."""
        return self.hi - self.lo

    def scaled(self, factor: Fraction) -> Enclosure:
        """The enclosure of factor * x, for factor >= 0."""
        return Enclosure(self.lo * factor, self.hi * factor)


@dataclass(frozen=True, slots=True)
class Numeric:
    """A float from quadrature or a solver, with the estimate of its error.

    Parameters
    ----------
    value : float
    error_estimate : float
        Estimated |value - truth| >= 0; an estimate, not a proof.
    """

    value: float
    error_estimate: float
    kind: ClassVar[Kind] = "numeric"


@dataclass(frozen=True, slots=True)
class Published:
    """The value of a published asymptotic form at stated constants.

    The published theorems leave their universal constants open, so this is
    never a bound by itself.
    """

    value: float
    constants: Mapping[str, float] = field(default_factory=dict)
    kind: ClassVar[Kind] = "published"


@dataclass(frozen=True, slots=True)
class Statistical:
    """A mean estimated from samples.

    Parameters
    ----------
    mean : float
    std_error : float
        Of the mean, >= 0.
    samples : int
    seed : int
        Of the stream the samples came from.
    largest : float
        The largest sample in size.
    """

    mean: float
    std_error: float
    samples: int
    seed: int
    largest: float
    kind: ClassVar[Kind] = "statistical"

    def interval(self, sigmas: float) -> tuple[float, float]:
        """mean -+ sigmas standard errors, at least a unit sample's weight wide.

        Samples that happen to agree do not prove that all would: half of the
        width is never less than max(1, largest) / samples.

        Examples
        --------
        >>> Statistical(0.5, 0.01, 1000, 0, 1.0).interval(2)
        (0.48, 0.52)
        """
        half = max(sigmas * self.std_error, max(1.0, self.largest) / self.samples)
        return self.mean - half, self.mean + half


Value = Enclosure | Numeric | Published


@dataclass(frozen=True, slots=True)
class HeadCount:
    """The answer to "how many heads?".

    Parameters
    ----------
    heads : int or None
        Whole heads of the layer or network; None where no count is known.
    reason : str or None
        Why heads is None, or what the reader must know about the count.
    sharp : bool
        Whether heads is the least count the bound gives. A lower bound that
        is not sharp is still valid, only weaker than it could be.
    """

    heads: int | None
    reason: str | None = None
    sharp: bool = True

    def __repr__(self) -> str:
        # Python refuses to print integers of thousands of digits; Decimal does not.
        heads = None if self.heads is None else Decimal(self.heads)
        return f"HeadCount(heads={heads}, reason={self.reason!r}, sharp={self.sharp})"
