"""Metrics of tasks: means per kind, standard errors over functions, paired differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

ROOTS = {"squared_error": "rmse"}
"""Metrics whose root is shown, and its name."""


class TaskMetrics(NamedTuple):
    """Metrics of a process on tasks.

    Attributes:
        kind: Kind of every task.
        function: Name of the function of every task; tasks of one function are dependent.
        values: One value per task by metric, each the mean over the task's target values: `joint`
            and `marginal` in nats per target value, `joint_error` (of solver and probes), `crps`
            and `squared_error` in units of the training standard deviation, `coverage` of the
            central 90 % interval. For tracks per target point and km2, with `error_km` and
            `energy_km`.
        pit: Probability integral transforms, shape (tasks, values), NaN where there is none.
    """

    kind: tuple[str, ...]
    function: tuple[str, ...]
    values: dict[str, np.ndarray]
    pit: np.ndarray

    def kinds(self) -> tuple[str, ...]:
        """Kinds of tasks in the order of their first."""
        return tuple(dict.fromkeys(self.kind))

    def of_kind(self, kind: str) -> TaskMetrics:
        """The tasks of one kind."""
        rows = np.flatnonzero(np.asarray(self.kind) == kind)
        names = tuple(self.function[row] for row in rows)
        values = {name: column[rows] for name, column in self.values.items()}
        return TaskMetrics((kind,) * len(rows), names, values, self.pit[rows])

    def summary(self) -> dict[str, dict[str, Any]]:
        """Means over the tasks of a kind with standard errors over functions.

        Returns:
            Kind -> {"tasks": number, metric: [mean, standard error or None]}, JSON-serialisable.
        """
        return {kind: _summary(self.of_kind(kind)) for kind in self.kinds()}

    def over_kinds(self) -> dict[str, list[float | None]]:
        """Means over kinds of the means over tasks, every kind the same, of every metric.

        Returns:
            Metric -> [mean, standard error over functions, None for one].
        """
        return {name: list(_over_kinds(self, values)) for name, values in self.values.items()}

    def frame(self) -> Any:
        """One row per task: its kind, its function and its metrics, a DataFrame."""
        import pandas as pd

        return pd.DataFrame({"kind": self.kind, "function": self.function, **self.values})


def over_functions(
    values: np.ndarray, functions: Iterable[Any], weights: np.ndarray | None = None
) -> tuple[float, float | None]:
    """Mean over tasks, and its standard error from leaving out one function at a time.

    Where all functions have the same tasks, the error is the standard deviation of their means over
    the root of their number; a function of more tasks than others has a larger part in both.

    Args:
        values: One value per task.
        functions: Name of the function of every task.
        weights: Weight of every task; by default all are equal. They sum to one.

    Returns:
        The mean, and its error (jackknife, Efron 1982); None for one function, and where a value is
        infinite.
    """
    weights = np.full(len(values), 1 / len(values)) if weights is None else weights
    mean, labels = float(np.sum(weights * values)), np.asarray(list(functions))
    index = np.unique(labels, return_inverse=True)[1].reshape(-1)
    count = index.max() + 1
    if count < 2 or not np.all(np.isfinite(values)):
        return mean, None
    share = np.bincount(index, weights * (values - mean)) / (1 - np.bincount(index, weights))
    return mean, float(np.sqrt(np.sum(share**2) * (count - 1) / count))


def _summary(part: TaskMetrics) -> dict[str, Any]:
    result: dict[str, Any] = {"tasks": len(part.kind)}
    for name, column in part.values.items():
        mean, error = over_functions(column, part.function)
        if name in ROOTS:
            root = float(np.sqrt(mean))
            mean, error = root, None if error is None or root == 0 else error / (2 * root)
        result[ROOTS.get(name, name)] = [mean, error]
    return result


class Difference(NamedTuple):
    """Paired difference of two processes on the same tasks.

    Attributes:
        kind: Kind of the tasks; "all" is the mean over the kinds.
        metric: What is compared.
        mean: First minus second.
        standard_error: Over functions; None for one function.
    """

    kind: str
    metric: str
    mean: float
    standard_error: float | None


def paired_differences(
    first: TaskMetrics, second: TaskMetrics, metrics: Iterable[str] = ("joint", "marginal", "crps")
) -> list[Difference]:
    """Differences of two processes, kind by kind and over all kinds.

    Args:
        first: Metrics of one process.
        second: Those of another on the same tasks.
        metrics: Names of the metrics to compare, of those that both have.

    Returns:
        One difference per metric and kind, then that of the mean over kinds, with its standard
        error from the functions' means over kinds.

    Raises:
        ValueError: If the tasks are not the same.
    """
    if first.kind != second.kind or first.function != second.function:
        raise ValueError("expected metrics of the same tasks, got others")
    differences = []
    for metric in (name for name in metrics if name in first.values and name in second.values):
        gap = first.values[metric] - second.values[metric]
        for kind in first.kinds():
            rows = np.asarray(first.kind) == kind
            labels = np.asarray(first.function)[rows]
            differences.append(Difference(kind, metric, *over_functions(gap[rows], labels)))
        differences.append(Difference("all", metric, *_over_kinds(first, gap)))
    return differences


def _over_kinds(tasks: TaskMetrics, values: np.ndarray) -> tuple[float, float | None]:
    """Mean over kinds of the means over tasks, with a standard error over functions."""
    _, kind, counts = np.unique(tasks.kind, return_inverse=True, return_counts=True)
    weights = 1 / (len(counts) * counts[kind.reshape(-1)])
    return over_functions(values, tasks.function, weights)


def compare(metrics: Mapping[str, TaskMetrics]) -> Any:
    """Processes side by side, with paired differences to the first.

    Args:
        metrics: Metrics by name of the process, all on the same tasks.

    Returns:
        A DataFrame, one row per kind and process: the mean of every metric, `joint_se`, and
        `joint_gain` (the first minus this one, nats per target value) with `joint_gain_se`.

    Raises:
        ValueError: If the tasks are not the same.
    """
    import pandas as pd

    reference, rows = next(iter(metrics.values())), []
    for name, each in metrics.items():
        gains = {d.kind: d for d in paired_differences(reference, each, ("joint",))}
        for kind, summary in each.summary().items():
            means = {key: pair[0] for key, pair in summary.items() if key != "tasks"}
            row = {"kind": kind, "process": name, "tasks": summary["tasks"], **means}
            if "joint" in summary:
                row["joint_se"] = summary["joint"][1]
                row["joint_gain"], row["joint_gain_se"] = gains[kind][2:]
            rows.append(row)
    order = {kind: number for number, kind in enumerate(reference.kinds())}
    return pd.DataFrame(sorted(rows, key=lambda row: order[row["kind"]]))
