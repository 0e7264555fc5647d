"""Rows of a batch over the local devices: samples of one request, or tasks of many."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from geomndp.model._jit import setting

AXIS = "row"


def spread_devices(*arguments: Any) -> list[Any]:
    """Devices over which rows are spread: all local ones, of one platform, where nothing is fixed.

    Args:
        *arguments: What the rows are computed from. Arrays that were put on a device by hand, or
            over several, fix it, as `jax.default_device` does.

    Returns:
        At least one device.
    """
    chosen = setting("jax_default_device")
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
    mesh = Mesh(np.asarray(devices), (AXIS,))
    return jax.device_put(rows, NamedSharding(mesh, PartitionSpec(AXIS)))


def whole_rows(count: int, devices: list[Any]) -> int:
    """The least number of rows, not below `count`, that the number of devices divides."""
    return -(-count // len(devices)) * len(devices)
