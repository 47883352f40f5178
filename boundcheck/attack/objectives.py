"""The objective for the kind of heads asked for."""

from __future__ import annotations

from typing import Literal, get_args

from boundcheck.attack.arbitrary_matrices import MOST_FIELDS, ArbitraryMatrices
from boundcheck.attack.arbitrary_scalars import ArbitraryScalars
from boundcheck.attack.hardmax import Hardmax
from boundcheck.attack.hardmax_rank_one import MatrixHardmaxRankOne, ScalarHardmaxRankOne
from boundcheck.attack.objective import Objective
from boundcheck.attack.softmax import Softmax
from boundcheck.constructions.seeds import dimension, head_count, head_rank
from boundcheck.errors import InputError
from boundcheck.sampling import SampleStream

Scores = Literal["hardmax", "softmax", "arbitrary"]
SCORES: tuple[Scores, ...] = get_args(Scores)
#: The classes of heads whose weights sum to 1.
CLASSES = ("scalar", "standard")

#: Heads times dimension up to which values can be matrices: the normal equations have as
#: many unknowns, and a sample has to be several times larger.
_MOST_WIDTH = 256
#: Heads with scalar values.
_MOST_HEADS = 2048
_MOST_SAMPLED_HEADS = 256
_MOST_DIMENSION = 1024


def objective(d: int, r: int, heads: int, *, scores: str, head_class: str, seed: int) -> Objective:
    """What to minimise for H heads of rank r, whose weights sum to 1.

    Standard heads get matrices V_h while H d is small enough for them to be fitted; beyond
    that scalar values, which are allowed too.

    Parameters
    ----------
    d, r, heads : int
        1 <= r <= d, 2 <= d.
    scores : {"hardmax", "softmax", "arbitrary"}
    head_class : {"scalar", "standard"}
        Values a_h I, or any matrices.
    seed : int
        Of the sample that heads are fitted to, where one is needed.

    Raises
    ------
    InputError
        If a number is out of range, a name unknown or the problem too large.

    Examples
    --------
    >>> type(objective(5, 1, 8, scores="hardmax", head_class="scalar", seed=0)).__name__
    'ScalarHardmaxRankOne'
    """
    d, heads = dimension(d), head_count(heads)
    r = head_rank(r, d)
    if d > _MOST_DIMENSION:
        raise InputError("d", d, f"at most {_MOST_DIMENSION} in a search")
    if scores not in SCORES:
        raise InputError("scores", scores, ", ".join(SCORES))
    if head_class not in CLASSES:
        raise InputError("head-class", head_class, " or ".join(CLASSES))
    sampled = scores == "softmax" or (scores == "hardmax" and r > 1)
    most = _MOST_SAMPLED_HEADS if sampled else _MOST_HEADS
    if heads > most:
        raise InputError("heads", heads, f"at most {most} in a search with {scores} scores")
    matrices = head_class == "standard" and heads * d <= _MOST_WIDTH
    if scores == "arbitrary":
        if matrices and heads * r <= MOST_FIELDS:
            return ArbitraryMatrices(d, r, heads)
        return ArbitraryScalars(d, r, heads)
    if not sampled:
        return (MatrixHardmaxRankOne if matrices else ScalarHardmaxRankOne)(d, heads)
    kind = Softmax if scores == "softmax" else Hardmax
    return kind(d, r, heads, matrices, SampleStream(seed, d))
