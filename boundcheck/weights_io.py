"""Networks of attention heads in files: .npz without pickle, and .safetensors.

The format is versioned and described in network.schema.json, beside this module.
Heads trained elsewhere need not follow it: see `read_network`.
"""

from __future__ import annotations

import json
import os
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from boundcheck.array_files import ArrayFile, parsed_json, read_arrays, write_arrays
from boundcheck.backend import on_host
from boundcheck.errors import InputError
from boundcheck.layer import Layer
from boundcheck.network import Network

FORMAT = 1

#: The one string of a file: several would be stored in any order in .safetensors.
_HEADER = "boundcheck"

_PLAIN_ARRAYS = {"Q", "K", "V", "values", "matrix"}
_PLAIN_OPTIONS = {"scores", "inverse_temperature", "residual", "points"}


def write_network(path: str | os.PathLike[str], network: Network) -> None:
    """Write the network to path, whole or not at all.

    K is not written where it equals Q, and a shared matrix once beside H
    scalars; reading gives back every bit.

    Parameters
    ----------
    path : path
        Ends in .npz or .safetensors.
    network : Network

    Raises
    ------
    InputError
        If path cannot be written or has another suffix, or a number of
        `details` is not finite.

    Examples
    --------
    >>> import tempfile
    >>> I = np.eye(3)[None]
    >>> full = Network(
    ...     layers=(Layer(Q=I, K=I, values=np.ones(1)),), d=3, points=2, statement="U1"
    ... )
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_network(f"{folder}/heads.npz", full)
    ...     read_network(f"{folder}/heads.npz").statement
    'U1'
    """
    header = {
        "boundcheck_format": FORMAT,
        "d": network.d,
        "points": network.points,
        "positions": network.positions,
        "statement": network.statement,
        "random_heads": network.random_heads,
        "details": dict(network.details),
        "layers": [
            {
                "scores": layer.scores,
                "inverse_temperature": float(layer.inverse_temperature),
                "residual": layer.residual,
            }
            for layer in network.layers
        ],
    }
    try:
        text = json.dumps(header, allow_nan=False)
        _check_header(header)
    except (ValueError, TypeError) as error:
        raise InputError("details", dict(network.details), "finite numbers and strings") from error
    arrays: dict[str, NDArray[Any]] = {}
    for i, layer in enumerate(network.layers):
        for name in ("Q", "K", "values", "matrix"):
            array = getattr(layer, name)
            if array is not None:
                arrays[f"layers.{i}.{name}"] = on_host(array)
        if layer.K is layer.Q or _same_bits(arrays[f"layers.{i}.Q"], arrays[f"layers.{i}.K"]):
            del arrays[f"layers.{i}.K"]
    write_arrays(path, arrays, {_HEADER: text})


def read_network(path: str | os.PathLike[str]) -> Network:
    """The network in a file that `write_network` wrote, or plain heads trained elsewhere.

    Plain heads are one layer, in a .npz or .safetensors file with the arrays

    - Q and K of shape (H, d, r), maps of query and points: the score of point
      x_i is <Q_h^T y, K_h^T x_i>. K may be left out where it equals Q.
    - V of shape (H, d, d), matrices applied as V_h x_i; or `values` of shape
      (H,), scalars, perhaps with one `matrix` of shape (d, d) for all heads.

    and, where they are not the default, the single values (strings in the
    metadata of .safetensors) scores ("softmax"; or "hardmax"),
    inverse_temperature (1), residual (false), points (2). Arrays are floats, all
    are converted to the widest among them, float16 to float32. Nothing is
    unpickled, nothing unknown is passed over.

    Parameters
    ----------
    path : path

    Returns
    -------
    Network
        Of NumPy arrays.

    Raises
    ------
    InputError
        If the file is not such a file, or its heads are not heads.
    """
    found = read_arrays(path)
    try:
        if _HEADER in found.options:
            return _network(found)
        return _plain_network(found)
    except InputError as error:
        raise InputError("file", os.fspath(path), f"heads that fit together ({error})") from error
    except ValueError as error:
        raise InputError("file", os.fspath(path), str(error)) from error


def _network(found: ArrayFile) -> Network:
    text = found.options.pop(_HEADER)
    if not isinstance(text, str) or found.options:
        raise ValueError(f"one string, {_HEADER}, beside the arrays")
    header = _valid_header(text)
    arrays = dict(found.arrays)
    layers = []
    for i, options in enumerate(header["layers"]):
        named = {
            name: arrays.pop(f"layers.{i}.{name}", None) for name in ("Q", "K", "values", "matrix")
        }
        layers.append(_layer(named, options, f"layers.{i}."))
    if arrays:
        raise ValueError(f"the arrays of its layers only, this one has {_shown(min(arrays))}")
    return Network(**{**header, "layers": tuple(layers)})


def _plain_network(found: ArrayFile) -> Network:
    unknown = (set(found.arrays) - _PLAIN_ARRAYS) | (set(found.options) - _PLAIN_OPTIONS)
    if unknown:
        raise ValueError(
            f"{', '.join(sorted(_PLAIN_ARRAYS | _PLAIN_OPTIONS))}, or boundcheck's own format; "
            f"this one has {_shown(min(unknown))}"
        )
    named: dict[str, NDArray[Any] | None] = dict(found.arrays)
    if "V" in named and "values" in named:
        raise ValueError("either V or values, this one has both")
    if "V" in named:
        named["values"] = named.pop("V")
    options: dict[str, Any] = {
        "scores": "softmax",
        "inverse_temperature": 1.0,
        "residual": False,
        "points": 2,
    }
    for name, value in found.options.items():
        options[name] = value
        if name != "scores" and isinstance(value, str):
            options[name] = parsed_json(value)  # metadata has strings only
    points = options.pop("points")
    # d is known from the arrays; the schema checks the rest.
    known = {"boundcheck_format": FORMAT, "d": 2, "positions": False}
    _check_header({**known, "points": points, "layers": [options]})
    widest = np.result_type(*(array for array in named.values() if array is not None), np.float32)
    named = {
        name: None if array is None else array.astype(widest, copy=False)
        for name, array in named.items()
    }
    layer = _layer(named, options, "")
    return Network(layers=(layer,), d=layer.m, points=int(points))


def _layer(named: dict[str, NDArray[Any] | None], options: dict[str, Any], prefix: str) -> Layer:
    Q, K, values = named.get("Q"), named.get("K"), named.get("values")
    if Q is None or values is None:
        raise ValueError(f"a file with the arrays {prefix}Q and {prefix}values (or V)")
    return Layer(Q=Q, K=Q if K is None else K, values=values, matrix=named.get("matrix"), **options)


def _same_bits(A: NDArray[Any], B: NDArray[Any]) -> bool:
    words = f"u{A.dtype.itemsize}"
    return np.array_equal(np.ascontiguousarray(A).view(words), np.ascontiguousarray(B).view(words))


@cache
def _schema() -> Any:
    text = files("boundcheck").joinpath("network.schema.json").read_text(encoding="utf-8")
    return json.loads(text)


def _valid_header(text: str) -> dict[str, Any]:
    try:
        header = parsed_json(text)
    except ValueError as error:
        raise ValueError(f"a header in JSON ({_shown(error)})") from error
    version = header.get("boundcheck_format") if isinstance(header, dict) else None
    if isinstance(version, int) and version != FORMAT:
        raise ValueError(f"boundcheck_format {FORMAT}, this one has {_shown(version)}")
    _check_header(header)
    valid: dict[str, Any] = header
    del valid["boundcheck_format"]
    return valid


def _check_header(header: Any) -> None:
    """Compare a header with the schema; the message names the field."""
    from jsonschema import Draft202012Validator

    error = next(iter(Draft202012Validator(_schema()).iter_errors(header)), None)
    if error is not None:
        raise ValueError(
            f"a header as in network.schema.json: {_shown(error.json_path)}: "
            f"{_shown(error.message)}"
        )


def _shown(given: object) -> str:
    text = ascii(str(given))[1:-1]
    return text if len(text) <= 80 else f"{text[:77]}..."
