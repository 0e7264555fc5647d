"""Tasks side by side on the devices: padded to few shapes, one program for a batch of each.

A number of context or target points that all tasks share is not padded: one program serves them.
The draws of a task depend on the key folded with its number, and on nothing else: neither on its
batch nor on the order. Batches are spread over all local devices.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from geomndp._arrays import bucket, bucket_below, put, spread_devices
from geomndp.data import Normaliser
from geomndp.model import process_calls
from geomndp.model._compilation_cache import setting
from geomndp.model._jit import signature
from geomndp.model.batch_rows import BatchableDraw, run_rows
from geomndp.model.dense_targets import plan_rounds
from geomndp.model.output_units import in_units, output_dtype, outputs_to_data_units
from geomndp.model.posterior import Posterior
from geomndp.model.process_posterior import ProcessPosterior, result_dtype
from geomndp.model.sampling import sampling_problem
from geomndp.samplers import AbstractSampler, Problem, pad_problem
from geomndp.samplers.problem import pad_observations

BATCH_POINTS = {"cpu": 2048}
DEFAULT_BATCH_POINTS = 500_000
"""Points of all samples of a batch together, beyond which larger batches are not faster."""
FEW = 8
"""Tasks that are too few for a program of their own numbers of points."""


def batchable_draw(
    posterior: Any, x: Any, key: Any, num_samples: int, sampler: AbstractSampler | None
) -> BatchableDraw | None:
    """The draw of a task; None where it cannot be one of a batch, or is drawn in rounds.

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
        if sampler is not None:
            raise ValueError("expected no sampler for the law of a process, got one")
        return _process(posterior, x)
    return None


def _learnt(posterior, x, key, num_samples, sampler) -> BatchableDraw | None:
    if plan_rounds(posterior, x, key, sampler=sampler) is not None:
        return None
    sampler, problem = sampling_problem(posterior, x, key, num_samples, sampler)
    n, normaliser = len(problem.x), posterior.model.normaliser

    def finish(y: np.ndarray) -> np.ndarray:
        y = y[:, :n]
        return y if normaliser is None else np.asarray(outputs_to_data_units(normaliser, put(y)))

    draw = BatchableDraw(draw_learnt, (sampler, problem), None, finish, 0, False)
    return _of_problem(draw, problem)


def _of_problem(draw: BatchableDraw, problem: Problem) -> BatchableDraw:
    row = (problem.x, problem.mask, problem.observations, problem.partial)
    points = problem.num_observed + len(problem.x)
    return draw._replace(shared=(draw.shared[0], problem), row=row, points=points)


def with_few_shapes(draws: dict[int, BatchableDraw]) -> dict[int, BatchableDraw]:
    """Pad the problems of learnt models.

    Args:
        draws: Draws by the number of their task, as `batchable_draw` makes them.

    Returns:
        Draws with numbers of context and target points as they are where all tasks, at least `FEW`,
        share them, and of few sizes where they differ.
    """
    learnt = {i: draw for i, draw in draws.items() if draw.function is draw_learnt}
    sizes = {i: (draw.shared[1].num_observed, len(draw.row[0])) for i, draw in learnt.items()}
    shared = [
        len(learnt) >= FEW and len({*part}) == 1 for part in zip(*sizes.values(), strict=True)
    ]
    padded = dict(draws)
    for number, draw in learnt.items():
        own, (sampler, problem) = sizes[number], draw.shared
        new = tuple(n if same else bucket(n) for n, same in zip(own, shared, strict=True))
        if new != own and sampler.pads and problem.score.pads:
            padded[number] = _of_problem(draw, pad_problem(problem, *new))
    return padded


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
    draws, groups = with_few_shapes(draws), {}
    for number, draw in draws.items():
        groups.setdefault((draw.function, signature(draw.shared, draw.row)), []).append(number)
    for numbers in groups.values():
        first = draws[numbers[0]]
        with jax.enable_x64(first.wide or bool(setting("jax_enable_x64"))):
            yield from _run_group(draws, numbers, key, num_samples, batch_size, max_memory)


def _run_group(draws, numbers, key, num_samples, batch_size, max_memory):
    first = draws[numbers[0]]
    devices = spread_devices(first.shared)
    # Samples of a process share most of the work.
    points = max(1, first.points * (1 if first.wide else num_samples))
    most = len(devices) * BATCH_POINTS.get(devices[0].platform, DEFAULT_BATCH_POINTS) // points
    size = bucket_below(max(1, most)) if batch_size is None else batch_size
    size, done = min(size, bucket(len(numbers))), 0
    while done < len(numbers):
        subset = numbers[done : done + size]
        rows = [draws[i].row for i in subset]
        y = run_rows(first, rows, subset, key, num_samples, size, max_memory)
        if isinstance(y, int):  # so many would fit
            size = y
            continue
        for number, values in zip(subset, y, strict=True):
            yield number, draws[number].finish(values)
        done += len(subset)
