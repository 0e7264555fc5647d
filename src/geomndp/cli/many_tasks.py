"""Option `--tasks`: many independent tasks from a folder or a long table, one result."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from geomndp import _table_files
from geomndp._progress import progress
from geomndp.cli.input_tables import POINT, Tables
from geomndp.cli.needed_columns import drop_missing
from geomndp.cli.predict_args import Condition
from geomndp.model.base import AbstractModel
from geomndp.summaries import describe
from geomndp.tables import Variables


class TaskHelpers(NamedTuple):
    """What the command does for one task too: noise of a table, and the sampler."""

    with_noise: Callable[[Any, str, Variables], tuple[Any, Any]]
    sampler: Callable[[Condition, Any], Any]


ROW = "row"
"""Dimension of the locations of all tasks together."""


def predict_tasks(
    command: Condition, model: AbstractModel, names: Variables, tables: Tables, helpers: TaskHelpers
) -> None:
    """Draw functions given the observations of every task, and write one table of all."""
    table = tables.observations
    if command.drop_missing:
        table = drop_missing(table, names.output_names)
    table, noise = helpers.with_noise(table, command.obs_std, names)
    tasks = _tasks(command, table, tables.targets)
    many = model.condition_many(tasks, noise=noise, time_origin=command.origin)
    sampler = None
    if command.steps is not None or command.sampler is not None:
        first, _ = next(iter(tasks.values()))
        posterior = model.condition(first, noise=noise, time_origin=command.origin)
        sampler = helpers.sampler(command, posterior)
    folder = Path(f"{command.out}.tasks")  # of finished ones
    options = {"sampler": sampler, "scheduler": command.scheduler, "directory": folder}
    start = time.monotonic()
    parts: list[xr.Dataset] = []
    with progress("tasks", len(many)) as update:
        request = {"key": command.seed, "num_samples": command.num_samples}
        for name, samples in many.sample(**request, **options, progress=update):
            if command.summary:
                samples = describe(samples, command.quantiles).astype(command.dtype)
            parts.append(_rows(samples, name, command.task_column))
    result: Any = xr.concat(parts, dim=ROW, combine_attrs="drop_conflicts")
    _table_files.write_table(str(command.out), result, names.input_names)
    shutil.rmtree(folder)
    _report(command, result, len(many), time.monotonic() - start)


def _report(command: Condition, result: xr.Dataset, tasks: int, seconds: float) -> None:
    rate = tasks / max(seconds, 1e-9)
    record = {"out": command.out, "model": command.name, "num_samples": command.num_samples}
    record |= {"tasks": tasks, "sizes": {str(d): n for d, n in result.sizes.items()}}
    record |= {"seed": command.seed, "seconds": round(seconds, 1), "tasks_per_second": rate}
    what = "summaries of " if command.summary else ""
    text = f"{what}{command.num_samples} samples of each of {tasks} tasks in {seconds:.1f} s "
    text += f"({rate:.3g} tasks per second): {command.out}"
    print(json.dumps(record) if command.json else text)


def _tasks(command: Condition, table: Any, targets: xr.Dataset) -> dict[Any, tuple[Any, Any]]:
    """Observations and targets by the name of the task."""
    column = command.task_column
    groups = table.groupby(column, sort=False)
    # Of files that are read differently, each has its own types again, and its own faults.
    observed = {name: group.drop(columns=[column]).infer_objects() for name, group in groups}
    for group in observed.values():
        group.attrs = table.attrs
    if column not in targets.coords:
        return {name: (group, targets) for name, group in observed.items()}
    names = {_text(name): name for name in observed}
    if len(names) < len(observed):
        raise ValueError(f"expected labels of one kind in {column!r}, got numbers and texts")
    (dim,) = targets[column].dims
    texts = map(_text, targets[column].to_series())
    owners = np.array([names.get(text, text) for text in texts], object)
    wanted = dict.fromkeys(owners)
    for some, others, what in ((observed, wanted, "targets"), (wanted, observed, "observations")):
        if missing := [name for name in some if name not in others]:
            raise ValueError(f"expected {what} of every task, got none of task {missing[0]!r}")
    own = targets.drop_vars(column)
    return {
        name: (group, own.isel({dim: np.flatnonzero(owners == name)}))
        for name, group in observed.items()
    }


def _text(label: Any) -> str:
    """A task's label in words: 7 is 7, whether a file has it as a text, an integer or a float."""
    return f"{label:.0f}" if isinstance(label, float) and label.is_integer() else str(label)


def _rows(samples: xr.Dataset, name: Any, column: str) -> xr.Dataset:
    """Values along one dimension of locations, with the name of their task."""
    dims = [dim for dim in samples.dims if dim not in ("sample", "quantile")]
    if dims == [POINT]:
        flat = samples.rename({POINT: ROW})
    else:
        flat = samples.stack({ROW: dims}, create_index=False)
        flat = flat.drop_vars(ROW, errors="ignore")
    flat = flat.reset_coords([c for c in flat.coords if flat[c].dims == ()], drop=True)
    return flat.assign_coords({column: (ROW, np.repeat(name, flat.sizes[ROW]))})
