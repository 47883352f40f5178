"""Named float arrays with strings in .npz and .safetensors files, read with suspicion.

Nothing in a file is executed, and no memory is reserved on a header's word: sizes are
compared with the bytes that are there before an array is read.
"""

from __future__ import annotations

import json
import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from boundcheck.errors import InputError
from boundcheck.files import atomic_path

SUFFIXES = (".npz", ".safetensors")
#: A compressed file may announce this much, or this many times its own size.
_MOST_UNPACKED = 2**30
_MOST_RATIO = 10
#: Characters of a string.
_MOST_TEXT = 2**20

_LENGTH_OF_HEADER = {(1, 0): "<H", (2, 0): "<I"}
_MOST_HEADER = 4096
#: NumPy itself evaluates the header as Python's literals; only these reach it.
_NPY_HEADER = re.compile(
    r"\{'descr': '(?P<descr>[<>|=][A-Za-z]\d{0,9})', 'fortran_order': (True|False), "
    r"'shape': \((?P<shape>(\d{1,19}, ?)*(\d{1,19})?)\), \}\s*",
    re.ASCII,
)

_BROKEN = (
    OSError,
    EOFError,
    ValueError,  # also UnicodeDecodeError
    KeyError,
    TypeError,
    RuntimeError,  # also NotImplementedError: encrypted, or an unknown compression
    OverflowError,
    MemoryError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """What a file holds: arrays of floats, and single strings, numbers and truth values."""

    arrays: dict[str, NDArray[Any]]
    options: dict[str, str | int | float | bool]


def write_arrays(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], options: Mapping[str, str]
) -> None:
    """Write arrays and strings, in the format of the suffix; the same input, the same bytes.

    Raises
    ------
    InputError
        If the suffix is neither .npz nor .safetensors, or path cannot be written.
    """
    suffix = _suffix(path, "output")
    with atomic_path(path) as temporary:
        try:
            if suffix == ".npz":
                _write_npz(temporary, arrays, options)
            else:
                from safetensors.numpy import save_file

                whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
                save_file(whole, temporary, metadata=dict(options))
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError("output", os.fspath(path), f"a path with room ({reason})") from error


def read_arrays(path: str | os.PathLike[str]) -> ArrayFile:
    """The arrays and options of a .npz or .safetensors file.

    Arrays of float16 come as float32; other floats in native byte order.

    Raises
    ------
    InputError
        If the file is missing, truncated, of another kind, or holds anything but
        floats beside single strings, numbers and truth values.
    """
    suffix = _suffix(path, "file")
    given = os.fspath(path)
    try:
        if not Path(given).is_file():
            raise InputError("file", given, "an existing .npz or .safetensors file")
        return _read_npz(given) if suffix == ".npz" else _read_safetensors(given)
    except InputError:
        raise
    except _BROKEN as error:
        raise InputError(
            "file", given, f"a whole {suffix} file of arrays ({_brief(error)})"
        ) from error


def _suffix(path: str | os.PathLike[str], parameter: str) -> str:
    suffix = Path(os.fspath(path)).suffix
    if suffix not in SUFFIXES:
        raise InputError(parameter, os.fspath(path), "a name that ends in .npz or .safetensors")
    return suffix


def _brief(error: BaseException) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    printable = "".join(c if c.isprintable() else "?" for c in text)
    return printable if len(printable) <= 100 else f"{printable[:97]}..."


def _write_npz(path: Path, arrays: Mapping[str, NDArray[Any]], options: Mapping[str, str]) -> None:
    texts = {name: np.asarray(text) for name, text in options.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, array in {**texts, **arrays}.items():
            # Without a time, so that equal arrays make equal files.
            member = zipfile.ZipInfo(f"{name}.npy")
            with archive.open(member, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)


def _read_npz(path: str) -> ArrayFile:
    most = max(_MOST_UNPACKED, _MOST_RATIO * Path(path).stat().st_size)
    found = ArrayFile({}, {})
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if len({member.filename for member in members}) < len(members):
            raise ValueError("a name occurs twice")
        if sum(member.file_size for member in members) > most:
            raise ValueError(f"more than {most} bytes are announced")
        for member in members:
            if not member.filename.endswith(".npy"):
                raise ValueError(f"{member.filename!r} is no array")
            with archive.open(member) as stream:
                _add(found, member.filename.removesuffix(".npy"), _read_npy(stream, member))
    return found


def _read_npy(stream: IO[bytes], member: zipfile.ZipInfo) -> NDArray[Any]:
    version = np.lib.format.read_magic(stream)
    if version not in _LENGTH_OF_HEADER:
        raise ValueError(f"{member.filename!r} has npy version {version}")
    length = struct.Struct(_LENGTH_OF_HEADER[version])
    (count,) = length.unpack(stream.read(length.size))
    header = _NPY_HEADER.fullmatch(stream.read(min(count, _MOST_HEADER)).decode("latin1"))
    if header is None:
        raise ValueError(f"{member.filename!r} has a header that no single array has")
    dtype = np.dtype(header["descr"])
    if dtype.hasobject:
        raise ValueError(f"{member.filename!r} holds pickled objects")
    size = math.prod(int(n) for n in header["shape"].split(",") if n.strip()) * dtype.itemsize
    if stream.tell() + size != member.file_size:
        raise ValueError(f"{member.filename!r} does not have as many bytes as it announces")
    # Read from the start, by NumPy's own reader, which never unpickles here.
    stream.seek(0)
    array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _read_safetensors(path: str) -> ArrayFile:
    from safetensors import SafetensorError, safe_open

    found = ArrayFile({}, {})
    try:
        with safe_open(path, framework="numpy") as stored:
            for name, text in (stored.metadata() or {}).items():
                if name != "format":  # which library wrote it
                    found.options[name] = _short(name, text)
            for name in stored.keys():  # noqa: SIM118
                kind = stored.get_slice(name).get_dtype()
                if kind not in {"F16", "F32", "F64"}:
                    raise ValueError(f"{name!r} is of type {kind}, not of floats")
                _add(found, name, stored.get_tensor(name))
    except SafetensorError as error:
        raise ValueError(_brief(error)) from error
    return found


def _short(name: str, text: str) -> str:
    if len(text) > _MOST_TEXT:
        raise ValueError(f"{name!r} has {len(text)} characters")
    return text


def _add(found: ArrayFile, name: str, array: NDArray[Any]) -> None:
    kind = array.dtype.kind
    if kind == "f":
        if array.dtype.itemsize not in (2, 4, 8):
            raise ValueError(f"{name!r} is of {array.dtype}, allowed: float32 and float64")
        native = np.dtype(f"f{max(4, array.dtype.itemsize)}")
        floats = np.ascontiguousarray(array, dtype=native).reshape(array.shape)
        if array.ndim == 0:
            found.options[name] = float(floats)
        else:
            found.arrays[name] = floats
    elif array.ndim == 0 and kind in "Uiub":
        value = array.item()
        found.options[name] = _short(name, value) if isinstance(value, str) else value
    else:
        raise ValueError(f"{name!r} is of type {array.dtype}, not of floats")


def parsed_json(text: str) -> Any:
    """The JSON value in text; nan, infinities and names that occur twice are refused.

    Raises
    ------
    ValueError
        If text is anything else.
    """

    def refused(constant: str) -> None:
        raise ValueError(f"{constant} is no JSON")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise ValueError("a name occurs twice")
        return dict(pairs)

    try:
        return json.loads(text, parse_constant=refused, object_pairs_hook=once)
    except RecursionError:
        raise ValueError("JSON nested too deeply") from None
