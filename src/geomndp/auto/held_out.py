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

VALIDATION_FLOW = Flow(steps=6, divergence=Hutchinson(2, chunk=2))
"""Common probes and few steps: differences between candidates, not digits, are asked for."""
BATCH_SIZE = 16


class HeldOut(NamedTuple):
    """Log-densities in nats of every task, shape (tasks,), in the data's units.

    Attributes:
        targets: Joint log-density of all targets given the context.
        context: Joint log-density of the context itself, by which a mixture's weights change.
    """

    targets: np.ndarray
    context: np.ndarray

    def per_value(self, tasks: ValidationTasks) -> np.ndarray:
        """Nats per target value of every task."""
        return self.targets / tasks.num_values()


def held_out(process: AbstractProcess, tasks: ValidationTasks, *, key: PRNGKeyArray) -> HeldOut:
    """Measure a candidate on validation tasks.

    Exact laws are computed in float64; trained models in their own precision, with probes that
    all of them have in common.

    Args:
        process: A law in the data's units.
        tasks: The tasks.
        key: Random key of the probes.

    Returns:
        Log-densities of targets and contexts; -inf where one is not finite.
    """
    targets = target_log_likelihood(process, tasks, key=key)
    x, y, mask = (values[:, : tasks.num_context] for values in tasks[:3])
    contexts = tasks._replace(x=x, y=y, mask=mask, context=np.zeros_like(mask), num_context=0)
    return HeldOut(targets, target_log_likelihood(process, contexts, key=key))


def target_log_likelihood(
    process: AbstractProcess, tasks: ValidationTasks, *, key: PRNGKeyArray
) -> np.ndarray:
    """Joint log-density of the targets of every task given its context.

    Args:
        process: A law in the data's units.
        tasks: The tasks.
        key: Random key of the probes.

    Returns:
        Nats, shape (tasks,); -inf where the result is not finite.
    """
    learnt = isinstance(process, Model)
    options: dict[str, Any] = {"flow": VALIDATION_FLOW, "key": key} if learnt else {}
    with nullcontext() if learnt else jax.enable_x64(True):
        dtype = jnp.result_type(float)
        batch = Batch(*(jnp.asarray(values, dtype) for values in tasks[:4]))
        law = process if learnt else _with_array_parameters(process)
        size = min(BATCH_SIZE, len(batch.x))
        values = log_likelihood(
            law, batch, num_context=tasks.num_context, batch_size=size, **options
        ).value
        values = np.asarray(values, np.float64)
    return np.where(np.isfinite(values), values, -np.inf)


def _with_array_parameters(process: AbstractProcess) -> AbstractProcess:
    """Numbers as arrays: candidates that differ in their values alone share a compiled program."""
    return jax.tree.map(
        lambda leaf: jnp.asarray(leaf) if isinstance(leaf, (float, np.ndarray)) else leaf, process
    )
