"""Sizes of computations: transfers, rows over devices, padding to few shapes, free memory.

JAX is not imported before a transfer.
"""

from __future__ import annotations

import math
import os
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from geomndp import _validation

if TYPE_CHECKING:
    import jax


def put(value: Any, dtype: Any = None) -> jax.Array:
    """Array of JAX with NumPy's numbers; `jnp.asarray` would compile a program for a new shape."""
    import jax

    return jax.device_put(np.asarray(value, dtype))


def spread_devices(*arguments: Any) -> list[Any]:
    """Devices over which rows are spread: all local ones, of one platform, where nothing is fixed.

    Args:
        *arguments: What the rows are computed from. Arrays that were put on a device by hand, or
            over several, fix it, as `jax.default_device` does.

    Returns:
        At least one device.
    """
    import jax

    chosen = jax.config.jax_default_device  # pyright: ignore[reportAttributeAccessIssue]
    if chosen is not None:
        return [chosen]
    arrays = [leaf for leaf in jax.tree.leaves(arguments) if isinstance(leaf, jax.Array)]
    fixed = [array for array in arrays if getattr(array, "committed", False)]
    if fixed:
        return [next(iter(fixed[0].devices()))]
    return jax.local_devices()


def spread_rows(rows: Any, devices: list[Any]) -> Any:
    """Arrays with their first axis over the devices, whose number divides it.

    Args:
        rows: Arrays of NumPy, or trees of them, that share their first axis.
        devices: Devices; one leaves the rows as they are.
    """
    if len(devices) == 1:
        return rows
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    mesh = Mesh(np.asarray(devices), ("row",))
    return jax.device_put(rows, NamedSharding(mesh, PartitionSpec("row")))


def whole_rows(count: int, devices: list[Any]) -> int:
    """The least number of rows, not below `count`, that the number of devices divides."""
    return -(-count // len(devices)) * len(devices)


def keep_float64(*arrays: Any) -> AbstractContextManager[Any]:
    """Context in which JAX does not round float64 of these arrays, whatever its mode."""
    import jax

    wide = any(array.dtype == np.float64 for array in arrays)
    return jax.enable_x64(True) if wide else nullcontext()


MANY = 32
"""Points from which on there are more sizes: padding costs more there than a compilation."""


def bucket(n: int) -> int:
    """Padded size: the smallest of 0, 1, 2, 3, 4, 6, 8, 12, ..., 24, 32, 40, 48, ... that holds n.

    Two sizes per doubling up to 32, at most a third of which is padding; four above, at most a
    fifth. Up to n > 32 there are about 4 log2(n) - 10 sizes.
    """
    if n <= 4:
        return n
    step = _step((n - 1).bit_length() - 1)
    return -(-n // step) * step


def bucket_below(n: int) -> int:
    """Largest of the same sizes that is at most n."""
    if n <= 4:
        return n
    step = _step(n.bit_length() - 1)
    return n // step * step


LENGTHS = 16
"""Sizes of boxes per doubling: a program serves one."""


def bucket_length(length: float) -> float:
    """A positive length, rounded up to one of `LENGTHS` per doubling."""
    mantissa, exponent = math.frexp(length * (1 + 1e-5))
    return math.ldexp(math.ceil(2 * LENGTHS * mantissa) / (2 * LENGTHS), exponent)


def _step(exponent: int) -> int:
    """Distance between the sizes from 2^exponent to twice that."""
    power = 1 << exponent
    return power // (4 if power >= MANY else 2)


def pad_rows(values: Any, size: int) -> jax.Array:
    """Repeat the last row, so that values on a manifold stay on it.

    Args:
        values: Concrete array (n, ...).
        size: Number of rows, at least n.

    Returns:
        Array (size, ...).
    """
    if len(values) == size:
        return values
    rows = np.minimum(np.arange(size), len(values) - 1)
    return put(np.asarray(values)[rows])


def pad_mask(mask: Any, n: int, size: int, dtype: Any) -> jax.Array:
    """Mask of n points and padding.

    There is one also where nothing is padded: a full bucket takes the program of the others.

    Args:
        mask: Mask (n,) or (n, g) of the points, or None.
        n: Number of points.
        size: Number of rows, at least n.
        dtype: Floating-point type.

    Returns:
        Mask (size,) or (size, g).
    """
    padded = np.zeros((size, *np.shape(mask)[1:]), dtype=dtype)
    padded[:n] = 1.0 if mask is None else np.asarray(mask)
    return put(padded)


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


CHUNK_MEMORY = 8 * 2**30
"""Bytes of an accelerator for which chunks of a computation are as large as on a processor."""


def chunk_scale() -> int:
    """How many times as large as on a processor the chunks of a computation may be, at least 1.

    A chunk that stays in a processor's caches does not keep an accelerator busy.
    """
    import jax

    device = jax.config.jax_default_device or jax.local_devices()[0]  # pyright: ignore[reportAttributeAccessIssue]
    if getattr(device, "platform", device) == "cpu":
        return 1
    stats = (device.memory_stats() if hasattr(device, "memory_stats") else None) or {}
    return max(1, stats.get("bytes_limit", 0) // CHUNK_MEMORY)


def too_much(need: int, bound: int, by_user: bool) -> MemoryError:
    """The error where even the smallest block needs more than the bound."""
    unit = 2**30
    expected = f"memory of at least {need / unit:.3g} GiB for so many points"
    source = "max_memory" if by_user else "half of what is free:"
    got = f"got {source} {bound / unit:.3g} GiB"
    return MemoryError(f'expected {expected}, {got}; ask for fewer, or for patches="auto"')
