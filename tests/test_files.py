"""Output files: whole or not there, with the permissions any other file gets."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from boundcheck.errors import InputError
from boundcheck.files import atomic_path, atomic_write, writable_path


@pytest.fixture
def umask() -> Iterator[int]:
    """A umask that differs from mkstemp's 0600."""
    before = os.umask(0o027)
    yield 0o027
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("data", [b"\x00\xff\r\n", "ε ≤ 1/2\n", ""])
def test_writes_exactly_the_data(tmp_path: Path, data: bytes | str) -> None:
    path = tmp_path / "out.bin"
    atomic_write(path, data)
    assert path.read_bytes() == (data if isinstance(data, bytes) else data.encode("utf-8"))
    assert list(tmp_path.iterdir()) == [path]


def test_accepts_a_relative_text_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    atomic_write("out.txt", "x")
    assert (tmp_path / "out.txt").read_text() == "x"


def test_replaces_a_file_only_when_all_is_written(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    with atomic_path(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
        assert temporary.parent == path.parent
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("old", [None, "old"])
def test_an_exception_leaves_what_was_there(
    tmp_path: Path, error: type[BaseException], old: str | None
) -> None:
    path = tmp_path / "out.txt"
    if old is not None:
        path.write_text(old)
    before = {p: p.read_text() for p in tmp_path.iterdir()}

    def write_half() -> None:
        with atomic_path(path) as temporary:
            temporary.write_text("half of i")
            raise error

    with pytest.raises(error):
        write_half()
    assert {p: p.read_text() for p in tmp_path.iterdir()} == before


def test_a_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def disk_full(path: Path, data: bytes) -> int:
        with path.open("wb") as file:
            file.write(data[:3])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", disk_full)
    with pytest.raises(InputError, match="No space left on device"):
        atomic_write(tmp_path / "out.txt", "data")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", ["", ".png", ".pdf"])
def test_the_temporary_name_has_the_suffix(tmp_path: Path, suffix: str) -> None:
    with atomic_path(tmp_path / f"figure{suffix}") as temporary:
        assert temporary.suffix == suffix


def test_a_new_file_gets_the_permissions_of_the_umask(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "out.txt"
    atomic_write(path, "x")
    assert mode(path) == 0o666 & ~umask


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path, umask: int) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old")
    path.chmod(0o604)
    atomic_write(path, "new")
    assert mode(path) == 0o604


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "out.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    atomic_write(link, "x")
    assert link.is_symlink()
    assert target.read_text() == "x"


def refused(path: Path | str, folder: Path) -> str:
    """The one-line message with which each way of writing refuses path."""
    before = sorted(folder.rglob("*"))
    messages = set()
    for write in (writable_path, lambda p: atomic_write(p, "x")):
        with pytest.raises(InputError) as caught:
            write(path)
        assert caught.value.parameter == "output"
        messages.add(str(caught.value))
    with pytest.raises(InputError), atomic_path(path):
        pytest.fail("the block must not start")
    assert sorted(folder.rglob("*")) == before
    assert len(messages) == 1
    message = messages.pop()
    assert "\n" not in message
    assert "a file path in an existing, writable folder" in message
    return message


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no" / "x"
    assert repr(str(path))[:40] in refused(path, tmp_path)


@pytest.mark.parametrize(
    "name", ["", ".", "folder", "folder/", "new/", "a\0b", "file/x", "n" * 300]
)
def test_paths_that_cannot_be_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    assert refused(name, tmp_path)


def test_a_pipe_or_device_is_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert refused(pipe, tmp_path)
    assert pipe.is_fifo()


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs /proc")
def test_a_folder_where_not_even_root_may_write(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="writable folder"):
        atomic_write("/proc/boundcheck.txt", "x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
@pytest.mark.parametrize("protected", ["folder", "file"])
def test_write_protection_is_respected(tmp_path: Path, protected: str) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    path = folder / "out.txt"
    path.write_text("old")
    (folder if protected == "folder" else path).chmod(0o500)
    try:
        assert refused(path, tmp_path)
        assert path.read_text() == "old"
    finally:
        folder.chmod(0o700)


def test_an_interrupted_process_leaves_nothing(tmp_path: Path) -> None:
    program = (
        "import signal, sys, time\n"
        "from boundcheck.files import atomic_path\n"
        # A parent in the background of a shell passes on that interrupts are ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "with atomic_path(sys.argv[1]) as temporary:\n"
        "    temporary.write_text('half')\n"
        "    print('started', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "out.txt")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        assert len(list(tmp_path.iterdir())) == 1
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    assert process.returncode != 0
    assert list(tmp_path.iterdir()) == []
