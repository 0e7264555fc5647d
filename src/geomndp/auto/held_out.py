"""Log-densities of validation tasks under a candidate: of the targets, and of the contexts."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Batch, PRNGKeyArray
from geomndp.auto.validation import ValidationTasks
from geomndp.evaluate import log_likelihood
from geomndp.geometry import Hutchinson
from geomndp.likelihood import Flow
from geomndp.model import Model
from geomndp.predictive import AbstractProcess

VALIDATION_FLOW = Flow(steps=6, divergence=Hutchinson(2, chunk=2), terminal="tweedie")
"""Common probes and few steps: differences between candidates, not digits, are asked for."""
BATCH_SIZE = 16


class HeldOut(NamedTuple):
    """Log-densities in nats of every task, shape (tasks,), in the units of its values.

    Attributes:
        targets: Joint log-density of all targets given the context.
        context: Joint log-density of the context itself, by which a mixture's weights change.
    """

    targets: np.ndarray
    context: np.ndarray

    def per_value(self, tasks: ValidationTasks) -> np.ndarray:
        """Nats per target value of every task."""
        return self.targets / tasks.num_values()

    def take(self, rows: np.ndarray) -> HeldOut:
        """Those of some tasks."""
        return HeldOut(self.targets[rows], self.context[rows])


def held_out(process: AbstractProcess, tasks: ValidationTasks, *, key: PRNGKeyArray) -> HeldOut:
    """Measure a candidate on validation tasks.

    Exact laws are computed in float64; trained models in their own precision, with probes that
    all of them have in common.

    Args:
        process: A law in the units of the tasks.
        tasks: The tasks.
        key: Random key of the probes.

    Returns:
        Log-densities of targets and contexts; -inf where one is not finite.
    """
    targets = target_log_likelihood(process, tasks, key=key)
    return HeldOut(targets, target_log_likelihood(process, tasks.contexts(), key=key))


def target_log_likelihood(
    process: AbstractProcess, tasks: ValidationTasks, *, key: PRNGKeyArray
) -> np.ndarray:
    """Joint log-density of the targets of every task given its context.

    Args:
        process: A law in the units of the tasks.
        tasks: The tasks.
        key: Random key of the probes.

    Returns:
        Nats, shape (tasks,); -inf where the result is not finite.
    """
    learnt = isinstance(process, Model)
    options: dict[str, Any] = {"flow": VALIDATION_FLOW, "key": key} if learnt else {}
    law = process if learnt else with_array_parameters(process)
    count, values = len(tasks.function), []
    with nullcontext() if learnt else jax.enable_x64(True):
        dtype = jnp.result_type(float)
        for rows in full_batches(count, BATCH_SIZE):
            batch = Batch(*(jnp.asarray(part[rows], dtype) for part in tasks[:4]))
            found = log_likelihood(
                law, batch, num_context=tasks.num_context, batch_size=BATCH_SIZE, **options
            )
            values.append(np.asarray(found.value, np.float64))
    values = np.concatenate(values)[:count]
    return np.where(np.isfinite(values), values, -np.inf)


def full_batches(count: int, size: int) -> np.ndarray:
    """Rows of batches of one size, shape (batches, size): one program for any number of tasks.

    Args:
        count: Number of rows.
        size: Size of a batch.

    Returns:
        Rows in order; the last one again and again where they are used up.
    """
    return np.minimum(np.arange(-(-count // size) * size), count - 1).reshape(-1, size)


def with_array_parameters(process: Any) -> Any:
    """Numbers as arrays: processes that differ in their values alone share a compiled program.

    Args:
        process: A process.

    Returns:
        The process with arrays instead of floats.
    """
    return jax.tree.map(lambda leaf: np.asarray(leaf) if isinstance(leaf, float) else leaf, process)
