"""One trainer per folder: a lock that ends with the process which holds it, even if killed."""

from __future__ import annotations

import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

NAME = ".lock"


class FolderInUse(RuntimeError):
    """Another run trains in this folder."""


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Make a folder and hold its lock within the block.

    The file stays when the lock is released: to remove it would let two processes lock two files
    of one name.

    Args:
        folder: The folder of a run.

    Yields:
        Nothing, while the lock is held.

    Raises:
        FolderInUse: If another process holds the lock.
        OSError: If the folder cannot be made.
    """
    path = folder / NAME
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = path.open("ab+", buffering=0)
    except OSError as error:
        raise OSError(f"expected to train in {folder}, got: {error.strerror or error}") from error
    with file:
        _take(file, folder)
        _note(file, f"process {os.getpid()} on {socket.gethostname()} since {_now()}")
        try:
            yield
        finally:
            _note(file, "")


def _take(file: IO[bytes], folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows
        warnings.warn(f"no lock on {folder}: train there with one process only", stacklevel=4)
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        who = file.read().decode(errors="replace").strip() or "another process"
        raise FolderInUse(
            f"expected a folder in which no other run trains, got {folder}, held by {who}"
        ) from None
    except OSError as error:  # a file system without locks
        reason = error.strerror or error
        warnings.warn(f"no lock on {folder} ({reason}): train there once at a time", stacklevel=4)


def _note(file: IO[bytes], text: str) -> None:
    """Say who holds the lock; on a full disk it remains unsaid."""
    with suppress(OSError):
        file.truncate(0)
        file.write(text.encode())


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
