"""Atomic file writes: to a temporary name in the same folder, then renamed.

A process that is killed while writing leaves the old file as it was. Plain Python.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Context manager: a temporary path that replaces the file when the block succeeds.

    The folder is made if needed, and the temporary name has the suffix of the file's.

    Args:
        path: The file to write or replace.

    Raises:
        OSError: With one sentence, if the file cannot be written.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.stem}.{os.getpid()}-{secrets.token_hex(4)}{path.suffix}")
    try:
        _prepare(path)
        yield temporary
        _flush(temporary)
        temporary.replace(path)
        _flush(path.parent)
    except OSError as error:
        reason = " ".join((error.strerror or str(error)).split())
        raise OSError(f"expected to write {path}, got: {reason}") from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def write(path: str | os.PathLike[str], content: str | bytes) -> Path:
    """Write text or bytes atomically; return the path."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise OSError unless the file could be written; leaves no trace."""
    missing = [folder for folder in Path(path).parents if not os.path.lexists(folder)]
    try:
        with contextlib.suppress(_NotNow), replacing(path) as temporary:
            temporary.touch()
            raise _NotNow
    finally:
        for folder in missing:  # the innermost first
            with contextlib.suppress(OSError):
                folder.rmdir()


def _flush(path: Path) -> None:
    """Flush a file, or the entries of a folder, to the disk."""
    if path.is_dir() and os.name != "posix":
        return  # only POSIX opens folders
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class _NotNow(Exception):
    """Leaves `replacing` without a new file."""


def _prepare(path: Path) -> None:
    """Make the folder; raise OSError if the path is a folder or a read-only file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(0, "it is a folder")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(0, "it is read-only")
