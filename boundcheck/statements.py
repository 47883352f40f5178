"""What each statement says in words, and which executable proof checks it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from boundcheck.errors import InputError

if TYPE_CHECKING:
    from proofs_numeric.claim import Claim


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement in words.

    Parameters
    ----------
    id : str
    words : str
    claim : str or None
        The id of the claim that checks it; None for a published form, whose
        constants are open.
    origin, where : str
        Where it comes from; empty where the claim says so.
    checked : str
        How it is checked where no claim of its own does.
    """

    id: str
    words: str
    claim: str | None
    origin: str = ""
    where: str = ""
    checked: str = ""


def _checked(statement: str, words: str) -> Statement:
    return Statement(statement, words, statement)


_PUBLISHED_CHECK = (
    "nothing to prove, since its constants are open; boundcheck constants finds the largest "
    "ones at which it stays below T1 on a grid"
)

_STATEMENTS = (
    _checked(
        "H1",
        "N(D,l) is the dimension of the harmonics of degree l on the sphere in R^D: the "
        "homogeneous polynomials of that degree whose Laplacian vanishes.",
    ),
    _checked(
        "H2",
        "The coefficient of a step at tau along the Legendre polynomial of degree l, for the "
        "uniform law on the sphere.",
    ),
    _checked(
        "H3",
        "The coefficients lambda_l of the sign and its energies E_l = N lambda_l^2. They are "
        "rational for odd D, and E_l is rational over pi^2 for even D; even degrees have none.",
    ),
    _checked(
        "H4",
        "The energies of the sign add up to 1, so the energy of all degrees above one is exact "
        "from a finite sum.",
    ),
    _checked(
        "H5",
        "sign<x,y> is a sum over degrees of lambda_l times a product of harmonics in x and in y, "
        "so that its energy is spread evenly over the harmonics of each degree.",
    ),
    _checked(
        "H6",
        "As D grows E_l tends to 2/pi times a coefficient of arcsin; a rough formula for the "
        "tail, neither an upper nor a lower bound.",
    ),
    _checked(
        "H7",
        "The energies of a function that depends only on the direction of the first n "
        "coordinates, from its energies on the sphere in R^n.",
    ),
    _checked(
        "L1",
        "Functions of K^T x, K of rank r < D, meet the harmonics of degree l in dimension m_r(l), "
        "and projecting such a function to that degree gives such a function.",
    ),
    _checked(
        "L2",
        "What one head spans of an odd degree l at most: m_r(l) for scalar heads, 2 m_r(l) + "
        "m_r(l-2) for a quadratic form times a function of K^T x, and m_r(l-1) more for each "
        "linear form. Generic heads attain it.",
    ),
    _checked(
        "L3",
        "If for every y the approximant lies in one fixed space, its squared distance to "
        "sign<.,y> is on average at least the energy of each degree times the part of that "
        "degree's dimension that the space leaves.",
    ),
    _checked(
        "K1",
        "The correlation of the signs of two linear forms, 2/pi times the arcsine of their cosine.",
    ),
    _checked(
        "K2",
        "The correlation of sign<x,y> with a rank-1 hardmax head's vote sign<k,x> sign<q,y>, a "
        "function of <q,k> alone.",
    ),
    _checked(
        "T1",
        "No layer of H heads of rank r has a smaller error, whatever its weights: two points, "
        "orthonormal or independent on the sphere, and a query independent of them. Each degree "
        "of sign<x,y> keeps at least the part of its energy that H heads are too few to span. "
        "The bound is convex and falls in H, so it is inverted exactly.",
    ),
    _checked(
        "T1s",
        "The same for layers that may add A y, any matrix A, for free: degree 1 is left out. "
        "It has to be: a y and one scalar head of rank 1 go below T1.",
    ),
    _checked(
        "T2",
        "How close scalar heads with arbitrary weights come: for r = 1 the bound of T1, so that "
        "T1 is exact there; for r > 1 what the mean over Haar random heads gives. An infimum, "
        "approached and not attained.",
    ),
    Statement(
        "T5",
        "One degree of T1 in closed form: at the error epsilon, H heads of rank r have to span "
        "a part of the harmonics of degree l. Weaker than T1.",
        None,
        "explicit",
        "T1 at one degree, with the later ones taken together",
        "follows from T1, and is at most its count in every case tested",
    ),
    Statement(
        "T5a",
        "High accuracy: an error below c/(d+1) needs exponentially many heads in d - (r+1) "
        "log2(2d/r). The constants are unspecified.",
        None,
        "published",
        "[ABY] Amsel, Yehudai, Bruna, arXiv 2407.16153",
        _PUBLISHED_CHECK,
    ),
    Statement(
        "T5b",
        "High dimension, d >= 5: the heads needed grow like the power C/epsilon of "
        "d/(r + C/epsilon). The constants are unspecified.",
        None,
        "published",
        "[ABY] Amsel, Yehudai, Bruna, arXiv 2407.16153",
        _PUBLISHED_CHECK,
    ),
    _checked("U1", "One hardmax head of rank d with K = Q = V = I is exact, for any points."),
    _checked(
        "U2",
        "One softmax head of rank d at the inverse temperature beta: its error as an integral, "
        "with V = I and with the best multiple of I, and a beta that is enough for epsilon.",
    ),
    _checked(
        "U3",
        "One layer of H random hardmax heads of rank 1, their angle <q,k> drawn from any signed "
        "measure: the expected error, exactly. Some draw does at least as well. Two more heads "
        "make the part along x_1 + x_2 exact.",
    ),
    _checked(
        "U3r",
        "One layer of H hardmax heads of rank r in Haar random subspaces, all with the best "
        "common value; two more heads make the part along x_1 + x_2 exact.",
    ),
    _checked(
        "U4",
        "Two layers: H hardmax heads of rank r in Haar random subspaces vote for a point, one "
        "head of rank 1 takes the majority's point. An even H does no better than H - 1.",
    ),
    Statement(
        "U4b",
        "U4 for rank 1 bounded in closed form, by Hoeffding's inequality and arcsin|t| >= |t|.",
        "U4",
    ),
    _checked(
        "U4s",
        "U4 with a softmax in the second layer, at the best inverse temperature; its error is "
        "always below 1/2.",
    ),
)

STATEMENT_IDS = tuple(statement.id for statement in _STATEMENTS)


def statement_named(statement_id: str) -> Statement:
    """The statement with that id, in upper or lower case.

    Raises
    ------
    InputError
        If there is none; the message lists the ids.

    Examples
    --------
    >>> statement_named("u4B").claim
    'U4'
    """
    for statement in _STATEMENTS:
        if statement.id.lower() == statement_id.lower():
            return statement
    raise InputError("statement", statement_id, ", ".join(STATEMENT_IDS))


def claim_of(statement: Statement) -> Claim[Any] | None:
    """The executable proof that checks the statement."""
    if statement.claim is None:
        return None
    from proofs_numeric.registry import claim_named

    return claim_named(statement.claim)
