"""Predictive samples against the targets that they predict, task by task."""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.evaluate.ensemble import crps, pit
from geomndp.evaluate.resumable import AbstractMeasurement, RunOptions
from geomndp.evaluate.tasks import TaskLayout, arrange
from geomndp.evaluate.value_metrics import draw
from geomndp.linalg import row_mask
from geomndp.predictive import AbstractProcess


class Calibration(NamedTuple):
    """Ranks and scores of real-valued targets among samples of their predictive law.

    Attributes:
        pit: Probability integral transform of every value, shape (tasks, n p); NaN for padding.
        crps: Continuous ranked probability score, the total over the values of a task.
        num_values: Number of values of a task.
    """

    pit: Float[Array, "tasks values"]
    crps: Float[Array, " tasks"]
    num_values: Float[Array, " tasks"]

    def mean_crps(self) -> Float[Array, " tasks"]:
        """CRPS per value, of every task."""
        return self.crps / self.num_values


class CalibrationOf(AbstractMeasurement):
    """PIT and CRPS of every task, from samples of its predictive law.

    Attributes:
        layout: Where tasks have their context.
        num_samples: Samples per task.
        options: Further arguments of the law's `sample`.
        batch_size: Tasks side by side on a device.
    """

    layout: TaskLayout
    num_samples: int = eqx.field(static=True)
    options: dict[str, Any]
    batch_size: int = eqx.field(static=True)

    def __call__(self, process, items):
        """Items are tasks and one key per task."""

        def one(item):
            task, (sample_key, rank_key) = self.layout.split(item[0]), jr.split(item[1])
            law = process.condition(task.context_x, task.context_y, mask=task.context_mask)
            request = {"key": sample_key, "num_samples": self.num_samples, **self.options}
            samples = draw(law, task.x, row_mask(task.mask), **request)
            ranks, scores = pit(samples, task.y, key=rank_key), crps(samples, task.y)
            real = task.real_values()
            ranks, scores = jnp.where(real > 0, ranks, jnp.nan), jnp.where(real > 0, scores, 0.0)
            return Calibration(ranks.reshape(-1), jnp.sum(scores), jnp.sum(real))._asdict()

        return jax.lax.map(one, items, batch_size=min(self.batch_size, len(items[1])))


def calibration(
    process: AbstractProcess,
    tasks: Batch,
    *,
    key: PRNGKeyArray,
    num_samples: int = 128,
    num_context: int | None = None,
    **options: Any,
) -> Calibration:
    """PIT and CRPS of the targets of every task among samples given its context.

    Args:
        process: What is evaluated: a `Model`, an exact `GP`, a baseline, a process of your own.
        tasks: Functions of real values with their context.
        key: Random key.
        num_samples: Samples per task, at least 2.
        num_context: The first so many rows of every task are its (padded) context; None: the rows
            that `tasks.context` marks.
        **options: Fields of `RunOptions`: `batch_size` (16), `block_size` (256), `directory`, which
            keeps finished blocks, and `devices`. All others are arguments of the law's own
            `sample`, such as the `sampler` of a model.

    Returns:
        Ranks, and totals of scores per task.
    """
    run, options = RunOptions.take(options)
    layout, arrays = arrange(tasks, num_context)
    measurement = CalibrationOf(layout, num_samples, options, run.batch_size)
    items = (arrays, jr.split(key, len(tasks.y)))
    return Calibration(**run.measure(measurement, process, items))


def interval_coverage(pit: Array, level: float) -> Array:
    """1 where a target lies in the central interval of probability `level`, by its PIT.

    The rank is randomised, so that the right law covers `level` exactly, up to the level
    1 - 2 / (s + 1) of s samples; beyond it about, as `pit` extrapolates tails.

    Args:
        pit: Probability integral transforms, any shape.
        level: Probability of the interval.

    Returns:
        Zeros and ones of the same shape.
    """
    return (jnp.abs(pit - 0.5) <= level / 2).astype(pit.dtype)
