"""Which array library computes: NumPy, or CuPy where a CUDA device works.

There is no global switch. A command chooses once with `namespace_named`; from
there on the arrays carry the choice, and `array_namespace` reads it off them.
CuPy is imported only where it is asked for or may be chosen.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias

import array_api_compat
import numpy as np
from numpy.typing import NDArray

from boundcheck.errors import InputError

#: An array of any library that follows the array API standard.
Array: TypeAlias = Any

BACKENDS = ("auto", "numpy", "cupy")
#: The environment variable that holds the choice where none is given.
VARIABLE = "BOUNDCHECK_BACKEND"

_SCALARS = (bool, int, float, complex, type(None))


class Backend(NamedTuple):
    """The array library to use, and one line that says why."""

    xp: ModuleType
    reason: str


@dataclass(frozen=True, slots=True)
class Device:
    """One CUDA device; memory in bytes, as its driver counts it."""

    index: int
    name: str
    compute_capability: str
    memory: int
    memory_free: int


def array_namespace(*arrays: Array) -> ModuleType:
    """The library all these arrays belong to; Python numbers and None belong to any.

    Raises
    ------
    InputError
        If they come from several libraries (it names them all), or if
        something is no array.

    Examples
    --------
    >>> library_name(array_namespace(np.zeros(2), 1.0))
    'numpy'
    """
    try:
        return array_api_compat.array_namespace(*arrays)
    except TypeError:
        names = dict.fromkeys(_name_of_library(a) for a in arrays if type(a) not in _SCALARS)
        raise InputError(
            "arrays", " and ".join(names) or "no array", "arrays of one library; convert the others"
        ) from None


def _name_of_library(array: Array) -> str:
    try:
        return library_name(array_api_compat.array_namespace(array))
    except TypeError:
        raise InputError(
            "arrays", type(array).__name__, "arrays that follow the array API, such as NumPy's"
        ) from None


def library_name(xp: ModuleType) -> str:
    """The plain name of an array library: "numpy", "cupy", "array_api_strict".

    Examples
    --------
    >>> library_name(np)
    'numpy'
    """
    return xp.__name__.removeprefix("array_api_compat.")


def is_cupy(xp: ModuleType) -> bool:
    """Whether xp is CuPy; does not import it."""
    return library_name(xp) == "cupy"


def on_host(array: Array) -> NDArray[Any]:
    """The array as a NumPy array, copied from the device where it is on one.

    Examples
    --------
    >>> on_host(np.asarray([1.0, 2.0]))
    array([1., 2.])
    """
    if array_api_compat.is_cupy_array(array):
        array = array.get()
    return np.asarray(array)


def namespace_named(name: str | None = None) -> Backend:
    """The array library of that name, ready to use.

    Parameters
    ----------
    name : {"auto", "numpy", "cupy"}, optional
        "auto" takes CuPy where a device works, else NumPy; if CuPy is
        installed and no device works, one line on standard error says so.
        Without a name the environment variable BOUNDCHECK_BACKEND decides,
        and "auto" where it is unset or empty.

    Returns
    -------
    Backend
        The namespace (of array-api-compat) and the reason for it.

    Raises
    ------
    InputError
        For another name, and for "cupy" where CuPy or its device does not work.

    Examples
    --------
    >>> xp, reason = namespace_named("numpy")
    >>> library_name(xp), reason
    ('numpy', 'NumPy was asked for')
    """
    parameter = "backend"
    if name is None:
        name = os.environ.get(VARIABLE) or "auto"
        parameter = VARIABLE
    if name not in BACKENDS:
        raise InputError(parameter, name, ", ".join(BACKENDS))
    if name == "numpy":
        return Backend(_numpy(), "NumPy was asked for")
    cupy = _cupy()
    if name == "cupy":
        if cupy.xp is None:
            raise InputError(parameter, name, f"auto or numpy here, since {cupy.found}")
        return Backend(cupy.xp, f"CuPy was asked for; {cupy.found}")
    if cupy.xp is not None:
        return Backend(cupy.xp, cupy.found)
    if cupy.installed:
        _say_once(f"boundcheck: {cupy.found}; using NumPy")
    return Backend(_numpy(), cupy.found)


def _numpy() -> ModuleType:
    return import_module("array_api_compat.numpy")


class _CuPy(NamedTuple):
    """CuPy's namespace if it computes on a device, and what was found."""

    xp: ModuleType | None
    found: str
    installed: bool = True


def _cupy() -> _CuPy:
    # What is broken shows in many ways, with no exception in common: at the import
    # (another NumPy, a missing library), at the first call (no driver) or only when
    # the first kernel is compiled and run (no compiler library, too old a device).
    try:
        cupy = import_module("cupy")
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and error.name == "cupy":
            return _CuPy(None, "CuPy is not installed", installed=False)
        return _CuPy(None, f"CuPy is installed but cannot be imported ({_brief(error)})")
    try:
        count = int(cupy.cuda.runtime.getDeviceCount())
        if count < 1:
            return _CuPy(None, "CuPy is installed but finds no device")
        xp = import_module("array_api_compat.cupy")
        ones = xp.ones((2, 2), dtype=xp.float32)
        if float(xp.sum(xp.matmul(ones, ones))) != 8.0:
            return _CuPy(None, "CuPy is installed but its device computes wrongly")
    except Exception as error:
        return _CuPy(None, f"CuPy is installed but no device works ({_brief(error)})")
    return _CuPy(xp, f"CuPy works on a device ({count} found)")


def _brief(error: Exception) -> str:
    """The error's first line, short enough to stand inside another."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip(" =\t")]
    text = lines[0] if lines else type(error).__name__
    return text if len(text) <= 120 else f"{text[:117]}..."


@cache
def _say_once(line: str) -> None:
    # A loop in a notebook may choose a backend a thousand times.
    print(line, file=sys.stderr)


def devices() -> list[Device]:
    """The CUDA devices CuPy sees; call it only where CuPy works."""
    cupy = import_module("cupy")
    runtime = cupy.cuda.runtime
    found = []
    for i in range(runtime.getDeviceCount()):
        properties = runtime.getDeviceProperties(i)
        with cupy.cuda.Device(i):
            free, total = runtime.memGetInfo()
        name = properties["name"]
        found.append(
            Device(
                index=i,
                name=name.decode() if isinstance(name, bytes) else str(name),
                compute_capability=f"{properties['major']}.{properties['minor']}",
                memory=int(total),
                memory_free=int(free),
            )
        )
    return found


def versions(xp: ModuleType) -> dict[str, str | None]:
    """What computes: NumPy, array-api-compat, and CuPy with CUDA where it is used.

    Examples
    --------
    >>> versions(np)["cupy"] is None
    True
    """
    found: dict[str, str | None] = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": np.__version__,
        "array-api-compat": array_api_compat.__version__,
        "cupy": None,
        "cuda_runtime": None,
        "cuda_driver": None,
    }
    if is_cupy(xp):
        cupy = import_module("cupy")
        runtime = cupy.cuda.runtime
        found["cupy"] = str(cupy.__version__)
        found["cuda_runtime"] = _cuda_version(runtime.runtimeGetVersion())
        found["cuda_driver"] = _cuda_version(runtime.driverGetVersion())
    return found


def _cuda_version(number: int) -> str:
    """12090 is CUDA 12.9."""
    return f"{number // 1000}.{number % 1000 // 10}"
