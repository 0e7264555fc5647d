"""Independent conditioning tasks from lists, long tables and datasets, read one at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from geomndp import _validation
from geomndp.tables import is_table

COUNTS = {2: "(observations, targets)", 3: "(x, y, targets)"}


class TaskError(Exception):
    """An error that names its task."""


class TaskValueError(TaskError, ValueError):
    """What does not fit a model, in one task."""


class TaskFloatingPointError(TaskError, FloatingPointError):
    """Values that became NaN or infinite, in one task."""


class TaskMemoryError(TaskError, MemoryError):
    """More memory than there is, for one task."""


KINDS = {
    ValueError: TaskValueError,
    FloatingPointError: TaskFloatingPointError,
    MemoryError: TaskMemoryError,
}


class Task(NamedTuple):
    """Observations of one function, and where it is asked for.

    Attributes:
        name: What messages and results call it.
        x: Inputs (n, d) of the observations, or a table of them with the values.
        y: Observed values (n, p), None beside a table.
        targets: Inputs (m, d) of the targets, or a table.
    """

    name: Any
    x: Any
    y: Any
    targets: Any


class Tasks:
    """Tasks of one request; what a lazy dataset holds of one is loaded when it is asked for."""

    def __init__(self, names: list[Any], read: Any):
        """Tasks by name, with the function that reads the one of a number."""
        self.names, self._read = names, read

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        name = self.names[number]
        with named_errors(name):
            return Task(name, *self._read(number))

    def __iter__(self) -> Iterator[Task]:
        return (self[number] for number in range(len(self)))


@contextlib.contextmanager
def named_errors(name: Any) -> Iterator[None]:
    """Context manager: errors of a task say which one it is, once."""
    try:
        yield
    except TaskError:
        raise
    except (ValueError, FloatingPointError, MemoryError) as error:
        kind = next(k for k in KINDS if isinstance(error, k))
        raise KINDS[kind](f"task {name!r}: {error}") from error


def read_tasks(tasks: Any, targets: Any = None, task: str = "task") -> Tasks:
    """Tasks of a request.

    Args:
        tasks: A list, or a mapping by name, of (x, y, targets) or of (table, targets); a DataFrame
            with a column `task`; or a Dataset with a dimension `task`, lazy or not.
        targets: Of a DataFrame or Dataset of observations: a table with that column or dimension
            too, or inputs or a table that all tasks share.
        task: Name of the column or dimension.

    Raises:
        ValueError: If a task lacks observations or targets.
    """
    if not is_table(tasks):
        if targets is not None:
            raise ValueError("expected targets inside each task of a list, got a second argument")
        return _listed(tasks)
    if targets is None:
        raise ValueError("expected targets beside a table of observations, got none")
    names, context = _parts(tasks, task, "observations")
    if not is_table(targets) or not _has(targets, task):
        return Tasks(names, lambda number: (context(number), None, targets))
    target_names, target = _parts(targets, task, "targets")
    numbers = {name: number for number, name in enumerate(target_names)}
    for some, others, what in ((names, numbers, "targets"), (numbers, set(names), "observations")):
        if missing := [name for name in some if name not in others]:
            raise ValueError(f"expected {what} of every task, got none of task {missing[0]!r}")
    return Tasks(names, lambda i: (context(i), None, target(numbers[names[i]])))


def _listed(tasks: Any) -> Tasks:
    if isinstance(tasks, Mapping):
        names, parts = list(tasks), list(tasks.values())
    elif isinstance(tasks, Sequence) and not isinstance(tasks, str):
        names, parts = list(range(len(tasks))), tasks
    else:
        got = type(tasks).__name__
        raise ValueError(f"expected a list of tasks, a mapping or a table, got {got}")

    def read(number: int) -> tuple[Any, Any, Any]:
        part = parts[number]
        if not isinstance(part, (tuple, list)) or len(part) not in COUNTS:
            got = f"{type(part).__name__} of {len(part)}" if hasattr(part, "__len__") else part
            raise ValueError(f"expected {' or '.join(COUNTS.values())}, got {got}")
        return (part[0], part[1], part[2]) if len(part) == 3 else (part[0], None, part[1])

    return Tasks(names, read)


def _has(table: Any, task: str) -> bool:
    return task in (table.columns if hasattr(table, "columns") else table.dims)


def _parts(table: Any, task: str, what: str) -> tuple[list[Any], Any]:
    """Names of a table's tasks, and the function that gives the rows of one."""
    if not _has(table, task):
        kind = "column" if hasattr(table, "columns") else "dimension"
        raise ValueError(f"expected a {kind} {task!r} of the {what}, got none")
    if not hasattr(table, "columns"):  # a Dataset
        count = table.sizes[task]
        names = table[task].values.tolist() if task in table.coords else list(range(count))
        _distinct(names, task)
        return (
            names,
            lambda number: table.isel({task: number}).drop_vars(task, errors="ignore").load(),
        )
    column = table[task]
    if column.isna().any():
        row = int(np.flatnonzero(column.isna())[0])
        raise ValueError(f"expected a task in every row of the {what}, got none in row {row}")
    rows = table.groupby(task, sort=False).indices
    names = list(dict.fromkeys(column.tolist()))
    rest = table.drop(columns=[task])
    rest.attrs = table.attrs
    return names, lambda number: rest.iloc[np.sort(rows[names[number]])].reset_index(drop=True)


def _distinct(names: list[Any], task: str) -> None:
    if len(set(names)) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            f"expected distinct coordinates {task!r}, got {_validation.brief(repeated)}"
        )
