"""Tasks on the functions of a table: which rows are context, which are targets.

A task is a dictionary `{"kind", "function", "context": [rows], "target": [rows]}`, as in a file
`tasks.json`. Rows count from 0 within the function, in the order of the table.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geomndp import _validation
from geomndp.tables import Variables, read_inputs
from geomndp.tables.covariates import warn_of_lost
from geomndp.tables.groups import function_labels
from geomndp.tables.latlon import check_degrees
from geomndp.tables.pandas_adapter import is_frame, series
from geomndp.tables.suspect_numbers import warn_of_markers
from geomndp.tables.to_arrays import numeric, read_columns
from geomndp.tables.variables import check_same
from geomndp.tables.xarray_adapter import as_rows_frame


class FunctionRows(NamedTuple):
    """One function: inputs (n, d) and values (n, p), NaN where a value is missing."""

    x: np.ndarray
    y: np.ndarray


class TableTask(NamedTuple):
    """One task: its kind, the name of its function, and the rows of context and targets."""

    kind: str
    function: str
    context: FunctionRows
    target: FunctionRows


def read_function_rows(table: Any, variables: Variables, function: str) -> dict[str, FunctionRows]:
    """Read the functions of a table by name, in the order of their first rows.

    Args:
        table: A DataFrame with a column, or a Dataset with a dimension, that names functions.
        variables: Names and units of inputs and outputs.
        function: Name of the column or dimension.

    Returns:
        Rows by the text of the function's label. Datetimes count from the earliest of their
        function where the variables state no date. Rows without inputs are padding and left out.

    Raises:
        ValueError: If columns are missing, or hold no numbers.
    """
    names = (*variables.input_names, *variables.output_names)
    frame = table if is_frame(table) else as_rows_frame(table, names)
    function_labels(function, series(frame, function))  # refused where one is missing
    labels = series(frame, function).astype(str).to_numpy()
    for name in names:
        series(frame, name)  # refused here where it is missing
    _warn_of_values(frame, variables)
    real = np.all([series(frame, name).notna() for name in variables.input_names], axis=0)
    order = {label: [] for label in dict.fromkeys(labels[real])}
    for row in np.flatnonzero(real):
        order[labels[row]].append(row)
    return {label: _rows(frame.iloc[rows], variables) for label, rows in order.items()}


def _warn_of_values(frame: Any, variables: Variables) -> None:
    """Warn of rows without inputs, and of values that look like markers of missing ones."""
    inputs, outputs = variables.input_names, variables.output_names
    columns = read_columns(frame, (), (*inputs, *outputs)).values
    warn_of_lost({name: columns[name] for name in inputs}, [columns[name] for name in outputs])
    for name in outputs if variables.codomain == "real" else ():
        warn_of_markers(name, numeric(name, columns[name]))


def _rows(frame: Any, variables: Variables) -> FunctionRows:
    """Inputs and values of one function."""
    x = read_inputs(variables, frame).x
    columns, values = read_columns(frame, (), variables.output_names), []
    for variable in variables.outputs:
        check_same(variable.name, columns.units[variable.name], variable.units)
        values.append(numeric(variable.name, columns.values[variable.name]))
    y = np.stack(values, axis=1)
    if variables.codomain == "sphere":
        complete = np.all(np.isfinite(y), axis=1, keepdims=True)
        units = [variable.units for variable in variables.outputs]
        check_degrees(variables.output_names, y[complete[:, 0]], units)
        y = np.where(complete, variables.to_values(np.where(complete, y, 0.0)), np.nan)
    return FunctionRows(x, y)


def read_tasks(tasks: Any, functions: Mapping[str, FunctionRows]) -> list[TableTask]:
    """Tasks with their rows; rows of which every value is missing are left out.

    Args:
        tasks: Tasks as dictionaries, or the path of a JSON file that holds them under "tasks".
        functions: Functions by name.

    Returns:
        The tasks in their order.

    Raises:
        ValueError: If a task names no function, no rows of it or no observed target.
    """
    return [_task(number, task, functions) for number, task in enumerate(load_tasks(tasks))]


def load_tasks(tasks: Any) -> Sequence[Mapping[str, Any]]:
    """Tasks of a file, or those that are given, as dictionaries."""
    if not isinstance(tasks, str | os.PathLike):
        return tasks
    try:
        content = json.loads(Path(tasks).read_bytes())
        return content["tasks"] if isinstance(content, dict) else content
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"expected tasks in {tasks}, got {type(error).__name__}") from error


def _task(number: int, task: Mapping, functions: Mapping[str, FunctionRows]) -> TableTask:
    try:
        kind, name = str(task["kind"]), str(task["function"])
        rows = [np.asarray(task[part], dtype=int).reshape(-1) for part in ("context", "target")]
    except (KeyError, TypeError, ValueError) as error:
        wanted = "kind, function, context and target"
        raise ValueError(f"expected {wanted} in task {number}, got {task!r:.80}") from error
    if name not in functions:
        raise ValueError(f"expected a function of the table in task {number}, got {name!r}")
    count = len(functions[name].x)
    if any(part.size and not 0 <= part.min() <= part.max() < count for part in rows):
        raise ValueError(f"expected rows 0 to {count - 1} of {name!r} in task {number}, got others")
    context, target = (_observed(functions[name], part) for part in rows)
    if not len(target.x):
        raise ValueError(f"expected targets with values in task {number}, got none")
    return TableTask(kind, name, context, target)


def _observed(rows: FunctionRows, chosen: np.ndarray) -> FunctionRows:
    chosen = chosen[np.isfinite(rows.y[chosen]).any(axis=1)]
    return FunctionRows(rows.x[chosen], rows.y[chosen])


def spread_tasks(tasks: Any, num: int) -> list[Mapping[str, Any]]:
    """At most so many tasks of every kind, evenly spread over functions.

    Of every kind first the first task of every function, then the second ones, and so on; of a
    round that is too long the functions at equal distances in their order.

    Args:
        tasks: Tasks as dictionaries, or the path of a JSON file that holds them under "tasks".
        num: Most tasks of a kind.

    Returns:
        Tasks in their order; the same for the same tasks and number.
    """
    _validation.at_least(1, num=num)
    found, rounds, seen = load_tasks(tasks), {}, {}
    for number, task in enumerate(found):
        of_function = task["kind"], task["function"]
        seen[of_function] = seen.get(of_function, -1) + 1
        rounds.setdefault(task["kind"], {}).setdefault(seen[of_function], []).append(number)
    kept: list[int] = []
    for of_kind in rounds.values():
        left = num
        for numbers in of_kind.values():
            count = min(left, len(numbers))
            kept += [numbers[int((i + 0.5) * len(numbers) / count)] for i in range(count)]
            left -= count
    return [found[number] for number in sorted(kept)]
