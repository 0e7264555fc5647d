"""Random tasks on the functions of a table, the same whatever the order of its rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from geomndp import _validation
from geomndp._warnings import warn_at_request
from geomndp.evaluate.table_tasks import FunctionRows

FORECAST = "forecast"
FORECAST_SHARE = 0.4  # of the points of a function, first by the first input


def random_tasks(
    functions: Mapping[str, FunctionRows],
    *,
    contexts: Sequence[int] = (3, 10),
    forecast: bool = False,
    max_targets: int = 60,
    repeats: int = 1,
    seed: int = 0,
) -> list[dict[str, Any]]:
    """Draw tasks: random context points, and forecasts from the first points of a function.

    A draw depends on the seed, the kind of task, the label of the function and its points, and
    neither on other functions nor on the order of rows: a table that is sorted otherwise has the
    same tasks.

    Args:
        functions: Functions by name, as `read_function_rows` gives them.
        contexts: Numbers of random context points: tasks of the kinds "ctx3", "ctx10", ...
        forecast: Whether the first 40 % of the points, by the first input, predict the others too.
        max_targets: Most target points of a task.
        repeats: Tasks of every kind per function.
        seed: Seed of all draws.

    Returns:
        Tasks, those of one kind together, functions by label and points by their inputs; rows
        without any value are in none, and functions with too few others have none. A kind of which
        no function has any warns.

    Raises:
        ValueError: If no function has points enough.
    """
    _validation.at_least(1, max_targets=max_targets, repeats=repeats)
    _validation.at_least(0, **{f"context {number}": c for number, c in enumerate(contexts)})
    counts: dict[str, int | None] = {f"ctx{count}": count for count in contexts}
    if forecast:
        counts[FORECAST] = None
    ordered = {label: by_location(functions[label]) for label in sorted(functions)}
    tasks = []
    for kind, count in counts.items():
        for repeat in range(repeats):
            for label, order in ordered.items():
                rng = _generator(seed, kind, repeat, label)
                context, target = _split(order, count, max_targets, rng)
                if len(target):
                    parts = {"context": context.tolist(), "target": target.tolist()}
                    tasks.append({"kind": kind, "function": label, **parts})
    if not tasks:
        least = min(contexts, default=2)
        raise ValueError(f"expected functions of more than {least} points, got none")
    if empty := set(counts) - {task["kind"] for task in tasks}:
        listed = ", ".join(sorted(empty))
        warn_at_request(f"no function has points enough for tasks of {listed}", UserWarning)
    return tasks


def by_location(rows: FunctionRows) -> np.ndarray:
    """Numbers of the rows with a value, in the order of their inputs and then of their values."""
    observed = np.flatnonzero(np.isfinite(rows.y).any(axis=1))
    columns = np.concatenate([rows.x, rows.y], axis=1)[observed]
    return observed[np.lexsort(columns.T[::-1])]


def _split(
    order: np.ndarray, count: int | None, max_targets: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of context and targets, each by location; without a count the first are the context."""
    positions = np.arange(len(order))
    if count is None:
        count = max(2, int(np.ceil(FORECAST_SHARE * len(order))))
    else:
        positions = rng.permutation(positions)
    target = rng.permutation(positions[count:])[:max_targets]
    return order[np.sort(positions[:count])], order[np.sort(target)]


def _generator(*labels: Any) -> np.random.Generator:
    """Random numbers of their own for every tuple of labels."""
    digest = hashlib.sha256(repr(labels).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, np.uint32))
