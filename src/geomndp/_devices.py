"""Data parallelism: the functions of a batch are spread over devices, parameters are copied.

Every device and process derives the same batch from the same key, so that a run gives the same
losses, to rounding, on any number of devices. For several processes call
`jax.distributed.initialize` first (on CPU with `jax_cpu_collectives_implementation` "gloo").
"""

from __future__ import annotations

from typing import TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

Tree = TypeVar("Tree")


def batch_mesh(batch_size: int, devices=None) -> Mesh:
    """Mesh with one axis over devices, along which a batch is spread.

    Args:
        batch_size: Functions per batch.
        devices: Devices, by default all of all processes.

    Returns:
        The mesh, its axis named "batch".

    Raises:
        ValueError: If the batch size is not divisible by the number of devices.
    """
    devices = jax.devices() if devices is None else list(devices)
    if batch_size % len(devices):
        raise ValueError(
            f"expected a batch size divisible by {len(devices)} devices, got {batch_size}"
        )
    return Mesh(np.array(devices), ("batch",), axis_types=(AxisType.Auto,))


def replicate(tree: Tree, mesh: Mesh) -> Tree:
    """Put a new copy of every array on every device.

    Args:
        tree: Any pytree; all processes must hold the same values.
        mesh: The devices.

    Returns:
        The same tree with replicated arrays.
    """
    sharding = NamedSharding(mesh, PartitionSpec())

    def put(leaf):
        if not eqx.is_array(leaf):
            return leaf
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jr.wrap_key_data(put(jr.key_data(leaf)), impl=jr.key_impl(leaf))
        values = np.array(leaf)
        return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])

    return jax.tree.map(put, tree)


def spread_batch(batches: Tree, mesh: Mesh) -> Tree:
    """Spread the second axis, that of the functions, over the devices.

    Args:
        batches: Arrays whose first axis is that of the steps.
        mesh: The devices.

    Returns:
        The same arrays, constrained to that layout.
    """
    return jax.lax.with_sharding_constraint(
        batches, NamedSharding(mesh, PartitionSpec(None, "batch"))
    )
