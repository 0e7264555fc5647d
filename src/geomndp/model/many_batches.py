"""Tasks side by side on the devices: padded to few shapes, one program for a batch of each.

The draws of a task depend on the key folded with its number, and on nothing else: neither on its
batch nor on the order. Batches are spread over all local devices.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.random as jr
import numpy as np

from geomndp._arrays import bucket, bucket_below, memory_bound, put, too_much
from geomndp.data import Normaliser
from geomndp.model import process_calls
from geomndp.model._jit import program, setting, signature
from geomndp.model.output_units import in_units, output_dtype, outputs_to_data_units
from geomndp.model.posterior import Posterior
from geomndp.model.process_posterior import ProcessPosterior, result_dtype
from geomndp.model.sampling import BLOCK_POINTS, DEFAULT_BLOCK_POINTS
from geomndp.model.sampling_problem import sampling_problem
from geomndp.model.spread import spread_devices, spread_rows, whole_rows
from geomndp.samplers import AbstractSampler, pad_problem
from geomndp.samplers.problem import pad_observations


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


def batchable_draw(
    posterior: Any, x: Any, key: Any, num_samples: int, sampler: AbstractSampler | None
) -> BatchableDraw | None:
    """The draw of a task; None where it cannot be one of a batch.

    Args:
        posterior: The law given the observations of the task.
        x: Its targets.
        key: Random key.
        num_samples: Number of samples.
        sampler: Sampler of a learnt law, None for its default.
    """
    if isinstance(posterior, Posterior):
        return _learnt(posterior, x, key, num_samples, sampler)
    if isinstance(posterior, ProcessPosterior):
        return _process(posterior, x)
    return None


def _learnt(posterior, x, key, num_samples, sampler) -> BatchableDraw:
    sampler, problem = sampling_problem(posterior, x, key, num_samples, sampler)
    n, normaliser = len(problem.x), posterior.model.normaliser
    if sampler.pads and problem.score.pads:
        problem = pad_problem(problem, bucket(problem.num_observed), bucket(n))
    row = (problem.x, problem.mask, problem.observations, problem.partial)
    points = problem.num_observed + len(problem.x)

    def finish(y: np.ndarray) -> np.ndarray:
        y = y[:, :n]
        return y if normaliser is None else np.asarray(outputs_to_data_units(normaliser, put(y)))

    return BatchableDraw(draw_learnt, (sampler, problem), row, finish, points, False)


def draw_learnt(shared: Any, row: Any, key: Any, num_samples: int) -> Any:
    """Samples of one task of a learnt model."""
    sampler, template = shared
    x, mask, observations, partial = row
    problem = dataclasses.replace(
        template, x=x, mask=mask, observations=observations, partial=partial
    )
    return sampler.draw(problem, key=key, num_samples=num_samples).y


def _process(posterior: ProcessPosterior, x: Any) -> BatchableDraw:
    dtype = output_dtype(posterior.model.normaliser, result_dtype(x))
    units = posterior.model.normaliser or Normaliser()
    with jax.enable_x64(True):
        given, targets = posterior.request(x)
        process = process_calls.with_array_parameters(posterior.model.process)
        process = process_calls.with_room(process, (given, targets))
        given = pad_observations(given, bucket(len(given.x)))

    def finish(y: np.ndarray) -> np.ndarray:
        with jax.enable_x64(True):
            return np.asarray(in_units(units.inverse_y, put(y))).astype(dtype)

    points = len(given.x) + len(targets)
    return BatchableDraw(draw_process, process, (given, targets), finish, points, True)


def draw_process(shared: Any, row: Any, key: Any, num_samples: int) -> Any:
    """Samples of one task of a process."""
    given, targets = row
    return process_calls.draw(shared, given, targets, key, num_samples)


def draw_batch(function, shared, rows, key, numbers, num_samples: int) -> Any:
    """Samples (b, s, n, p) of b tasks, each by the key folded with its number."""

    def one(row, number):
        return function(shared, row, jr.fold_in(key, number), num_samples)

    return jax.vmap(one)(rows, numbers)


def run_batches(
    draws: dict[int, BatchableDraw],
    key: Any,
    num_samples: int,
    batch_size: int | None = None,
    max_memory: int | None = None,
) -> Iterator[tuple[int, np.ndarray]]:
    """Run all draws, batch by batch.

    Args:
        draws: Draws by the number of their task.
        key: Random key.
        num_samples: Number s of samples of each.
        batch_size: Most tasks of a batch, by default what keeps a device busy.
        max_memory: Bytes that a batch may take, by default half of what is free.

    Yields:
        Number of a task, and its samples (s, n, p) in the data's units.
    """
    groups: dict[Any, list[int]] = {}
    for number, draw in draws.items():
        groups.setdefault((draw.function, signature(draw.shared, draw.row)), []).append(number)
    for numbers in groups.values():
        first = draws[numbers[0]]
        with jax.enable_x64(first.wide or bool(setting("jax_enable_x64"))):
            yield from _run_group(draws, numbers, key, num_samples, batch_size, max_memory)


def _run_group(draws, numbers, key, num_samples, batch_size, max_memory):
    first = draws[numbers[0]]
    devices = spread_devices(first.shared)
    points = max(1, first.points * num_samples)
    most = len(devices) * BLOCK_POINTS.get(devices[0].platform, DEFAULT_BLOCK_POINTS) // points
    size = bucket_below(max(1, most)) if batch_size is None else batch_size
    size, done = min(size, bucket(len(numbers))), 0
    while done < len(numbers):
        subset = numbers[done : done + size]
        y = _run(first, [draws[i].row for i in subset], subset, key, num_samples, size, max_memory)
        if isinstance(y, int):  # so many would fit
            size = y
            continue
        for number, values in zip(subset, y, strict=False):
            yield number, draws[number].finish(values)
        done += len(subset)


def _run(first, rows, numbers, key, num_samples, size, max_memory) -> np.ndarray | int:
    """Values of one batch, or how many tasks fit the memory."""
    devices = spread_devices(first.shared)
    order = np.minimum(np.arange(whole_rows(size, devices)), len(rows) - 1)  # the last one again
    stacked = jax.tree.map(lambda *v: np.stack([np.asarray(leaf) for leaf in v])[order], *rows)
    stacked, numbers = spread_rows((stacked, np.asarray(numbers, np.uint32)[order]), devices)
    args = first.function, first.shared, stacked, key, numbers, num_samples
    compiled, bound = program(draw_batch, *args), memory_bound(max_memory, devices[0])
    if compiled.memory() > bound:  # both are of one device
        if size == 1:
            raise too_much(compiled.memory(), bound, max_memory is not None)
        return bucket_below(size // 2)
    return np.asarray(compiled(*args))
