"""Any process on the tasks of a table: nats, CRPS, coverage, PIT and errors, task by task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.evaluate.table_tasks import FunctionRows, TableTask, read_function_rows, read_tasks
from geomndp.evaluate.task_measurement import TaskMeasurement
from geomndp.evaluate.task_metrics import TaskMetrics
from geomndp.evaluate.task_runs import measure_tasks
from geomndp.model._jit import free_programs
from geomndp.predictive import AbstractProcess
from geomndp.tables import Variables, name_variables

ROUNDING = 1e-12
"""Standard deviation of an output, relative to its largest value, that counts as none."""


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
    num_samples: int = 64,
    exact: bool = False,
    batch_size: int = 16,
    directory: Any = None,
    progress: bool = False,
    density: Mapping[str, Any] | None = None,
    sampling: Mapping[str, Any] | None = None,
) -> TaskMetrics:
    """Evaluate a process on tasks: for each, condition on its context rows, predict its targets.

    Joint nats are those of all targets of a task together, over their number; marginal nats those
    of every value by itself, by one solve per value (of a model whose outputs are not observed
    apart: per row, over its outputs). Densities of networks take 6 steps of the probability flow,
    joint ones 8 random probes. CRPS, PIT, coverage and errors are exact for Gaussian processes and
    else those of samples by the same flow. Members of a mixture are measured one by one, those
    that are exact in closed form, and weighed by the density of each context. Missing values are
    skipped; so is a context value that a member's transform does not know (it then has no weight
    beside members that do), with a warning. The same `key` gives all processes the same random
    numbers.

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
        progress: Whether to show how many tasks are done, on standard error.
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
    free_programs()
    variables = _variables(process, inputs, outputs, codomain)
    functions = read_function_rows(table, variables, function)
    found = read_tasks(tasks, functions)
    sphere = variables.codomain == "sphere"
    scales = np.ones(3) if sphere else _scale(scale, functions, found)
    keys = jr.key(key) if isinstance(key, int) else key
    measurement = TaskMeasurement(
        sphere=sphere,
        num_samples=num_samples,
        exact=exact,
        batch_size=batch_size,
        density=dict(density or {}),
        sampling=dict(sampling or {}),
    )
    return measure_tasks(process, measurement, found, scales, keys, directory, progress)


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
    """Standard deviation of every output over the training functions; one for a constant output.

    That of a constant is not zero but what rounding leaves of it.
    """
    dim = next(iter(functions.values())).y.shape[1]
    if scale is None:
        used = {task.function for task in tasks}
        others = [rows.y for name, rows in functions.items() if name not in used]
        values = np.concatenate(others or [rows.y for rows in functions.values()])
        spread = np.nanstd(values, axis=0)
        constant = spread <= ROUNDING * np.nanmax(np.abs(values), axis=0)
        scale = np.where(constant, 1.0, spread)
    scale = np.asarray(scale, dtype=float).reshape(-1)
    _validation.positive(scale=scale)
    if len(scale) not in (1, dim):
        raise ValueError(f"expected one scale per output, {dim}, got {len(scale)}")
    return np.broadcast_to(scale, (dim,))
