"""Tasks of similar sizes side by side: padded arrays with masks, few shapes for all tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from geomndp._types import Array
from geomndp.data.transformed_outputs import inside
from geomndp.evaluate.table_tasks import FunctionRows, TableTask

MAX_SHAPES = 2
"""Most shapes of tasks: to compile one takes as long as a hundred tasks of a small network."""


class PaddedTasks(NamedTuple):
    """Tasks of one padded size; masks are (b, n), or (b, n, p) where rows lack some outputs.

    A mask is None where every value of every task is there.
    """

    context_x: Array
    context_y: Array
    context_mask: Array | None
    x: Array
    y: Array
    mask: Array | None

    @staticmethod
    def of(tasks: Sequence[TableTask]) -> PaddedTasks:
        """Pad tasks to the largest: inputs by their last row, values by the last one too."""
        context = _pad([task.context for task in tasks])
        return PaddedTasks(*context, *_pad([task.target for task in tasks]))

    def real(self) -> Array:
        """1 for target values that are there, 0 for others, shape (b, n, p)."""
        if self.mask is None:
            return jnp.ones_like(self.y)
        return jnp.broadcast_to(self.mask.reshape(*self.y.shape[:2], -1), self.y.shape)


def _pad(parts: list[FunctionRows]) -> tuple[Array, Array, Array | None]:
    size, dtype = max(len(rows.x) for rows in parts), jnp.result_type(float)
    d, p = parts[0].x.shape[1], parts[0].y.shape[1]
    x, y = np.zeros((len(parts), size, d)), np.full((len(parts), size, p), np.nan)
    for number, rows in enumerate(parts):
        n = len(rows.x)
        x[number, :n], y[number, :n] = rows.x, rows.y
        x[number, n:] = rows.x[-1] if n else 0.0
    there = np.isfinite(y)
    whole = bool(np.all(there.any(axis=2) == there.all(axis=2)))
    mask = None
    if not there.all():
        mask = jnp.asarray(there.all(axis=2) if whole else there, dtype)
    # The last value for those missing: on a manifold zero would be no point.
    filled = np.where(there, y, _last_rows(parts)[:, None])
    return jnp.asarray(x, dtype), jnp.asarray(filled, dtype), mask


def _last_rows(parts: list[FunctionRows]) -> np.ndarray:
    last = [rows.y[-1] if len(rows.y) else np.zeros(parts[0].y.shape[1]) for rows in parts]
    return np.nan_to_num(np.stack(last))


def without_impossible(task: TableTask, process: Any) -> TableTask:
    """A task whose context lacks the values that a process holds impossible.

    A logarithm knows no negative value: given one, a process says nothing. Such a value counts as
    missing, so that the others are answered.

    Args:
        task: The task.
        process: What is evaluated; a transform of its outputs has a domain.

    Returns:
        The task itself where all values are possible.
    """
    transforms = getattr(getattr(process, "normaliser", None), "transform", ())
    x, y = task.context
    if not transforms or not len(y):
        return task
    possible = np.isnan(y) | np.asarray(inside(transforms, y))
    if possible.all():
        return task
    y = np.where(possible, y, np.nan)
    rows = np.isfinite(y).any(axis=1)
    return task._replace(context=FunctionRows(x[rows], y[rows]))


def similar_sizes(tasks: Sequence[TableTask], most: int = MAX_SHAPES) -> list[np.ndarray]:
    """Indices of tasks of similar numbers of context and of target points.

    Those with the same powers of two stand together, apart from those with gaps. While there are
    more than `most` groups, the smallest joins the nearest in size; tasks without a context stand
    apart from those with one.

    Args:
        tasks: Tasks.
        most: Most groups of tasks with a context, and of those without.

    Returns:
        Groups of indices, by the first of each.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, task in enumerate(tasks):
        sizes = [(max(len(part.x), 1) - 1).bit_length() for part in (task.context, task.target)]
        gappy = any(np.isnan(part.y).any() for part in (task.context, task.target))
        groups.setdefault((len(task.context.x) == 0, gappy, *sizes), []).append(number)
    for free in (False, True):
        sizes = [size for size in groups if size[0] == free]
        while len(sizes) > most:
            smallest = min(sizes, key=lambda size: len(groups[size]))
            sizes.remove(smallest)
            away = [sum(abs(np.subtract(size, smallest))) for size in sizes]
            groups[sizes[int(np.argmin(away))]] += groups.pop(smallest)
    return sorted((np.sort(rows) for rows in groups.values()), key=lambda rows: rows[0])
