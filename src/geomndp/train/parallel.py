"""Data parallelism: the functions of a batch are spread over devices, parameters are copied.

Every device and process derives the same batch from the same key, so that a run gives the same
losses, to rounding, on any number of devices. For several processes call
`jax.distributed.initialize` first (on CPU with `jax_cpu_collectives_implementation` "gloo").
"""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from geomndp._types import Batch

Tree = TypeVar("Tree")


def batch_mesh(batch_size: int, devices=None) -> Mesh | None:
    """One axis over the devices (all of all processes by default); None where there is one."""
    devices = jax.devices() if devices is None else list(devices)
    if batch_size % len(devices):
        raise ValueError(
            f"expected a batch size divisible by {len(devices)} devices, got {batch_size}"
        )
    if len(devices) == 1:
        return None
    return Mesh(np.array(devices), ("batch",), axis_types=(AxisType.Auto,))


def replicate(tree: Tree, mesh: Mesh | None) -> Tree:
    """Put a copy of every array on every device."""
    if mesh is None:
        return tree
    arrays, rest = eqx.partition(tree, eqx.is_array)
    return eqx.combine(jax.device_put(arrays, NamedSharding(mesh, PartitionSpec())), rest)


def spread_batch(batches: Batch, mesh: Mesh | None) -> Batch:
    """Spread the second axis, that of the functions, over the devices."""
    if mesh is None:
        return batches
    return jax.lax.with_sharding_constraint(
        batches, NamedSharding(mesh, PartitionSpec(None, "batch"))
    )
