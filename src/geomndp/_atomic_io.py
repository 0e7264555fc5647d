"""Files written whole or not at all: under a temporary name beside their own, then renamed.

Who is killed on the way leaves the old file as it was. Plain Python, so that all layers may use it.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a temporary name with the ending of the file's; it is renamed when the block ends well.

    Makes the folder. What cannot be written is refused by an OSError of one sentence.
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
    """Write text or bytes; return the path."""
    with replacing(path) as temporary:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    return Path(path)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Refuse a file that could not be written, before anything is computed; leaves no trace."""
    made = [folder for folder in Path(path).parents if not os.path.lexists(folder)]
    try:
        with contextlib.suppress(_NotNow), replacing(path) as temporary:
            temporary.touch()
            raise _NotNow
    finally:
        for folder in made:  # the innermost first
            with contextlib.suppress(OSError):
                folder.rmdir()


def _flush(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk before anything else happens."""
    if path.is_dir() and os.name != "posix":
        return  # only POSIX opens folders
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


class _NotNow(Exception):
    """Leaves `whole` without a new file."""


def _prepare(path: Path) -> None:
    """Make the folder; refuse what renaming would replace against the will of its owner."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        raise IsADirectoryError(0, "it is a folder")
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(0, "it is read-only")
