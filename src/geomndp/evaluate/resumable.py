"""Measurements in blocks: spread over the devices, kept on disk, taken up again where they stopped.

A measurement is a module that maps a model and some items (tasks, keys: arrays that share their
first axis) to named arrays with that first axis. Every finished block is one file, written under a
temporary name and renamed, with a hash of all that it depends on.
"""

from __future__ import annotations

import abc
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
from geomndp._devices import batch_mesh
from geomndp._types import Array

AXIS = "batch"


class AbstractMeasurement(eqx.Module):
    """What is measured of every item; hyperparameters are static fields."""

    @abc.abstractmethod
    def __call__(self, model: Any, items: Any) -> dict[str, Array]:
        """Named results, first axis that of the items."""


def run_resumable(
    measurement: AbstractMeasurement,
    model: Any,
    items: Any,
    *,
    block_size: int = 256,
    directory: str | os.PathLike | None = None,
    devices=None,
) -> dict[str, np.ndarray]:
    """Measure all items, `block_size` at a time, spread over `devices` (default: all local ones).

    With a `directory`, blocks found there are not computed again; one that was made by another
    model, measurement or other items is refused.
    """
    _validation.at_least(1, block_size=block_size)
    devices = jax.local_devices() if devices is None else list(devices)
    count = len(jax.tree.leaves(items)[0])
    _validation.at_least(1, items=count)
    block_size = -(-min(block_size, count) // len(devices)) * len(devices)
    mesh = batch_mesh(block_size, devices)
    everywhere = NamedSharding(mesh, PartitionSpec())
    arrays, rest = eqx.partition(model, eqx.is_array)
    placed = eqx.combine(jax.device_put(arrays, everywhere), rest)
    folder = None if directory is None else Path(directory)
    made_by = "" if folder is None else _digest(f"{measurement} {model}", (measurement, model))
    parts = []
    for start in range(0, count, block_size):
        # The last block is filled up with its last item: one shape, one compilation.
        rows = np.minimum(np.arange(start, start + block_size), count - 1)
        some = jax.tree.map(lambda leaf, rows=rows: leaf[rows], items)
        if folder is None:
            found = _measure(measurement, placed, some, mesh)
        else:
            path = folder / f"block-{start:06d}-{min(start + block_size, count):06d}.npz"
            digest = _digest(made_by, some)
            found = _read(path, digest)
            if found is None:
                found = _measure(measurement, placed, some, mesh)
                _write(path, digest, found)
        parts.append(found)
    names = parts[0]
    return {name: np.concatenate([part[name] for part in parts])[:count] for name in names}


def _measure(measurement, model, items, mesh: Mesh) -> dict[str, np.ndarray]:
    items = jax.device_put(items, NamedSharding(mesh, PartitionSpec(AXIS)))
    return {k: np.asarray(v) for k, v in _program(measurement, model, items, mesh).items()}


@eqx.filter_jit
def _program(measurement: AbstractMeasurement, model, items, mesh: Mesh):
    """Every device works on its own items, with its own loop."""
    if mesh.size == 1:
        return measurement(model, items)
    arrays, rest = eqx.partition((measurement, model), eqx.is_array)

    def local(arrays, items):
        measurement, model = eqx.combine(arrays, rest)
        return measurement(model, items)

    specs = (PartitionSpec(), PartitionSpec(AXIS))
    spread = jax.shard_map(
        local, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(AXIS), check_vma=False
    )
    return spread(arrays, items)


def _digest(words: str, tree) -> str:
    """Hash of a description and of all arrays."""
    found = hashlib.sha256(" ".join(words.split()).encode())
    for leaf in filter(eqx.is_array_like, jax.tree.leaves(tree)):
        is_key = jnp.issubdtype(jnp.asarray(leaf).dtype, jax.dtypes.prng_key)
        values = np.asarray(jr.key_data(leaf) if is_key else leaf)
        found.update(f"{values.shape} {values.dtype}".encode() + values.tobytes())
    return found.hexdigest()


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
            f"expected results of this model on these tasks in {path}, got those of others; "
            "choose another folder"
        )
    return content


def _write(path: Path, digest: str, content: dict[str, np.ndarray]) -> None:
    with _atomic_io.replacing(path) as temporary:
        np.savez(temporary, digest=digest, **content)  # pyright: ignore
