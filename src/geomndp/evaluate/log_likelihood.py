"""Log-likelihoods of tasks under anything that can be conditioned: totals, with their counts."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.evaluate.resumable import AbstractMeasurement, RunOptions
from geomndp.evaluate.tasks import TaskLayout, arrange
from geomndp.predictive import AbstractProcess


class LogLikelihoods(NamedTuple):
    """Joint log-density of all targets of every task given its context.

    Attributes:
        value: Nats, shape (tasks,).
        solver_error: Estimated error of the solve, nats.
        probe_error: Standard error from random probes, nats.
        num_targets: Number of targets.
    """

    value: Float[Array, " tasks"]
    solver_error: Float[Array, " tasks"]
    probe_error: Float[Array, " tasks"]
    num_targets: Float[Array, " tasks"]

    def per_target(self) -> PerTarget:
        """Log-likelihood in nats per target."""
        return PerTarget(*(values / self.num_targets for values in self[:3]))


class PerTarget(NamedTuple):
    """Nats per target of every task, with the errors of its computation."""

    value: Float[Array, " tasks"]
    solver_error: Float[Array, " tasks"]
    probe_error: Float[Array, " tasks"]


class LogLikelihoodOf(AbstractMeasurement):
    """Log-density of each task's targets given its context.

    Attributes:
        layout: Where tasks have their context.
        options: Further arguments of the law's `log_prob_info`.
        batch_size: Tasks side by side on a device.
    """

    layout: TaskLayout
    options: dict[str, Any]
    batch_size: int = eqx.field(static=True)

    def __call__(self, process, items):
        """Items are tasks and, for random probes, one key per task (else None)."""

        def one(item):
            task, key = self.layout.split(item[0]), item[1]
            law = process.condition(task.context_x, task.context_y, mask=task.context_mask)
            info = law.log_prob_info(task.x, task.y, key=key, mask=task.mask, **self.options)
            errors = info.solver_error, info.probe_error
            return LogLikelihoods(info.value, *errors, task.num_targets())._asdict()

        count = len(jax.tree.leaves(items)[0])
        return jax.lax.map(one, items, batch_size=min(self.batch_size, count))


def log_likelihood(
    process: AbstractProcess,
    tasks: Batch,
    *,
    num_context: int | None = None,
    key: PRNGKeyArray | None = None,
    **options: Any,
) -> LogLikelihoods:
    """Joint log-density of the targets of every task given its context.

    Args:
        process: What is evaluated: a `Model`, an exact `GP`, a baseline, a process of your own.
        tasks: Functions with their context.
        num_context: The first so many rows of every task are its (padded) context; None: the rows
            that `tasks.context` marks.
        key: For laws with random probes; None: exact.
        **options: Fields of `RunOptions`: `batch_size` (64), `block_size` (256), `directory`, which
            keeps finished blocks, and `devices`. All others are arguments of the law's own
            `log_prob_info`, such as `flow` and `route` of a model.

    Returns:
        Totals per task, with the number of targets.

    Example:
        ```python
        totals = log_likelihood(gp, tasks, num_context=10)
        print(summarise(totals.per_target().value))
        ```
    """
    run, options = RunOptions.take(options, batch_size=64)
    layout, arrays = arrange(tasks, num_context)
    keys = None if key is None else jr.split(key, len(tasks.y))
    measurement = LogLikelihoodOf(layout, options, run.batch_size)
    return LogLikelihoods(**run.measure(measurement, process, (arrays, keys)))


class Summary(NamedTuple):
    """Mean over tasks and its standard error."""

    mean: float
    standard_error: float


def summarise(values: Float[Array, " tasks"]) -> Summary:
    """Mean over tasks with its standard error.

    Args:
        values: One value per task.

    Returns:
        Mean and standard error, plain numbers.
    """
    error = jnp.std(values, ddof=1) / jnp.sqrt(jnp.asarray(len(values), values.dtype))
    return Summary(float(jnp.mean(values)), float(error))
