"""Validation tasks from held-out functions, the same for every candidate, and what they measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

MAX_TARGETS = 60
MAX_CONTEXT = 60
MAX_FUNCTIONS = 160
FEW_CONTEXT = (2, 5)
MANY_CONTEXT = (6, 20)
FORECAST_SHARE = (0.25, 0.55)
"""Share of a function, in the order of its input, that a forecast starts from."""
KINDS = ("few", "many", "forecast")


class ValidationTasks(NamedTuple):
    """Tasks of all kinds in one batch, so that one program measures them all.

    Attributes:
        x: Inputs (tasks, n, d) in the data's units; the first `num_context` rows are the (padded)
            context, the others the (padded) targets.
        y: Values, shape (tasks, n, p).
        mask: 1 for real rows, shape (tasks, n), or for real values, (tasks, n, p).
        context: 1 for those of the context, of the same shape.
        num_context: Rows of the context.
        function: Row of the data set that each task was drawn from.
        kind: Name of each task's kind.
        group: Number of the group of each task's function: groups are independent of each other.
    """

    x: np.ndarray
    y: np.ndarray
    mask: np.ndarray
    context: np.ndarray
    num_context: int
    function: np.ndarray
    kind: np.ndarray
    group: np.ndarray

    def num_values(self) -> np.ndarray:
        """Number of target values of each task, shape (tasks,)."""
        return self.value_mask()[:, self.num_context :].sum(axis=(1, 2))

    def value_mask(self) -> np.ndarray:
        """1 for real values, shape (tasks, n, p)."""
        mask = self.mask if self.mask.ndim == 3 else self.mask[..., None]
        return np.broadcast_to(mask, self.y.shape)

    def take(self, rows: np.ndarray) -> ValidationTasks:
        """Some of the tasks, of the same shapes."""
        x, y, mask, context = (values[rows] for values in self[:4])
        about = (self.function[rows], self.kind[rows], self.group[rows])
        return ValidationTasks(x, y, mask, context, self.num_context, *about)

    def parts(self, count: int) -> np.ndarray:
        """One of so many parts for every task, shape (tasks,); those of a group stay together."""
        return np.unique(self.group, return_inverse=True)[1].reshape(-1) % count

    def contexts(self) -> ValidationTasks:
        """Tasks of the same shapes whose targets are the contexts, given nothing."""
        size = self.num_context
        x, y = self.x.copy(), self.y.copy()
        mask, none = np.zeros_like(self.mask), np.zeros_like(self.mask)
        rows = slice(size, 2 * size)
        x[:, rows], y[:, rows], mask[:, rows] = x[:, :size], y[:, :size], self.context[:, :size]
        return self._replace(x=x, y=y, mask=mask, context=none)

    def spread(self, most: int) -> ValidationTasks:
        """The tasks of at most so many functions, evenly spread over them."""
        chosen = _spread(np.unique(self.function), most)
        return self.take(np.flatnonzero(np.isin(self.function, chosen)))

    def by_function(self, values: np.ndarray) -> np.ndarray:
        """Means over the kinds of every function: (tasks,) to (functions,), in order of the rows.

        Every kind counts the same for a function, whatever its number of tasks.
        """
        index, weights = self.weights()
        return np.bincount(index, weights * values)

    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Index of every task's function, and the task's weight in its function's mean."""
        index = np.unique(self.function, return_inverse=True)[1].reshape(-1)
        kinds, kind = np.unique(self.kind, return_inverse=True)
        cell = index * len(kinds) + kind.reshape(-1)
        counts = np.bincount(cell, minlength=(index.max() + 1) * len(kinds))
        num_kinds = np.sum(counts.reshape(-1, len(kinds)) > 0, axis=1)
        return index, 1.0 / (counts[cell] * num_kinds[index])


def validation_tasks(
    x: np.ndarray,
    y: np.ndarray,
    mask: np.ndarray,
    rows: np.ndarray,
    *,
    seed: int,
    num_inputs: int | None = None,
    groups: Sequence[str] | None = None,
) -> ValidationTasks:
    """Draw tasks from held-out functions: few and many context points, and forecasts of curves.

    Args:
        x: Inputs of all functions, shape (b, n, d).
        y: Their values, shape (b, n, p).
        mask: Which points are real, shape (b, n), or which values, (b, n, p).
        rows: The held-out functions.
        seed: Seed of contexts and targets.
        num_inputs: How many of the first columns of x are inputs, the others are covariates; by
            default all.
        groups: One label per function: functions of one label are not independent of each other.

    Returns:
        One task per function and kind, of at most `MAX_FUNCTIONS` functions, evenly spread; a
        function with fewer than two points has none.

    Raises:
        ValueError: If no held-out function has two points.
    """
    rng = np.random.default_rng([seed, 1])
    kinds = KINDS if (num_inputs or x.shape[2]) == 1 else KINDS[:2]
    drawn = []
    there = mask if mask.ndim == 2 else np.asarray(mask.any(axis=2))
    able = rows[there[rows].sum(axis=1) > 1]
    for row in _spread(able, MAX_FUNCTIONS):
        points = np.flatnonzero(there[row])
        for kind in kinds:
            context, targets = _task(kind, x[row, points, 0], rng)
            drawn.append((row, kind, points[context], points[targets]))
    if not drawn:
        raise ValueError("expected held-out functions with at least 2 points, got none")
    num_context = max(len(context) for _, _, context, _ in drawn)
    # As many rows for targets as for contexts at least: contexts are measured by the same program.
    num_targets = max(num_context, *(len(targets) for _, _, _, targets in drawn))
    index = np.zeros((len(drawn), num_context + num_targets), int)
    real = np.zeros(index.shape)
    for i, (_, _, context, targets) in enumerate(drawn):
        for start, chosen in ((0, context), (num_context, targets)):
            index[i, start : start + len(chosen)] = chosen
            real[i, start : start + len(chosen)] = 1.0
    function = np.array([row for row, *_ in drawn])
    at = function[:, None], index
    real = real if mask.ndim == 2 else real[:, :, None] * mask[at]
    context_mask = real.copy()
    context_mask[:, num_context:] = 0.0
    arrays = (x[at], y[at], real, context_mask)
    kind = np.array([name for _, name, *_ in drawn])
    labels = np.arange(len(x)) if groups is None else np.unique(groups, return_inverse=True)[1]
    return ValidationTasks(*arrays, num_context, function, kind, labels.reshape(-1)[function])


def _task(kind: str, first_input: np.ndarray, rng: np.random.Generator):
    """Positions of context and targets among the real points of a function."""
    count = len(first_input)
    if kind == "forecast":
        order = np.argsort(first_input, kind="stable")
        size = int(np.clip(round(rng.uniform(*FORECAST_SHARE) * count), 1, count - 1))
    else:
        order = rng.permutation(count)
        low, high = FEW_CONTEXT if kind == "few" else MANY_CONTEXT
        high = max(1, min(high, count // 2))
        size = int(rng.integers(min(low, high), high + 1))
    return _thinned(order[:size], MAX_CONTEXT, rng), _thinned(order[size:], MAX_TARGETS, rng)


def _thinned(points: np.ndarray, most: int, rng: np.random.Generator) -> np.ndarray:
    """At most so many of the points, at random."""
    return points if len(points) <= most else np.sort(rng.choice(points, most, replace=False))


def _spread(rows: np.ndarray, most: int) -> np.ndarray:
    """At most so many of the rows, evenly spread over them."""
    if len(rows) <= most:
        return rows
    return rows[np.round(np.linspace(0, len(rows) - 1, most)).astype(int)]
