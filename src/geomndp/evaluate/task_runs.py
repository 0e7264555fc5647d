"""Runs of tasks: shape by shape, member by member, block by block; every block is kept on disk."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _progress
from geomndp._types import PRNGKeyArray
from geomndp._warnings import ApproximationWarning
from geomndp.evaluate.mixed_answers import (
    Answers,
    densities,
    mixture_log_weights,
    on_sphere,
    real_values,
)
from geomndp.evaluate.padded_tasks import MAX_SHAPES, PaddedTasks, similar_sizes
from geomndp.evaluate.resumable import run_resumable
from geomndp.evaluate.table_tasks import TableTask
from geomndp.evaluate.task_measurement import TaskMeasurement, takes_value_masks
from geomndp.evaluate.task_members import Member, is_exact, members_of
from geomndp.evaluate.task_metrics import TaskMetrics
from geomndp.geometry.geodesy import EARTH_RADIUS_KM

BLOCK = 64
"""Most tasks of a block: what a stop loses."""
FEW_TASKS = 200
"""Tasks up to which one shape will do."""


def measure_tasks(
    process: Any,
    measurement: TaskMeasurement,
    tasks: list[TableTask],
    scale: np.ndarray,
    key: PRNGKeyArray,
    directory: Any,
    progress: bool,
) -> TaskMetrics:
    """Measure a process, or the members of a mixture, on all tasks.

    Args:
        process: What is evaluated.
        measurement: What is measured.
        tasks: The tasks.
        scale: Training standard deviation per output.
        key: Random key.
        directory: Folder that keeps finished blocks, or None.
        progress: Whether to show how many tasks are done.

    Returns:
        Metrics of every task.
    """
    members, log_weights = members_of(process)
    # Closed forms take longer to compile than to compute, and so do few tasks of a network.
    quick = len(tasks) <= FEW_TASKS or all(map(is_exact, members))
    most = 1 if quick else MAX_SHAPES
    columns: dict[str, np.ndarray] = {}
    pits = np.full((len(tasks), max(task.target.y.size for task in tasks)), np.nan)
    with _shown(len(tasks) * len(members), progress) as finished:
        for number, rows in enumerate(similar_sizes(tasks, most)):
            folder = None if directory is None else Path(directory) / f"group-{number:03d}"
            keys = jax.vmap(lambda row: jr.fold_in(key, row))(jnp.asarray(rows, jnp.uint32))
            group = [Member.of(member, [tasks[row] for row in rows]) for member in members]
            _warn_of_altered(group)
            answers = ask_members(group, measurement, keys, folder, finished)
            # Values of the data's units, which may be far from zero, keep their digits.
            with nullcontext() if measurement.sphere else jax.enable_x64(True):
                padded = PaddedTasks.of([tasks[row] for row in rows])
                results = _metrics(padded, answers, log_weights, scale, measurement.sphere, keys)
            ranks = results.pop("pit")
            pits[rows, : ranks.shape[1]] = ranks
            for name, values in results.items():
                columns.setdefault(name, np.full(len(tasks), np.nan))[rows] = values
    kinds, names = tuple(task.kind for task in tasks), tuple(task.function for task in tasks)
    return TaskMetrics(kinds, names, columns, pits)


@contextmanager
def _shown(total: int, progress: bool) -> Iterator[Callable[[int], None]]:
    """Yield finished(count), which shows how many of the tasks of all members are done."""
    done = 0
    with _progress.progress("tasks", total) if progress else nullcontext() as update:

        def finished(count: int) -> None:
            nonlocal done
            done += count
            if update is not None:
                update(done)

        yield finished


def _warn_of_altered(group: list[Member]) -> None:
    """Say how many contexts lack values that every member holds impossible."""
    count = int(np.sum(np.all([member.altered for member in group], axis=0)))
    if count:
        warnings.warn(
            f"values outside of the domain of the outputs' transform count as missing in the "
            f"context of {count} tasks",
            ApproximationWarning,
            stacklevel=2,
        )


def ask_members(
    group: list[Member],
    measurement: TaskMeasurement,
    keys: Any,
    folder: Path | None,
    finished: Callable[[int], None],
) -> list[Answers]:
    """Answers of all members to tasks of one shape.

    Args:
        group: The members.
        measurement: What is measured.
        keys: One key per task.
        folder: Folder of finished blocks, or None.
        finished: Called with the number of tasks that were measured.

    Returns:
        One dictionary of arrays per member; the evidence of a context with values that it holds
        impossible is minus infinity.
    """
    mixed = len(group) > 1
    separate = []
    for member in group:
        with member.precision():
            separate.append(takes_value_masks(member.process, measurement, member.padded()))
    asked = dataclasses.replace(measurement, separate_values=all(separate), mixed=mixed)
    answers = []
    for number, member in enumerate(group):
        kept = None if folder is None else folder / f"member-{number}" if mixed else folder
        if mixed and member.exact:
            kept = None  # takes seconds to compute, and much disk to keep
        with member.precision():
            found = _in_blocks(asked, member, keys, kept, finished)
        if mixed:
            found["evidence"] = np.where(member.altered, -np.inf, found["evidence"])
        answers.append(found)
    return answers


def _in_blocks(
    measurement: TaskMeasurement, member: Member, keys: Any, folder: Path | None, finished: Any
) -> Answers:
    """Answers of one member, block by block of one size."""
    count, items = len(member.tasks), (member.padded(), keys)
    size = -(-count // -(-count // BLOCK))
    blocks = []
    for start in range(0, count, size):
        rows = np.minimum(np.arange(start, start + size), count - 1)
        block = jax.tree.map(lambda leaf, rows=rows: leaf[rows], items)
        place = None if folder is None else folder / f"tasks-{start:05d}"
        results = run_resumable(measurement, member.process, block, directory=place)
        kept = min(size, count - start)
        blocks.append({name: values[:kept] for name, values in results.items()})
        finished(kept)
    return {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}


def _metrics(
    tasks: PaddedTasks,
    answers: list[Answers],
    log_weights: np.ndarray,
    scale: np.ndarray,
    sphere: bool,
    keys: Any,
) -> Answers:
    """Metrics of the mixture of all members, each a mean over the values, or points, of a task."""
    y, real = np.asarray(tasks.y), np.asarray(tasks.real())
    weights = mixture_log_weights(log_weights, answers)
    single = real[:, :, :1] if answers[0]["marginal"].shape[2] == 1 else real
    count = np.sum(real[:, :, 0] if sphere else real.reshape(len(y), -1), axis=1)
    results = {k: v / count for k, v in densities(weights, answers, single).items()}
    if not sphere:
        return results | real_values(weights, answers, y, real, scale[None, None])
    area = 2 * np.log(EARTH_RADIUS_KM)
    results |= {name: results[name] - area for name in ("joint", "marginal")}
    return results | on_sphere(weights, answers, y, real, keys)
