"""Check a certificate of boundcheck with nothing but Python: ``python checker.py FILE``.

From the file come a claim and how its proof is cut: degrees, binary digits ("bits"), tail. All the
rest is computed again, rounded to the safe side, and has to be in the file digit for digit.
"""

import json
import sys
from fractions import Fraction

# What is larger is refused: it would only take time and memory.
MAX_BYTES, MAX_DIGITS, MAX_BITS, MAX_DIMENSION = 2**23, 20_000, 2**14, 2**14

# What the claims mean and why the terms prove them; every certificate repeats these lines.
ARGUMENT = """\
Points x_1, x_2 in R^d: a random orthonormal pair or, except for T2, independent and uniform on
the unit sphere; query y: uniform on it and independent. Target: the x_i with the larger <x_i, y>.
A layer adds H heads; its error is the mean squared distance to the target. A head of rank r is
V (w_1 x_1 + w_2 x_2), w_i any functions of y and K^T x_1, K^T x_2 for a d x r matrix K. Classes:
scalar, V = a I; standard, w_1 + w_2 = 1; generalized, neither is asked.
The harmonics of odd degree l in R^D, N = C(D+l-1, l) - C(D+l-3, l-2) of them, hold the energy
E_l = N lambda_l^2 of sign<x_1-x_2, y>: lambda_1 = 2 c_D/(D-1), lambda_{l+2} = -lambda_l l/(l+D),
with c_D = Gamma(D/2)/(sqrt(pi) Gamma((D-1)/2)). All E_l add up to 1. Let m_r(l) = C(r+l-1, l).
T1: the error is at least half of the energy left. H heads take at most E_l min(1, H m/N), where
m = a m_r(l) + b m_r(l-1) + c m_r(l-2): D = d and [a, b, c] = [1, 0, 0] (scalar), [2, 0, 1]
(standard), [2, r, 1] (generalized), or D = d-1 and [2, 1, 1] (generalized). T1s, for layers that
may also add A y with any matrix A: the same, but all of E_1 is taken.
Tail of T1, T1s: the last term, of degree s, stands for all degrees from s on. Let u_l = E_l m/N
and A(l) = tail + (l-s)/(2(D-r)). For all l >= s, A(l) u_l - A(l+2) u_{l+2} >= u_l; therefore
u_s + u_{s+2} + ... <= A(s) u_s, and H heads take at most H times that.
T2: D = d, m = m_r(l). Heads with V = I/H come as close as one likes to half of the energy left if
they take E_l min(1, H m/N) (r = 1), or E_l (1 - (1 - m/N)^H), the mean over random K (r > 1).
Degrees not listed count as left. U1: a head with K = V = I and weight 1 on the target is exact."""


def number(text: object, name: str, least: int, most: int | None = None) -> int:
    """The whole number that the file holds as a string of digits."""
    text = text if isinstance(text, str) and text.isascii() and len(text) <= MAX_DIGITS else ""
    n = 0
    for i in range(0, len(text), 500):  # int() and str() may refuse more than 640 digits
        n = n * 10 ** len(text[i : i + 500]) + int(text[i : i + 500])
    if text != digits(n) or n < least or (most is not None and n > most):
        raise ValueError(f"{name}: not a whole number in digits, or too small or too large")
    return n


def digits(n: int) -> str:
    """The n >= 0 as a string of digits."""
    return str(n) if n < 10**500 else digits(n // 10**500) + f"{n % 10**500:0500}"


def same(given: object, expected: object, name: str) -> None:
    """Refuse what is not as expected; in JSON 1, 1.0, "1" and true differ."""
    if json.dumps(given, sort_keys=True) != json.dumps(expected, sort_keys=True):
        raise ValueError(f"{name}: not what follows from the claim")


def choose(n: int, k: int) -> int:
    """C(n, k), the number of ways; 0 for k < 0 or k > n."""
    value = int(0 <= k <= n)
    for i in range(1, min(k, n - k) + 1):
        value = value * (n - i + 1) // i
    return value


def pi_between(bits: int) -> tuple[int, int]:
    """Bounds of pi 2^bits, from pi = 16 arctan(1/5) - 4 arctan(1/239)."""
    value, count = 0, bits // 4 + 2  # arctan(1/x) = 1/x - 1/(3 x^3) + ...
    for n in range(1, 2 * count, 2):
        value += (2 - n % 4) * (((16 << bits) // 5**n - (4 << bits) // 239**n) // n)
    return value - 2 * count - 2, value + 2 * count + 2  # each term and the rest are off by < 2


def power_at_most(above: int, below: int, n: int, unit: int) -> int:
    """(above/below)^n unit rounded up, for 0 <= above <= below."""
    one = unit << n.bit_length() + 64  # finer, so that the steps' rounding hardly shows
    value, base = one, -(-above * one // below)
    for bit in f"{n:b}":
        value = -(-value * value * (base if bit == "1" else one) // one**2)
    return -(-value * unit // one)


def tail_holds(D: int, r: int, abc: list[int], s: int, tail: int, unit: int) -> bool:
    """Whether A(l) u_l - A(l+2) u_{l+2} >= u_l for l = s, s+2, ..., with tail/unit as the tail.

    u_{l+2}/u_l = f/g for f, g below. The difference of both sides, times 2(D-r) unit g/u_l, is a
    polynomial of degree 7; if it and its differences are >= 0 at s, it is >= 0 from s on.
    """

    def above(l: int) -> int:  # m = m_r(l) above(l)/((l+r-1)(l+r-2))
        return (abc[0] * (l + r - 1) + abc[1] * l) * (l + r - 2) + abc[2] * l * (l - 1)

    values = []
    for l in range(s, s + 16, 2):
        f = l**2 * (l + r - 1) * (l + r - 2) * above(l + 2)
        g = (l + D) ** 2 * (l + 1) * (l + 2) * above(l)
        here, there = (2 * (D - r) * tail + unit * (x - s) for x in (l, l + 2))
        values.append((here - 2 * (D - r) * unit) * g - there * f)
    while values and values[0] >= 0:
        values = [values[i + 1] - values[i] for i in range(len(values) - 1)]
    return not values


def energy_left(
    bound: str, D: int, r: int, abc: list[int], H: int, bits: int, tail: int, terms: list[object]
) -> int:
    """What is left of the energy 2^bits, at least or (T2) at most, if the terms are right."""
    lower, left, unit, fine = bound != "T2", 1 << bits, 1 << bits, 1 << bits + 64
    up = -1 if lower else 1  # up * (up * x // y) is x/y rounded up (T1, T1s) or down (T2)
    pi = fine if D % 2 else pi_between(bits + 64)[0 if lower else 1]
    lam = Fraction(2, (D - 1) * (1 + D % 2))  # |lambda_1|, times pi for even D, from
    for n in range(2 + D % 2, D, 2):  # c_2 = 1/pi, c_3 = 1/2, c_{n+2} = c_n n/(n-1)
        lam *= Fraction(n, n - 1)
    for l, term in zip(range(1, 2 * len(terms), 2), terms, strict=True):
        N = choose(D + l - 1, l) - choose(D + l - 3, l - 2)
        m = sum(x * choose(r + l - 1 - i, l - i) for i, x in enumerate(abc))
        above, below = N * (lam.numerator * fine) ** 2, (lam.denominator * pi) ** 2
        energy = up * (up * unit * above // below)
        part, whole = N if (bound, l) == ("T1s", 1) else min(H * m, N), N
        if bound == "T2" and r > 1:
            part, whole = unit - power_at_most(max(N - m, 0), N, H, unit), unit
        elif lower and l == 2 * len(terms) - 1:
            part, whole = H * m * tail, N * unit
            if not tail_holds(D, r, abc, l, tail, unit) or tail_holds(D, r, abc, l, tail - 1, unit):
                raise ValueError("tail: not the least that is shown to hold")
        taken = up * (up * energy * part // whole)
        found = {"degree": str(l), "dimension": digits(N), "capacity": digits(m)}
        found |= {"energy": f"{digits(energy)}/2^{bits}", "taken": f"{digits(taken)}/2^{bits}"}
        same(term, found, f"terms, degree {l}")
        left, lam = left - taken, lam * Fraction(l, l + D)
    return left


def proved(data: bytes | str) -> str:
    """What the certificate claims, if it is valid; otherwise an error is raised."""

    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name appears twice in one object")
        return dict(pairs)

    if len(data) > MAX_BYTES:
        raise ValueError(f"larger than {MAX_BYTES} bytes")
    text = data if isinstance(data, str) else data.decode()
    file = json.loads(text, object_pairs_hook=unique, parse_int=str)

    bound, head_class, eps = file["bound"], file["head_class"], file["eps"]
    lower = bound in ("T1", "T1s")
    d = number(file["d"], "d", 3, MAX_DIMENSION)
    D = number(file["sphere"], "sphere", d - (head_class == "generalized"), d) if lower else d
    r = number(file["r"], "r", d if bound == "U1" else 1, D - 1 if lower else d)
    H = number(file["heads"], "heads", 1, 10**18 if bound == "T2" else None)
    p, q = (number(x, "eps", 1) for x in eps.split("/"))
    capacities = {"scalar": [1, 0, 0], "standard": [2, 0, 1], "generalized": [2, 1, 1]}
    abc = [2, r, 1] if head_class == "generalized" and d == D else capacities[head_class]
    layer = f"layer of {file['heads']} {head_class} head{'s' if H > 1 else ''} of rank {r}"
    claim = {
        "T1": f"No {layer} reaches squared error {eps}",
        "T1s": f"No {layer} plus A y, for any matrix A, reaches squared error {eps}",
        "T2": f"Some {layer} with arbitrary scores has a squared error below {eps}",
        "U1": f"Some {layer} has squared error 0, which is below {eps},",
    }[bound]
    claim += f" on the nearest-neighbour target at d = {d} (N = 2)."
    expected = {x: file[x] for x in ("bound", "d", "r", "heads", "head_class", "eps")}
    expected |= {"format": "boundcheck certificate", "version": "1", "skip": bound == "T1s"}
    expected |= {"statement": claim, "argument": ARGUMENT.splitlines()}
    if bound != "U1":
        bits, terms = number(file["bits"], "bits", 8, MAX_BITS), file["terms"]
        number(str(len(terms)), "number of terms", 2)
        tail = number(file["tail"].removesuffix(f"/2^{bits}"), "tail", 1) if lower else 0
        left = energy_left(bound, D, r, abc if lower else [1, 0, 0], H, bits, tail, terms)
        if left * q <= 2 * p << bits if lower else left * q >= 2 * p << bits:
            raise ValueError("eps: not proved by the terms")
        expected |= {"bits": str(bits), "terms": terms, "error": f"{digits(left)}/2^{bits + 1}"}
        expected |= {"sphere": str(D), "tail": f"{digits(tail)}/2^{bits}"} if lower else {}
    for name in sorted(file.keys() | expected.keys()):
        same(file[name], expected[name], name)
    return claim


def check(data: bytes | str) -> tuple[bool, str, str]:
    """Whether a certificate is valid, what it then states, and why it is not; never raises."""
    try:
        return True, proved(data), "every figure follows from the claim"
    except Exception as error:  # whatever is in the way of the proof
        return False, "", (str if isinstance(error, ValueError) else ascii)(error)[:200]


if __name__ == "__main__":
    try:
        with open(sys.argv[1], "rb") as given:
            valid, statement, reason = check(given.read(MAX_BYTES + 1))
    except (OSError, ValueError, IndexError) as error:
        print(f"python checker.py FILE: {error}", file=sys.stderr)
        sys.exit(2)
    print("valid:" if valid else "not valid:", statement or reason)
    sys.exit(0 if valid else 1)
