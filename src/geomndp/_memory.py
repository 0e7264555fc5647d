"""Bytes of memory that are free; plain Python, so that all layers may use it."""

from __future__ import annotations

import os
from pathlib import Path


def free_bytes() -> int | None:
    """What is free on the machine or left to the container; None where nothing tells."""
    known = [value for value in (_available(), _left_in_container()) if value is not None]
    return min(known) if known else None


def _available() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = {name: int(rest.split()[0]) for name, rest in (line.split(":") for line in lines)}
        return 1024 * sizes["MemAvailable"]
    except (OSError, ValueError, KeyError):
        pass
    try:  # all that the machine has
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def _left_in_container() -> int | None:
    try:
        folder = Path("/sys/fs/cgroup")
        limit, used = (
            int((folder / name).read_text(encoding="ascii"))
            for name in ("memory.max", "memory.current")
        )
    except (OSError, ValueError):  # "max" is no number: no limit
        return None
    return max(0, limit - used + _reclaimable(folder))


def _reclaimable(folder: Path) -> int:
    """Bytes of files that are kept in memory only as long as nobody needs it."""
    try:
        lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    except (OSError, ValueError, StopIteration):
        return 0
