"""One program for a batch of independent draws, whose rows are tasks or samples of patches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from geomndp._arrays import (
    bucket_below,
    memory_bound,
    spread_devices,
    spread_rows,
    too_much,
    whole_rows,
)
from geomndp.model._jit import program


class BatchableDraw(NamedTuple):
    """Samples of one task, as a program that tasks of the same `signature` share.

    Attributes:
        function: (shared, row, key, number of samples) -> values (s, n, p) in the model's units.
        shared: What all tasks of a model have in common, and what is static.
        row: Arrays of this task alone.
        finish: Values of the program to those of the n targets in the data's units.
        points: Context and target points, padding included.
        wide: Whether the program is one of float64, whatever JAX's mode.
    """

    function: Callable[[Any, Any, Any, int], Any]
    shared: Any
    row: Any
    finish: Callable[[np.ndarray], np.ndarray]
    points: int
    wide: bool


def draw_batch(function, shared, rows, key, numbers, num_samples: int) -> Any:
    """Samples (b, s, n, p) of b tasks, each by the key folded with its number."""

    def one(row, number):
        return function(shared, row, jr.fold_in(key, number), num_samples)

    return jax.vmap(one)(rows, numbers)


def stacked_rows(rows: list, size: int, devices: list) -> Any:
    """Arrays of `size` rows, or a few more that the devices share evenly; the last is repeated."""
    order = np.minimum(np.arange(whole_rows(size, devices)), len(rows) - 1)
    return jax.tree.map(lambda *v: np.stack([np.asarray(leaf) for leaf in v])[order], *rows)


def run_rows(
    first: BatchableDraw,
    rows: list,
    numbers: Sequence[int],
    key: Any,
    num_samples: int,
    size: int,
    max_memory: int | None,
) -> np.ndarray | int:
    """Samples of one batch.

    Args:
        first: Any of the draws.
        rows: The arrays of each.
        numbers: Numbers by which the key is folded for each.
        key: Random key.
        num_samples: Number s of samples of each.
        size: Rows of the program, of which some may stay empty.
        max_memory: Bytes that it may take.

    Returns:
        Values (b, s, n, p) in the model's units, or how many rows fit the memory.
    """
    devices = spread_devices(first.shared)
    labelled = list(zip(rows, np.asarray(numbers, np.uint32), strict=True))
    stacked, labels = spread_rows(stacked_rows(labelled, size, devices), devices)
    args = first.function, first.shared, stacked, key, labels, num_samples
    compiled, bound = program(draw_batch, *args), memory_bound(max_memory, devices[0])
    if compiled.memory() > bound:  # both are of one device
        if size == 1:
            raise too_much(compiled.memory(), bound, max_memory is not None)
        return bucket_below(size // 2)
    return np.asarray(compiled(*args))[: len(rows)]
