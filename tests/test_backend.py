"""The choice of an array library, with CuPy absent, broken, and stood in for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import array_api_strict
import numpy as np
import pytest

from boundcheck import backend
from boundcheck.backend import array_namespace, library_name, namespace_named, on_host
from boundcheck.cli import run
from boundcheck.errors import InputError

NO_DRIVER = """
class cuda:
    class runtime:
        @staticmethod
        def getDeviceCount():
            raise RuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
"""
NO_DEVICE = """
class cuda:
    class runtime:
        getDeviceCount = staticmethod(lambda: 0)
"""
# A device is counted, but nothing can be computed on it.
NO_KERNEL = """
class cuda:
    class runtime:
        getDeviceCount = staticmethod(lambda: 1)
"""
NO_IMPORT = """
raise ImportError('''
================================
Failed to import CuPy.
libcuda.so.1: cannot open shared object file
''')
"""
# NumPy under CuPy's name. It shows that a working device is taken and described and
# that the device's code is sound Python, not that anything runs on a device.
WORKING = """
import sys
import numpy
from numpy import *
from numpy import abs, max, min, round, fft, linalg
__version__ = "14.0.0"
class ndarray(numpy.ndarray):
    pass
class cuda:
    class Device:
        def __init__(self, index): pass
        def __enter__(self): return self
        def __exit__(self, *error): pass
    class runtime:
        getDeviceCount = staticmethod(lambda: 1)
        getDeviceProperties = staticmethod(lambda i: {"name": b"Card", "major": 9, "minor": 0})
        memGetInfo = staticmethod(lambda: (2**30, 2**31))
        runtimeGetVersion = staticmethod(lambda: 12090)
        driverGetVersion = staticmethod(lambda: 13000)
class random:
    Generator = numpy.random.Generator
    @staticmethod
    def Philox4x3210(seed, *, size):
        return numpy.random.Philox(seed)
for name, module in {"cuda": cuda, "cuda.device": cuda, "fft": fft, "linalg": linalg}.items():
    sys.modules["cupy." + name] = module
"""
UNUSABLE = {
    "no driver": NO_DRIVER,
    "no device": NO_DEVICE,
    "no kernel": NO_KERNEL,
    "no import": NO_IMPORT,
}


def python(
    *arguments: str, path: Path | None = None, variable: str | None = None
) -> subprocess.CompletedProcess[str]:
    """A fresh interpreter; ``path`` is searched for modules first."""
    environment = {k: v for k, v in os.environ.items() if k != backend.VARIABLE}
    if variable is not None:
        environment[backend.VARIABLE] = variable
    if path is not None:
        environment["PYTHONPATH"] = str(path)
    return subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def with_cupy(folder: Path, source: str) -> Path:
    (folder / "cupy.py").write_text(source)
    return folder


def without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    # None stops the import as if nothing were installed, on a machine with CuPy too.
    monkeypatch.setitem(sys.modules, "cupy", None)


def test_no_import_loads_cupy_unless_asked_for(tmp_path: Path) -> None:
    path = with_cupy(tmp_path, WORKING)
    script = (
        "import sys, boundcheck\n"
        "assert not {'cupy', 'numpy', 'scipy'} & set(sys.modules), 'import boundcheck'\n"
        "import boundcheck.backend, boundcheck.cli, boundcheck.frames\n"
        "import boundcheck.sampling, boundcheck.targets\n"
        "boundcheck.backend.namespace_named('numpy')\n"
        "boundcheck.sampling.SampleStream(0, 4).take(0, 1)\n"
        "assert 'cupy' not in sys.modules, 'numpy'\n"
        "boundcheck.backend.namespace_named('auto')\n"
        "assert 'cupy' in sys.modules, 'this check sees an import'\n"
    )
    done = python("-c", script, path=path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("fault", UNUSABLE)
def test_cupy_without_device_is_one_quiet_line(tmp_path: Path, fault: str) -> None:
    path = with_cupy(tmp_path, UNUSABLE[fault])
    done = python("-m", "boundcheck", "backend", "--json", path=path)
    assert done.returncode == 0
    assert json.loads(done.stdout)["backend"] == "numpy"
    assert done.stderr.startswith("boundcheck: CuPy is installed")
    assert done.stderr.endswith("; using NumPy\n")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 240


@pytest.mark.parametrize(
    ("name", "arguments", "variable"),
    [("backend", ["--backend", "cupy"], None), (backend.VARIABLE, [], "cupy")],
)
def test_asking_for_cupy_without_device_is_refused(
    tmp_path: Path, name: str, arguments: list[str], variable: str | None
) -> None:
    path = with_cupy(tmp_path, NO_DRIVER)
    done = python("-m", "boundcheck", "backend", *arguments, path=path, variable=variable)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"{name}: got 'cupy', allowed: auto or numpy here, since CuPy is " in done.stderr


def test_the_gpu_script_stops_where_no_device_works(tmp_path: Path) -> None:
    script = Path(__file__).parent / "gpu" / "run.sh"
    environment = {**os.environ, "PYTHONPATH": str(with_cupy(tmp_path, NO_DEVICE))}
    done = subprocess.run(
        [script, sys.executable], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "CuPy is installed but finds no device" in done.stderr


def test_asking_for_numpy_does_not_touch_a_broken_cupy(tmp_path: Path) -> None:
    path = with_cupy(tmp_path, "raise SystemExit('imported')")
    for arguments, variable in ((["--backend", "numpy"], "cupy"), ([], "numpy")):
        done = python("-m", "boundcheck", "backend", *arguments, path=path, variable=variable)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_line_is_said_once(tmp_path: Path) -> None:
    path = with_cupy(tmp_path, NO_DEVICE)
    script = (
        "from boundcheck.backend import namespace_named\nfor _ in range(3): namespace_named('auto')"
    )
    assert python("-c", script, path=path).stderr.count("\n") == 1


def test_a_working_device_is_taken_and_described(tmp_path: Path) -> None:
    path = with_cupy(tmp_path, WORKING)
    for arguments in ([], ["--backend", "cupy"]):
        done = python("-m", "boundcheck", "backend", "--json", *arguments, path=path)
        assert (done.returncode, done.stderr) == (0, "")
        found = json.loads(done.stdout)
        assert found["backend"] == "cupy"
        assert found["versions"]["cupy"] == "14.0.0"
        assert (found["versions"]["cuda_runtime"], found["versions"]["cuda_driver"]) == (
            "12.9",
            "13.0",
        )
        assert found["devices"] == [
            {
                "index": 0,
                "name": "Card",
                "compute_capability": "9.0",
                "memory": 2**31,
                "memory_free": 2**30,
            }
        ]
        assert found["tf32"] is False
    text = python("-m", "boundcheck", "backend", path=path).stdout
    assert "Card, compute capability 9.0, 2.0 GiB memory, 1.0 free" in text


def test_sampling_on_a_device_draws_blocks_from_its_own_stream(tmp_path: Path) -> None:
    script = """
import numpy as np
from boundcheck.backend import namespace_named
from boundcheck.sampling import SampleStream, haar_subspaces
xp, _ = namespace_named("cupy")
stream = SampleStream(5, 6, points=3, dtype="float32")
X, y = stream.take(1000, 1100, xp)
assert X.shape == (100, 3, 6) and y.shape == (100, 6) and X.dtype == np.float32
assert np.abs(X @ X.transpose(0, 2, 1) - np.eye(3)).max() < 1e-6
both = [np.concatenate(part) for part in zip(*stream.chunks(100, 7, first=1000, xp=xp))]
assert (both[0] == X).all() and (both[1] == y).all()
assert not (X == stream.take(1000, 1100)[0]).any(), "the device has its own stream"
assert (haar_subspaces(5, 1030, 6, 2, xp=xp)[:3] == haar_subspaces(5, 3, 6, 2, xp=xp)).all()
"""
    done = python("-c", script, path=with_cupy(tmp_path, WORKING))
    assert done.returncode == 0, done.stderr


def test_without_cupy_auto_is_numpy_and_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_cupy(monkeypatch)
    monkeypatch.delenv(backend.VARIABLE, raising=False)
    for name in (None, "auto"):
        xp, reason = namespace_named(name)
        assert (library_name(xp), reason) == ("numpy", "CuPy is not installed")
    assert capsys.readouterr().err == ""
    with pytest.raises(InputError, match="since CuPy is not installed"):
        namespace_named("cupy")


def test_the_variable_decides_where_nothing_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_cupy(monkeypatch)
    monkeypatch.setenv(backend.VARIABLE, "numpy")
    assert namespace_named().reason == "NumPy was asked for"
    assert namespace_named("auto").reason == "CuPy is not installed"
    monkeypatch.setenv(backend.VARIABLE, "")
    assert namespace_named().reason == "CuPy is not installed"
    monkeypatch.setenv(backend.VARIABLE, "torch")
    assert run(["backend"]) == 2
    refused = f"boundcheck: {backend.VARIABLE}: got 'torch', allowed: auto, numpy, cupy\n"
    assert capsys.readouterr().err == refused
    assert run(["backend", "--backend", "jax"]) == 2
    assert "backend: got 'jax'" in capsys.readouterr().err


def test_backend_command_says_what_is_used_and_why(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_cupy(monkeypatch)
    monkeypatch.setenv(backend.VARIABLE, "auto")
    assert run(["backend", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["backend"] == "numpy"
    assert found["reason"] == "CuPy is not installed"
    assert (found["requested"], found["source"]) == ("auto", backend.VARIABLE)
    assert found["versions"]["numpy"] == np.__version__
    assert found["devices"] == []
    assert run(["backend", "--backend", "numpy"]) == 0
    out = capsys.readouterr().out
    assert "numpy (NumPy was asked for)" in out
    assert "numpy (--backend)" in out


def test_arrays_decide_the_library() -> None:
    host, strict = np.zeros(2), array_api_strict.zeros(2)
    assert library_name(array_namespace(host, 1, None, 2.0)) == "numpy"
    assert array_namespace(strict, None) is array_api_strict


@pytest.mark.parametrize("other", [np.zeros(2), np.float64(1)])
def test_mixed_arrays_are_refused_with_both_names(other: object) -> None:
    with pytest.raises(InputError, match="'numpy and array_api_strict'"):
        array_namespace(other, array_api_strict.zeros(2), 1.0)


def test_what_is_no_array_is_refused() -> None:
    with pytest.raises(InputError, match="got 'list'"):
        array_namespace(np.zeros(2), [1.0])
    with pytest.raises(InputError, match="got 'no array'"):
        array_namespace(1.0, None)


def test_arrays_come_back_to_the_host() -> None:
    values = np.asarray([[1.0, 2.0]], dtype=np.float32)
    back = on_host(array_api_strict.asarray(values))
    assert type(back) is np.ndarray
    assert back.dtype == np.float32
    assert (back == values).all()
