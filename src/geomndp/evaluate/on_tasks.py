"""Any process on the tasks of a table: nats, CRPS, coverage, PIT and errors, task by task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.evaluate.resumable import run_resumable
from geomndp.evaluate.table_tasks import FunctionRows, TableTask, read_function_rows, read_tasks
from geomndp.evaluate.task_measurement import PaddedTasks, TaskMeasurement, takes_value_masks
from geomndp.evaluate.task_metrics import TaskMetrics
from geomndp.predictive import AbstractProcess
from geomndp.tables import Variables, name_variables


def on_tasks(
    process: AbstractProcess,
    table: Any,
    tasks: Any,
    *,
    function: str = "function",
    inputs: Any = None,
    outputs: Any = None,
    codomain: str = "real",
    scale: Any = None,
    key: int | PRNGKeyArray = 0,
    num_samples: int = 256,
    exact: bool = False,
    batch_size: int = 16,
    directory: Any = None,
    density: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
) -> TaskMetrics:
    """Evaluate a process on tasks: for each, condition on its context rows, predict its targets.

    Joint nats are those of all targets of a task together, over their number; marginal nats those
    of every value by itself, by one solve per value (of a model whose outputs are not observed
    apart: per row, over its outputs). CRPS, PIT, coverage and errors are exact for Gaussian
    processes and from samples else. Missing values are skipped. The same `key` gives all processes
    the same random numbers.

    Args:
        process: What is evaluated: a `Model`, a `GP`, any process in the units of the table.
        table: A DataFrame with a column, or a Dataset with a dimension, that names functions.
        tasks: Dictionaries with kind, function, context rows and target rows, or the path of a
            JSON file that has them under "tasks".
        function: Name of that column or dimension.
        inputs: Names of the inputs; those of the process where it has names.
        outputs: Names of the outputs, likewise.
        codomain: "real" or "sphere", where the process has no names.
        scale: Training standard deviation per output, by which CRPS and errors are divided; by
            default that of the functions of the table that no task uses, else of all.
        key: Random key or seed of probes and samples.
        num_samples: Samples per task, where they are needed.
        exact: Whether divergences are exact, not from random probes.
        batch_size: Tasks side by side on a device.
        directory: Keeps what is finished: the same call resumes after a stop.
        density: Further arguments of the law's `log_prob_info`, such as a model's `flow`.
        sampling: Further arguments of the law's `sample`, such as a model's `sampler`.

    Returns:
        Metrics of every task, with summaries per kind.

    Raises:
        ValueError: If table, tasks and process do not fit together.

    Example:
        ```python
        ours = gn.evaluate.on_tasks(model, table, "tasks.json")
        simple = gn.evaluate.on_tasks(gp, table, "tasks.json", inputs="age", outputs="height")
        print(gn.evaluate.compare({"ours": ours, "GP": simple}))
        ```
    """
    _validation.at_least(2, num_samples=num_samples)
    variables = _variables(process, inputs, outputs, codomain)
    functions = read_function_rows(table, variables, function)
    found = read_tasks(tasks, functions)
    sphere = variables.codomain == "sphere"
    scales = np.ones(3) if sphere else _scale(scale, functions, found)
    keys = jr.key(key) if isinstance(key, int) else key
    measurement = TaskMeasurement(
        scale=tuple(map(float, scales)),
        sphere=sphere,
        num_samples=num_samples,
        exact=exact,
        batch_size=batch_size,
        density=dict(density or {}),
        sampling=dict(sampling or {}),
    )
    return _measure(process, measurement, found, keys, directory)


def _variables(process: Any, inputs: Any, outputs: Any, codomain: str) -> Variables:
    known = getattr(process, "variables", None)
    if known is not None and inputs is None and outputs is None:
        return known
    if inputs is None or outputs is None:
        raise ValueError(
            "expected inputs=... and outputs=... for a process without names, got none"
        )
    return name_variables(inputs, outputs, codomain)


def _scale(scale: Any, functions: Mapping[str, FunctionRows], tasks: list[TableTask]) -> np.ndarray:
    """Standard deviation of every output over the training functions."""
    dim = next(iter(functions.values())).y.shape[1]
    if scale is None:
        used = {task.function for task in tasks}
        others = [rows.y for name, rows in functions.items() if name not in used]
        values = np.concatenate(others or [rows.y for rows in functions.values()])
        scale = np.nanstd(values, axis=0)
    scale = np.asarray(scale, dtype=float).reshape(-1)
    _validation.positive(scale=scale)
    if len(scale) not in (1, dim):
        raise ValueError(f"expected one scale per output, {dim}, got {len(scale)}")
    return np.broadcast_to(scale, (dim,))


def _measure(
    process: AbstractProcess,
    measurement: TaskMeasurement,
    tasks: list[TableTask],
    key: PRNGKeyArray,
    directory: Any,
) -> TaskMetrics:
    """Measure groups of tasks of similar size; each is one program."""
    columns: dict[str, np.ndarray] = {}
    pits = np.full((len(tasks), max(task.target.y.size for task in tasks)), np.nan)
    for number, rows in enumerate(similar_sizes(tasks)):
        padded = PaddedTasks.of([tasks[row] for row in rows])
        keys = jax.vmap(lambda row: jr.fold_in(key, row))(jnp.asarray(rows, jnp.uint32))
        separate = takes_value_masks(process, measurement, padded)
        results = run_resumable(
            measurement.with_separate_values(separate),
            process,
            (padded, keys),
            directory=None if directory is None else Path(directory) / f"group-{number:03d}",
        )
        ranks = results.pop("pit")
        pits[rows, : ranks.shape[1]] = ranks
        for name, values in results.items():
            columns.setdefault(name, np.full(len(tasks), np.nan))[rows] = values
    kinds, names = tuple(task.kind for task in tasks), tuple(task.function for task in tasks)
    return TaskMetrics(kinds, names, columns, pits)


def similar_sizes(tasks: Sequence[TableTask]) -> list[np.ndarray]:
    """Indices of tasks whose numbers of context and of target points have the same power of two.

    Args:
        tasks: Tasks.

    Returns:
        Groups of indices, by the first of each.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, task in enumerate(tasks):
        sizes = [(max(len(part.x), 1) - 1).bit_length() for part in (task.context, task.target)]
        gappy = any(np.isnan(part.y).any() for part in (task.context, task.target))
        groups.setdefault((*sizes, len(task.context.x) == 0, gappy), []).append(number)
    return [np.asarray(rows) for rows in groups.values()]
