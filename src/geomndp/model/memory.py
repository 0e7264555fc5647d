"""How much memory a computation may take: half of what is free, unless a bound is given."""

from __future__ import annotations

from typing import Any

from geomndp import _memory, _validation

SHARE = 0.5
UNKNOWN = 4 * 2**30
"""Bytes taken as free where nothing tells."""


def memory_bound(max_memory: int | None, device: Any) -> int:
    """Bytes that one program may take for what it makes."""
    if max_memory is not None:
        _validation.at_least(1, max_memory=max_memory)
        return int(max_memory)
    return int(SHARE * free_memory(device))


def free_memory(device: Any) -> int:
    """Bytes that are free on a device, for the processor those of the machine or container."""
    if device.platform != "cpu":
        found = device.memory_stats() or {}
        if "bytes_limit" in found:
            return max(0, found["bytes_limit"] - found.get("bytes_in_use", 0))
        return UNKNOWN
    known = _memory.free_bytes()
    return UNKNOWN if known is None else known


def too_much(need: int, bound: int, given: bool) -> MemoryError:
    """The error where even the smallest block needs more than the bound."""
    unit = 2**30
    expected = f"memory of at least {need / unit:.3g} GiB for so many points"
    kind = "max_memory" if given else "half of what is free:"
    return MemoryError(f"expected {expected}, got {kind} {bound / unit:.3g} GiB; ask for fewer")
