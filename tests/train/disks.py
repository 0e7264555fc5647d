"""Small file systems, and how they become full."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def small_disk(folder: Path, size: str = "8m") -> Iterator[None]:
    """Mount a small file system of its own; needs root."""
    folder.mkdir()
    subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)],
        check=True,
        capture_output=True,
    )
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(file) -> None:
    """Write until there is no room."""
    block = bytes(4096)
    try:
        while True:
            file.write(block)
    except OSError:
        return
