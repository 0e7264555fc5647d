"""Free memory, and how much of it one computation may take. Plain Python."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from geomndp import _validation

SHARE = 0.5
"""Share of the free memory that one program may take."""
UNKNOWN = 4 * 2**30
"""Bytes taken as free where the true number is unknown."""


def free_bytes() -> int | None:
    """Bytes free on the machine, or left to the container; None where unknown."""
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
    """Bytes of cached files, which the system gives up on demand."""
    try:
        lines = (folder / "memory.stat").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("inactive_file "))
    except (OSError, ValueError, StopIteration):
        return 0


def memory_bound(max_memory: int | None, device: Any) -> int:
    """Bytes that one program may take for its results."""
    if max_memory is not None:
        _validation.at_least(1, max_memory=max_memory)
        return int(max_memory)
    return int(SHARE * free_memory(device))


def free_memory(device: Any) -> int:
    """Bytes free on a device; for the processor, on the machine or in the container."""
    if device.platform != "cpu":
        stats = device.memory_stats() or {}
        if "bytes_limit" in stats:
            return max(0, stats["bytes_limit"] - stats.get("bytes_in_use", 0))
        return UNKNOWN
    known = free_bytes()
    return UNKNOWN if known is None else known


def too_much(need: int, bound: int, by_user: bool) -> MemoryError:
    """The error where even the smallest block needs more than the bound."""
    unit = 2**30
    expected = f"memory of at least {need / unit:.3g} GiB for so many points"
    source = "max_memory" if by_user else "half of what is free:"
    return MemoryError(f"expected {expected}, got {source} {bound / unit:.3g} GiB; ask for fewer")
