"""Files of heads: what comes back, what is accepted from elsewhere, and what is refused."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zipfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Any

import array_api_strict
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from numpy.typing import NDArray
from safetensors.numpy import save_file

from boundcheck.attention import apply_network
from boundcheck.errors import InputError
from boundcheck.layer import Layer
from boundcheck.network import Network, converted
from boundcheck.weights_io import read_network, write_network

SUFFIXES = [".npz", ".safetensors"]
SEEDS = st.integers(0, 2**32 - 1)
ARRAYS = ("Q", "K", "values", "matrix")


def two_layers(seed: int = 0, dtype: str = "float64") -> Network:
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((5, 6, 2))
    first = Layer(
        Q=Q, K=Q, values=rng.standard_normal(5), matrix=rng.standard_normal((6, 6)), residual=True
    )
    second = Layer(
        Q=Q[:2],
        K=rng.standard_normal((2, 6, 2)),
        values=rng.standard_normal((2, 6, 6)),
        scores="softmax",
        inverse_temperature=0.1,
    )
    network = Network(
        layers=(first, second),
        d=4,
        points=2,
        positions=True,
        statement="U4s",
        random_heads=5,
        details={"seed": 2**70, "beta": 0.1, "law": "Haar\n°"},
    )
    return converted(network, np, dtype)


def assert_same(a: Network, b: Network) -> None:
    """Equal in every field and bit."""
    for name in ("d", "points", "positions", "statement", "random_heads", "details"):
        assert getattr(a, name) == getattr(b, name)
    assert a.depth == b.depth
    for one, two in zip(a.layers, b.layers, strict=True):
        for name in ("scores", "inverse_temperature", "residual"):
            assert getattr(one, name) == getattr(two, name)
        for name in ARRAYS:
            x, y = getattr(one, name), getattr(two, name)
            assert (x is None) == (y is None)
            if x is not None:
                assert (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reading_gives_back_every_bit(tmp_path: Path, suffix: str, dtype: str) -> None:
    network = two_layers(dtype=dtype)
    write_network(tmp_path / f"a{suffix}", network)
    back = read_network(tmp_path / f"a{suffix}")
    assert_same(network, back)
    assert back.layers[0].K is back.layers[0].Q
    # The same network makes the same bytes.
    write_network(tmp_path / f"b{suffix}", back)
    assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()


@settings(deadline=None, max_examples=25)
@given(SEEDS, st.sampled_from(SUFFIXES), st.sampled_from(["float32", "float64"]), st.data())
def test_any_finite_bits_survive(
    tmp_path_factory: pytest.TempPathFactory,
    seed: int,
    suffix: str,
    dtype: str,
    data: st.DataObject,
) -> None:
    rng = np.random.default_rng(seed)
    Q = rng.standard_normal((3, 4, 2)).astype(dtype)
    numbers = st.floats(
        allow_nan=False, allow_infinity=False, width=32 if dtype == "float32" else 64
    )
    values = np.asarray(data.draw(st.lists(numbers, min_size=3, max_size=3)), dtype=dtype)
    network = Network(layers=(Layer(Q=Q, K=-Q, values=values),), d=4, points=3)
    path = tmp_path_factory.mktemp("heads") / f"a{suffix}"
    write_network(path, network)
    assert_same(network, read_network(path))


def test_order_in_memory_does_not_matter(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    Q = np.asfortranarray(rng.standard_normal((4, 5, 3)))
    strided = rng.standard_normal((8, 5, 3))[::2]
    equal = np.broadcast_to(np.float64(0.25), (4,))
    network = Network(layers=(Layer(Q=Q, K=strided, values=equal),), d=5, points=2)
    for suffix in SUFFIXES:
        write_network(tmp_path / f"a{suffix}", network)
        back = read_network(tmp_path / f"a{suffix}").layers[0]
        np.testing.assert_array_equal(back.Q, Q)
        np.testing.assert_array_equal(back.K, strided)
        np.testing.assert_array_equal(back.values, equal)


def test_arrays_of_another_library_are_written(tmp_path: Path) -> None:
    network = two_layers()
    write_network(tmp_path / "a.npz", converted(network, array_api_strict))
    assert_same(network, read_network(tmp_path / "a.npz"))


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("copied", [False, True])
def test_shared_arrays_are_stored_once(tmp_path: Path, suffix: str, copied: bool) -> None:
    # The size is that of Q, H scalars and one matrix, in bytes, and little more.
    H, d = 20_000, 16
    Q = np.random.default_rng(2).standard_normal((H, d, 1)).astype(np.float32)
    votes = Layer(
        Q=Q,
        K=Q.copy() if copied else Q,
        values=np.full(H, 1 / H, np.float32),
        matrix=np.eye(d, dtype=np.float32),
    )
    path = tmp_path / f"votes{suffix}"
    write_network(path, Network(layers=(votes,), d=d, points=2))
    assert path.stat().st_size < 4 * (H * d + H + d * d) + 4096
    back = read_network(path).layers[0]
    assert back.K is back.Q


def test_keys_that_differ_in_a_sign_of_zero_are_kept(tmp_path: Path) -> None:
    Q = np.zeros((1, 2, 1))
    Q[0, 0, 0] = 1
    K = np.copysign(Q, -1) * [[1], [1]]
    K[0, 0, 0] = 1
    write_network(
        tmp_path / "a.npz", Network(layers=(Layer(Q=Q, K=K, values=np.ones(1)),), d=2, points=2)
    )
    assert np.signbit(read_network(tmp_path / "a.npz").layers[0].K[0, 1, 0])


def test_the_schema_is_a_schema_and_describes_what_is_written(tmp_path: Path) -> None:
    schema = json.loads(files("boundcheck").joinpath("network.schema.json").read_text("utf-8"))
    Draft202012Validator.check_schema(schema)
    write_network(tmp_path / "a.npz", two_layers())
    with np.load(tmp_path / "a.npz", allow_pickle=False) as stored:
        header = json.loads(str(stored["boundcheck"]))
        assert header["boundcheck_format"] == 1
        Draft202012Validator(schema).validate(header)
        assert {name for name in stored.files if name.startswith("layers.")} == {
            "layers.0.Q",
            "layers.0.values",
            "layers.0.matrix",
            "layers.1.Q",
            "layers.1.K",
            "layers.1.values",
        }


# ---- heads trained elsewhere


def plain(rng: np.random.Generator) -> dict[str, NDArray[Any]]:
    return {
        "Q": rng.standard_normal((3, 5, 2)),
        "K": rng.standard_normal((3, 5, 2)),
        "V": rng.standard_normal((3, 5, 5)),
    }


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_plain_arrays_are_one_softmax_layer(tmp_path: Path, save: Any) -> None:
    rng = np.random.default_rng(3)
    arrays = plain(rng)
    save(tmp_path / "foreign.npz", **arrays)
    save_file(arrays, tmp_path / "foreign.safetensors", metadata={"format": "pt"})
    X, y = rng.standard_normal((4, 2, 5)), rng.standard_normal((4, 5))
    # The layer's definition, by einsum.
    scores = np.einsum("bi,hir,hjr,bnj->bhn", y, arrays["Q"], arrays["K"], X)
    phi = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    expected = np.einsum("hij,bhn,bnj->bi", arrays["V"], phi, X)
    for suffix in SUFFIXES:
        network = read_network(tmp_path / f"foreign{suffix}")
        assert (network.d, network.points, network.statement) == (5, 2, None)
        np.testing.assert_allclose(apply_network(network, X, y), expected, atol=1e-12)


def test_plain_options(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    Q, values, matrix = rng.standard_normal((3, 5, 2)), np.ones(3), np.eye(5)
    np.savez(
        tmp_path / "a.npz",
        Q=Q,
        values=values,
        matrix=matrix,
        scores="hardmax",
        residual=True,
        points=4,
    )
    save_file(
        {"Q": Q, "values": values, "matrix": matrix},
        tmp_path / "a.safetensors",
        metadata={"scores": "hardmax", "residual": "true", "points": "4"},
    )
    np.savez(tmp_path / "b.npz", Q=Q, values=values, inverse_temperature=0.5)
    for suffix in SUFFIXES:
        network = read_network(tmp_path / f"a{suffix}")
        layer = network.layers[0]
        assert (network.points, layer.scores, layer.residual) == (4, "hardmax", True)
        assert layer.K is layer.Q
        assert layer.matrix is not None
    assert read_network(tmp_path / "b.npz").layers[0].inverse_temperature == 0.5


def test_other_floats_are_converted_without_loss(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    half = rng.standard_normal((3, 5, 2)).astype(np.float16)
    np.savez(tmp_path / "a.npz", Q=half, values=np.ones(3, ">f4"))
    layer = read_network(tmp_path / "a.npz").layers[0]
    assert (layer.Q.dtype, layer.values.dtype) == (np.dtype("=f4"), np.dtype("=f4"))
    np.testing.assert_array_equal(layer.Q, half)
    np.savez(tmp_path / "a.npz", Q=half, values=np.ones(3))
    layer = read_network(tmp_path / "a.npz").layers[0]
    assert (layer.Q.dtype, layer.values.dtype) == (np.float64, np.float64)


# ---- refusals: one line each, and they name the file


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_network(path)
    text = str(caught.value)
    assert caught.value.parameter == "file"
    assert "\n" not in text
    assert len(text) < 600
    return text


def with_nan(array: NDArray[Any]) -> NDArray[Any]:
    changed = array.copy()
    changed.flat[0] = np.nan
    return changed


Q3 = np.random.default_rng(6).standard_normal((3, 5, 2))
ONE3 = np.ones(3)
BAD_PLAIN: dict[str, tuple[dict[str, Any], str]] = {
    "nan": ({"Q": with_nan(Q3), "values": ONE3}, "Q: got 'nan or an infinity'"),
    "inf": ({"Q": Q3, "values": np.asarray([1, 1, np.inf])}, "values: got 'nan or an infinity'"),
    "no head": ({"Q": Q3[:0], "values": ONE3[:0]}, "heads: got 0"),
    "rank above d": ({"Q": np.ones((3, 2, 5)), "values": ONE3}, "1 <= r <= m"),
    "one dimension": ({"Q": np.ones((3, 1, 1)), "values": ONE3}, "a whole number from 2"),
    "other K": ({"Q": Q3, "K": Q3[:2], "values": ONE3}, "K: got 'shape (2, 5, 2)'"),
    "other V": ({"Q": Q3, "V": np.ones((3, 5, 4))}, "values: got 'shape (3, 5, 4)'"),
    "ints": ({"Q": np.ones((3, 5, 2), np.int64), "values": ONE3}, "'Q' is of type int64"),
    "complex": ({"Q": Q3 + 0j, "values": ONE3}, "'Q' is of type complex128"),
    "long double": ({"Q": Q3.astype(np.longdouble), "values": ONE3}, "'Q' is of"),
    "strings": ({"Q": Q3, "values": ONE3, "scores": np.asarray(["a", "b"])}, "'scores' is of"),
    "no values": ({"Q": Q3}, "the arrays Q and values"),
    "no Q": ({"K": Q3, "values": ONE3}, "the arrays Q and values"),
    "both": ({"Q": Q3, "V": np.ones((3, 5, 5)), "values": ONE3}, "this one has both"),
    "unknown": ({"Q": Q3, "values": ONE3, "bias": ONE3}, "this one has bias"),
    "scores": ({"Q": Q3, "values": ONE3, "scores": "relu"}, "$.layers[0].scores"),
    "points": ({"Q": Q3, "values": ONE3, "points": 1}, "$.points"),
    "cold": ({"Q": Q3, "values": ONE3, "inverse_temperature": 0.0}, "inverse_temperature"),
    "nan temperature": ({"Q": Q3, "values": ONE3, "inverse_temperature": np.nan}, "inverse-temp"),
    "residual": ({"Q": Q3, "values": ONE3, "residual": 2}, "$.layers[0].residual"),
    "empty": ({}, "the arrays Q and values"),
}


@pytest.mark.parametrize("case", BAD_PLAIN)
def test_plain_heads_that_are_no_heads(tmp_path: Path, case: str) -> None:
    arrays, message = BAD_PLAIN[case]
    np.savez(tmp_path / "bad.npz", **arrays)
    assert message in refusal(tmp_path / "bad.npz")


@pytest.mark.parametrize("dtype", ["int64", "uint8", "bool"])
def test_safetensors_of_other_types(tmp_path: Path, dtype: str) -> None:
    save_file({"Q": np.ones((3, 5, 2), dtype), "values": ONE3}, tmp_path / "a.safetensors")
    assert "not of floats" in refusal(tmp_path / "a.safetensors")


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> Any:
            return (Path.touch, (tmp_path / "sprung",))

    np.savez(tmp_path / "a.npz", Q=np.asarray([Trap()], dtype=object), values=ONE3)
    assert "pickled objects" in refusal(tmp_path / "a.npz")
    for suffix in SUFFIXES:
        (tmp_path / f"b{suffix}").write_bytes(pickle.dumps(Trap()))
        refusal(tmp_path / f"b{suffix}")
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_foreign_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"a{suffix}"
    assert "an existing" in refusal(path)
    path.mkdir()
    assert "an existing" in refusal(path)
    path = tmp_path / f"b{suffix}"
    for content in (b"", b"\0", b"{}", b"PK\x03\x04", b"\x93NUMPY", 100 * b"text\n", 8 * b"\xff"):
        path.write_bytes(content)
        refusal(path)
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        archive.writestr("word/document.xml", "<xml/>")
    assert "is no array" in refusal(tmp_path / "c.npz")
    assert "ends in .npz or .safetensors" in refusal(tmp_path / "heads.pt")
    np.save(tmp_path / "d.npy", Q3)
    (tmp_path / "d.npy").rename(tmp_path / "d.npz")
    refusal(tmp_path / "d.npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_truncated_file_is_refused_wherever_it_ends(tmp_path: Path, suffix: str) -> None:
    write_network(tmp_path / f"a{suffix}", two_layers())
    whole = (tmp_path / f"a{suffix}").read_bytes()
    path = tmp_path / f"b{suffix}"
    for end in [*range(0, len(whole), 97), len(whole) - 1]:
        path.write_bytes(whole[:end])
        refusal(path)


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(SUFFIXES), st.data())
def test_a_damaged_file_is_refused_or_still_a_network(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("damaged")
    write_network(folder / f"a{suffix}", two_layers())
    content = bytearray((folder / f"a{suffix}").read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (folder / f"a{suffix}").write_bytes(content)
    # Nothing but an InputError may come out.
    with suppress(InputError):
        assert read_network(folder / f"a{suffix}").heads >= 1


def npz_with_header(path: Path, shape: str, content: bytes) -> None:
    """A .npz with one head, whose Q announces a shape of the test's choice."""
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    start = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header
    np.savez(path, values=np.ones(1))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("Q.npy", start + content)


@pytest.mark.parametrize(
    "shape", ["(1000000000, 64, 1)", f"({10**30},)", f"({9 * '9' * 500}, 2)", f"({4000 * '9,'})"]
)
def test_sizes_that_the_file_does_not_have(tmp_path: Path, shape: str) -> None:
    npz_with_header(tmp_path / "a.npz", shape, bytes(80))
    refusal(tmp_path / "a.npz")
    header = json.dumps({"Q": {"dtype": "F64", "shape": [10**9, 64], "data_offsets": [0, 80]}})
    (tmp_path / "a.safetensors").write_bytes(
        struct.pack("<Q", len(header)) + header.encode() + bytes(80)
    )
    refusal(tmp_path / "a.safetensors")
    (tmp_path / "a.safetensors").write_bytes(struct.pack("<Q", 2**62) + b"{}")
    refusal(tmp_path / "a.safetensors")


@pytest.mark.parametrize("shape", ["(-1, 5, 2)", "(True, 5, 2)", "'abc'", "(2.5,)", "[3, 5, 2]"])
def test_shapes_that_are_none(tmp_path: Path, shape: str) -> None:
    npz_with_header(tmp_path / "a.npz", shape, bytes(80))
    refusal(tmp_path / "a.npz")


def test_an_array_has_exactly_the_bytes_it_announces(tmp_path: Path) -> None:
    npz_with_header(tmp_path / "a.npz", "(1, 5, 2)", bytes(80))
    assert read_network(tmp_path / "a.npz").d == 5
    for size in (79, 81, 88):
        npz_with_header(tmp_path / "a.npz", "(1, 5, 2)", bytes(size))
        assert "as many bytes as it announces" in refusal(tmp_path / "a.npz")


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_checksums_are_compared(tmp_path: Path, save: Any) -> None:
    save(tmp_path / "a.npz", Q=Q3, values=ONE3)
    content = (tmp_path / "a.npz").read_bytes()
    with zipfile.ZipFile(tmp_path / "a.npz") as archive:
        sums = [struct.pack("<L", member.CRC) for member in archive.infolist()]
    for checksum in sums:
        # Where the directory at the end repeats it.
        at = content.rindex(checksum)
        damaged = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        (tmp_path / "a.npz").write_bytes(damaged)
        assert "CRC" in refusal(tmp_path / "a.npz")


def test_a_small_file_that_unpacks_to_gigabytes(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr("boundcheck.array_files._MOST_UNPACKED", 2**20)
    zeros = np.zeros((3, 2**17, 1))
    np.savez_compressed(tmp_path / "a.npz", Q=zeros, values=ONE3)
    assert "are announced" in refusal(tmp_path / "a.npz")


def test_names_that_occur_twice(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    np.save(buffer, Q3)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("Q.npy", buffer.getvalue())
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("Q.npy", buffer.getvalue())
    assert "occurs twice" in refusal(tmp_path / "a.npz")


HEADER = {
    "boundcheck_format": 1,
    "d": 5,
    "points": 2,
    "positions": False,
    "layers": [{"scores": "hardmax", "inverse_temperature": 1.0, "residual": False}],
}
BAD_HEADERS: dict[str, tuple[dict[str, Any], str]] = {
    "version": (
        {"boundcheck": json.dumps({**HEADER, "boundcheck_format": 2})},
        "boundcheck_format 1, this one has 2",
    ),
    "no version": ({"boundcheck": "{}"}, "$: 'boundcheck_format' is a required property"),
    "no header": ({"boundcheck": None}, "this one has layers.0.Q"),
    "number": ({"boundcheck": 1}, "one string"),
    "not JSON": ({"boundcheck": "{"}, "a header in JSON"),
    "list": ({"boundcheck": "[]"}, "$: "),
    "deep": ({"boundcheck": 100_000 * "["}, "a header in JSON"),
    "nan": ({"boundcheck": json.dumps({**HEADER, "details": {"a": np.nan}})}, "NaN is no JSON"),
    "twice": ({"boundcheck": '{"d": 5, "d": 6}'}, "occurs twice"),
    "d": ({"boundcheck": json.dumps({**HEADER, "d": 1})}, "$.d"),
    "d true": ({"boundcheck": json.dumps({**HEADER, "d": True})}, "$.d"),
    "other d": ({"boundcheck": json.dumps({**HEADER, "d": 6})}, "6 rows"),
    "field": ({"boundcheck": json.dumps({**HEADER, "extra": 1})}, "extra"),
    "no layer": ({"boundcheck": json.dumps({**HEADER, "layers": []})}, "$.layers"),
    "two layers": (
        {"boundcheck": json.dumps({**HEADER, "layers": 2 * HEADER["layers"]})},  # type: ignore[operator]
        "the arrays layers.1.Q",
    ),
    "more arrays": ({"layers.7.Q": Q3}, "this one has layers.7.Q"),
    "statement": ({"boundcheck": json.dumps({**HEADER, "statement": "x\n" * 99})}, "statement"),
    "more options": ({"points": 2}, "one string"),
}


@pytest.mark.parametrize("case", BAD_HEADERS)
def test_headers_that_do_not_fit(tmp_path: Path, case: str) -> None:
    changes, message = BAD_HEADERS[case]
    stored: dict[str, Any] = {
        "boundcheck": json.dumps(HEADER),
        "layers.0.Q": Q3,
        "layers.0.values": ONE3,
    }
    np.savez(tmp_path / "good.npz", **stored)
    assert read_network(tmp_path / "good.npz").d == 5
    stored = {name: value for name, value in {**stored, **changes}.items() if value is not None}
    np.savez(tmp_path / "bad.npz", **stored)
    assert message in refusal(tmp_path / "bad.npz")


# ---- writing


def test_a_refused_write_leaves_nothing_and_spoils_nothing(tmp_path: Path) -> None:
    network = two_layers()
    with pytest.raises(InputError, match=r"output: .*ends in \.npz or \.safetensors"):
        write_network(tmp_path / "heads.pt", network)
    with pytest.raises(InputError, match="output: "):
        write_network(tmp_path / "missing" / "heads.npz", network)
    write_network(tmp_path / "heads.npz", network)
    before = (tmp_path / "heads.npz").read_bytes()
    odd = {"law": float("nan")}, {"law": True}, {"law": [1]}
    for details in odd:
        with pytest.raises(InputError, match="details: "):
            write_network(
                tmp_path / "heads.npz",
                Network(layers=network.layers, d=4, points=2, positions=True, details=details),  # type: ignore[arg-type]
            )
    assert [path.name for path in tmp_path.iterdir()] == ["heads.npz"]
    assert (tmp_path / "heads.npz").read_bytes() == before


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_full_disk_leaves_nothing(tmp_path: Path, suffix: str, monkeypatch: Any) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numpy.lib.format.write_array", full)
    monkeypatch.setattr("safetensors.numpy.save_file", full)
    with pytest.raises(InputError, match="No space left"):
        write_network(tmp_path / f"a{suffix}", two_layers())
    assert list(tmp_path.iterdir()) == []
