"""Resumable measurements: in blocks, spread over the devices, kept on disk.

A measurement is a module that maps a process and some items (tasks, keys: arrays that share their
first axis) to named arrays with that first axis. Every finished block is one file, written
atomically, with a hash of all that it depends on; re-running the call resumes after the last block.
"""

from __future__ import annotations

import abc
import dataclasses
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from geomndp import _atomic_io, _validation
from geomndp._types import Array
from geomndp.data.generators import batch_mesh

AXIS = "batch"


class AbstractMeasurement(eqx.Module):
    """What is measured of every item; hyperparameters are static fields."""

    @abc.abstractmethod
    def __call__(self, process: Any, items: Any) -> dict[str, Array]:
        """Measure some items; pure, compiled once per block size.

        Args:
            process: What is evaluated, a module.
            items: Arrays, or trees of them, that share their first axis.

        Returns:
            Named results, first axis that of the items.
        """


def run_resumable(
    measurement: AbstractMeasurement,
    process: Any,
    items: Any,
    *,
    block_size: int = 256,
    directory: str | os.PathLike | None = None,
    devices=None,
) -> dict[str, np.ndarray]:
    """Measure all items, block by block.

    Args:
        measurement: What is measured.
        process: What is evaluated: a module whose arrays are replicated over the devices.
        items: Arrays, or trees of them, that share their first axis.
        block_size: Items per block, rounded up to a multiple of the number of devices.
        directory: Keeps finished blocks, which are not computed again.
        devices: Devices to use; all local ones by default.

    Returns:
        Named arrays of results, first axis that of the items.

    Raises:
        ValueError: If a block in the directory was made by another process, measurement or other
            items, or is damaged.
    """
    _validation.at_least(1, block_size=block_size)
    devices = jax.local_devices() if devices is None else list(devices)
    count = len(jax.tree.leaves(items)[0])
    _validation.at_least(1, items=count)
    block_size = -(-min(block_size, count) // len(devices)) * len(devices)
    mesh = batch_mesh(block_size, devices)
    everywhere = NamedSharding(mesh, PartitionSpec())
    arrays, rest = eqx.partition(process, eqx.is_array)
    placed = eqx.combine(jax.device_put(arrays, everywhere), rest)
    folder = None if directory is None else Path(directory)
    made_by = "" if folder is None else _digest(f"{measurement} {process}", (measurement, process))
    blocks = []
    for start in range(0, count, block_size):
        # The last block is filled up with its last item: one shape, one compilation.
        rows = np.minimum(np.arange(start, start + block_size), count - 1)
        subset = jax.tree.map(lambda leaf, rows=rows: leaf[rows], items)
        if folder is None:
            results = _measure(measurement, placed, subset, mesh)
        else:
            path = folder / f"block-{start:06d}-{min(start + block_size, count):06d}.npz"
            digest = _digest(made_by, subset)
            results = _read(path, digest)
            if results is None:
                results = _measure(measurement, placed, subset, mesh)
                _write(path, digest, results)
        blocks.append(results)
    return {name: np.concatenate([block[name] for block in blocks])[:count] for name in blocks[0]}


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """How the tasks of a measurement are run; every measurement takes these as keywords.

    Args:
        batch_size: Tasks side by side on a device.
        block_size: Tasks per block, rounded up to a multiple of the number of devices.
        directory: Keeps finished blocks: the same call resumes after a stop.
        devices: Devices to use; all local ones by default.
    """

    batch_size: int = 16
    block_size: int = 256
    directory: str | os.PathLike | None = None
    devices: Any = None

    @classmethod
    def take(cls, options: dict[str, Any], **defaults: Any) -> tuple[RunOptions, dict[str, Any]]:
        """Tell keywords that are fields of this class from those of the law that is measured.

        Args:
            options: Keywords of a call.
            **defaults: Fields with a default of their own.

        Returns:
            The options, and all other keywords.
        """
        names = {field.name for field in dataclasses.fields(cls)}
        own = {name: value for name, value in options.items() if name in names}
        others = {name: value for name, value in options.items() if name not in names}
        return cls(**{**defaults, **own}), others

    def measure(self, measurement: AbstractMeasurement, process: Any, items: Any) -> dict:
        """Run a measurement: named arrays (JAX), as those of `run_resumable`."""
        options = {"directory": self.directory, "devices": self.devices}
        values_by_name = run_resumable(
            measurement, process, items, block_size=self.block_size, **options
        )
        return {name: jnp.asarray(values) for name, values in values_by_name.items()}


def _measure(measurement, process, items, mesh: Mesh) -> dict[str, np.ndarray]:
    items = jax.device_put(items, NamedSharding(mesh, PartitionSpec(AXIS)))
    return {k: np.asarray(v) for k, v in _program(measurement, process, items, mesh).items()}


@eqx.filter_jit
def _program(measurement: AbstractMeasurement, process, items, mesh: Mesh):
    """Every device works on its own items, with its own loop."""
    if mesh.size == 1:
        return measurement(process, items)
    arrays, rest = eqx.partition((measurement, process), eqx.is_array)

    def local(arrays, items):
        measurement, process = eqx.combine(arrays, rest)
        return measurement(process, items)

    specs = (PartitionSpec(), PartitionSpec(AXIS))
    spread = jax.shard_map(
        local, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(AXIS), check_vma=False
    )
    return spread(arrays, items)


def _digest(text: str, tree) -> str:
    """Hash of a description and of all arrays."""
    digest = hashlib.sha256(" ".join(text.split()).encode())
    for leaf in filter(eqx.is_array_like, jax.tree.leaves(tree)):
        is_key = jnp.issubdtype(jnp.asarray(leaf).dtype, jax.dtypes.prng_key)
        values = np.asarray(jr.key_data(leaf) if is_key else leaf)
        digest.update(f"{values.shape} {values.dtype}".encode() + values.tobytes())
    return digest.hexdigest()


def _read(path: Path, digest: str) -> dict[str, np.ndarray] | None:
    if not path.exists():
        return None
    try:
        with path.open("rb") as file:
            content = dict(np.load(file))
        made_by = str(content.pop("digest"))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"expected results in {path}, got a damaged or foreign file") from error
    if made_by != digest:
        raise ValueError(
            f"expected results of this process on these tasks in {path}, got those of others; "
            "choose another folder"
        )
    return content


def _write(path: Path, digest: str, content: dict[str, np.ndarray]) -> None:
    with _atomic_io.replacing(path) as temporary:
        np.savez(temporary, digest=digest, **content)  # pyright: ignore
