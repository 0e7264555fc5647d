"""Metrics of predictive samples on a manifold, task by task: errors, energy score, coverage."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Batch, PRNGKeyArray
from geomndp.evaluate.geodesic import PathMetrics, path_metrics
from geomndp.evaluate.resumable import AbstractMeasurement, RunOptions
from geomndp.evaluate.tasks import TaskLayout, arrange
from geomndp.evaluate.value_metrics import draw
from geomndp.geometry import AbstractManifold
from geomndp.predictive import AbstractProcess


class MetricsOf(AbstractMeasurement):
    """Path metrics of every task, from samples of its predictive law.

    Attributes:
        layout: Where tasks have their context.
        manifold: Where the values live.
        num_samples: Samples per task.
        options: Further arguments of the law's `sample`.
        batch_size: Tasks side by side on a device.
    """

    layout: TaskLayout
    manifold: AbstractManifold
    num_samples: int = eqx.field(static=True)
    options: dict[str, Any]
    batch_size: int = eqx.field(static=True)

    def __call__(self, process, items):
        """Items are tasks, and two keys per task: of the samples and of the ranks."""

        def one(item):
            task, sample_key, rank_key = self.layout.split(item[0]), *item[1:]
            law = process.condition(task.context_x, task.context_y, mask=task.context_mask)
            request = {"key": sample_key, "num_samples": self.num_samples, **self.options}
            samples = draw(law, task.x, task.mask, **request)
            per_target = path_metrics(self.manifold, samples, task.y, key=rank_key)
            if task.mask is not None:
                real = task.mask > 0
                per_target = PathMetrics(
                    *(jnp.where(real, values, jnp.nan) for values in per_target)
                )
            return per_target._asdict()

        return jax.lax.map(one, items, batch_size=min(self.batch_size, len(items[1])))


def metrics(
    process: AbstractProcess,
    tasks: Batch,
    manifold: AbstractManifold,
    *,
    key: PRNGKeyArray,
    num_samples: int = 50,
    num_context: int | None = None,
    **options: Any,
) -> PathMetrics:
    """Metrics of samples of the targets of every task given its context.

    Args:
        process: What is evaluated: a `Model`, an exact `GP`, a baseline, a process of your own.
        tasks: Functions with their context.
        manifold: Where the values live.
        key: Random key.
        num_samples: Samples per task, at least 2.
        num_context: The first so many rows of every task are its (padded) context; None: the rows
            that `tasks.context` marks.
        **options: Fields of `RunOptions`: `batch_size` (16), `block_size` (256), `directory`, which
            keeps finished blocks, and `devices`. All others are arguments of the law's own
            `sample`, such as the `sampler` of a model.

    Returns:
        One value per task and target, shape (tasks, n); NaN for padding.
    """
    run, options = RunOptions.take(options)
    layout, arrays = arrange(tasks, num_context)
    draw_key, rank_key = jr.split(key)
    keys = (jr.split(each, len(tasks.y)) for each in (draw_key, rank_key))
    measurement = MetricsOf(layout, manifold, num_samples, options, run.batch_size)
    return PathMetrics(**run.measure(measurement, process, (arrays, *keys)))
