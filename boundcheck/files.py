"""Output files that are either whole or not there."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from boundcheck.errors import InputError

_ALLOWED = "a file path in an existing, writable folder"


def atomic_write(path: str | os.PathLike[str], data: bytes | str) -> None:
    r"""Write data (text as UTF-8) to path, all of it or nothing.

    Raises
    ------
    InputError
        If path cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     atomic_write(Path(folder, "table.csv"), "d,r\n64,4\n")
    ...     os.listdir(folder)
    ['table.csv']
    """
    raw = data.encode() if isinstance(data, str) else data
    with atomic_path(path) as temporary, _refusal_of(path):
        temporary.write_bytes(raw)


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside path that takes its name when the block ends well.

    It has the suffix of path, so a writer that chooses its format by suffix
    can use it. If the block raises anything, the temporary file is removed and
    whatever was at path stays.

    Raises
    ------
    InputError
        If path cannot be written; before the block starts wherever that can
        be known.
    """
    target = writable_path(path)
    temporary = target.with_name(f".boundcheck-{secrets.token_hex(8)}{target.suffix}")
    try:
        with _refusal_of(path):
            # Mode 0666 leaves the permissions to the umask, as open() does.
            os.close(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            if target.exists():
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
        yield temporary
        with _refusal_of(path):
            temporary.replace(target)
    finally:
        with suppress(OSError):
            temporary.unlink()


def writable_path(path: str | os.PathLike[str]) -> Path:
    """The absolute path that a file written to path gets, links followed.

    Call it before long work whose result goes to path.

    Raises
    ------
    InputError
        If path is a folder or a device, or is write-protected, or its folder
        is missing or write-protected.
    """
    given = os.fspath(path)
    with _refusal_of(path):
        # A file that is renamed onto a link would replace the link.
        target = Path(os.path.realpath(given))
        exists = target.exists()
        usable = (
            bool(given)
            and not given.endswith(os.sep)
            and (target.is_file() or not exists)
            and (os.access(target, os.W_OK) or not exists)
            and target.parent.is_dir()
            and os.access(target.parent, os.W_OK | os.X_OK)
        )
    if not usable:
        raise InputError("output", given, _ALLOWED)
    return target


@contextmanager
def _refusal_of(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the system's refusal inside the block into an InputError."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a null character
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise InputError("output", os.fspath(path), f"{_ALLOWED} ({reason})") from error
