"""Rows of a batch of patches through the steps of a sampler, in stretches of about a second.

A row is one sample of one patch, with a problem and a key of its own. Between stretches Python has
control and sees Ctrl-C: a batch is many points times all steps, on a CPU up to minutes.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._arrays import (
    bucket_below,
    memory_bound,
    spread_devices,
    spread_rows,
    too_much,
)
from geomndp._progress import Clock
from geomndp._types import Array, Inputs, Mask
from geomndp.model._jit import num_bytes, program
from geomndp.model.batch_rows import stacked_rows
from geomndp.model.sampling import move_samples, start_samples
from geomndp.samplers import AbstractProgramSampler, Observations, Problem


class PatchRow(NamedTuple):
    """What is a row's own of its problem, and the data of its key."""

    x: Inputs
    mask: Mask | None
    observations: Observations
    partial: Observations | None
    key_data: Array


class PatchSampler(NamedTuple):
    """What all rows of a program share: sampler, any of their problems, and the type of keys."""

    sampler: AbstractProgramSampler
    template: Problem
    key_impl: str

    def arguments(self, row: PatchRow) -> tuple[AbstractProgramSampler, Problem, Any, Array]:
        """Arguments of `start_samples` and `move_samples` for one row, a single sample."""
        x, mask, observations, partial, data = row
        own = {"x": x, "mask": mask, "observations": observations, "partial": partial}
        problem = dataclasses.replace(self.template, **own)
        key = jr.wrap_key_data(data, impl=self.key_impl)
        return self.sampler, problem, key, jnp.zeros(1, jnp.int32)


def run_patch_rows(
    shared: PatchSampler, rows: list[PatchRow], size: int, max_memory: int | None
) -> np.ndarray | int:
    """Values of one batch of rows.

    Args:
        shared: What they share.
        rows: At most `size` of them, of one shape.
        size: Rows of the program, of which some may stay empty.
        max_memory: Bytes that it may take.

    Returns:
        Values (b, n, p) in the model's units, or how many rows fit the memory.
    """
    devices = spread_devices(shared)
    args, zero = (shared, spread_rows(stacked_rows(rows, size, devices), devices)), np.int32(0)
    bound = memory_bound(max_memory, devices[0])
    start = program(start_rows, *args)
    if start.memory() > bound:
        return _fewer(size, start.memory(), bound, max_memory is not None)
    states, shared_parts = spread_rows(start(*args), devices)
    move = program(move_rows, *args, states, shared_parts, zero, zero)
    if (need := move.memory() + num_bytes(shared_parts) // len(devices)) > bound:
        return _fewer(size, need, bound, max_memory is not None)
    y = None

    def advance(i: int, j: int):
        nonlocal states, y
        states, y = move(*args, states, shared_parts, np.int32(i), np.int32(j))
        states = spread_rows(states, devices)
        return y

    for _ in Clock().through(shared.sampler.steps, advance):
        pass  # here a signal is seen
    return np.asarray(y)[: len(rows)]


def _fewer(size: int, needed: int, bound: int, by_user: bool) -> int:
    if size == 1:
        raise too_much(needed, bound, by_user)
    return bucket_below(size // 2)


def start_rows(shared: PatchSampler, rows: PatchRow) -> Any:
    """States of all rows before the first step, and what their steps share."""
    return jax.vmap(lambda row: start_samples(*shared.arguments(row)))(rows)


def move_rows(
    shared: PatchSampler, rows: PatchRow, states: Any, parts: Any, start: Any, stop: Any
) -> tuple[Any, Array]:
    """States after the steps `start`, ..., `stop` - 1, and after the last of all the values."""

    def one(row, state, own):
        state, result = move_samples(*shared.arguments(row), state, own, start, stop)
        return state, result[0][0]

    return jax.vmap(one)(rows, states, parts)
