"""The measurement of one padded task: one law, its density, its marginals."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array
from geomndp.evaluate.calibration import interval_coverage
from geomndp.evaluate.geodesic import path_metrics
from geomndp.evaluate.resumable import AbstractMeasurement
from geomndp.evaluate.table_tasks import FunctionRows, TableTask
from geomndp.evaluate.value_metrics import draw, value_metrics
from geomndp.geometry import Sphere
from geomndp.geometry.geodesy import EARTH_RADIUS_KM
from geomndp.predictive import AbstractPredictive, AbstractProcess

LEVEL = 0.9  # of the central intervals
TARGETS_AT_ONCE = 64


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
        """Pad tasks to the largest: inputs by their last row, values by zero."""
        context = _pad([task.context for task in tasks])
        return PaddedTasks(*context, *_pad([task.target for task in tasks]))


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


class TaskMeasurement(AbstractMeasurement):
    """Metrics of every task, each the mean over its target values.

    Attributes:
        scale: Training standard deviation of every output.
        sphere: Whether values are points of the sphere, evaluated in km.
        num_samples: Samples per task, where they are needed.
        exact: Whether divergences are exact.
        batch_size: Tasks side by side on a device.
        density: Further arguments of `log_prob_info`.
        sampling: Further arguments of `sample`.
        separate_values: Whether outputs of a row have marginal densities of their own.
    """

    scale: tuple[float, ...] = eqx.field(static=True)
    sphere: bool = eqx.field(static=True)
    num_samples: int = eqx.field(static=True)
    exact: bool = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)
    density: dict[str, Any]
    sampling: dict[str, Any]
    separate_values: bool = eqx.field(default=False, static=True)

    def with_separate_values(self, separate: bool) -> TaskMeasurement:
        """The same measurement with marginal densities of single outputs, or of whole rows."""
        return dataclasses.replace(self, separate_values=separate)

    def __call__(self, process, items):
        """Items are padded tasks and one key per task."""
        count = len(items[1])
        return jax.lax.map(
            lambda item: self.one(process, *item), items, batch_size=min(self.batch_size, count)
        )

    def one(self, process: AbstractProcess, task: PaddedTasks, key) -> dict[str, Array]:
        """Metrics of one task."""
        density_key, marginal_key = jr.split(key)
        law = process.condition(task.context_x, task.context_y, mask=task.context_mask)
        real = _values_there(task)
        info = law.log_prob_info(
            task.x,
            task.y,
            key=None if self.exact else density_key,
            mask=task.mask,
            **self.density,
        )
        count = jnp.sum(real[:, 0]) if self.sphere else jnp.sum(real)
        error = jnp.hypot(info.solver_error, info.probe_error) / count
        single = self.marginal_nats(law, task, real)
        results = {"joint": info.value / count, "joint_error": error}
        results["marginal"] = jnp.sum(single) / count
        if self.sphere:
            area = 2 * np.log(EARTH_RADIUS_KM)
            results |= {name: results[name] - area for name in ("joint", "marginal")}
        measure = self.on_sphere if self.sphere else self.real_values
        return results | measure(law, task, real, marginal_key)

    def marginal_nats(self, law: AbstractPredictive, task: PaddedTasks, real: Array) -> Array:
        """Log-densities of single values (n, p), or of single rows (n,); zero for padding."""
        n, p = task.y.shape
        if law.exact_marginals:
            return jnp.where(real > 0, law.marginals(task.x).log_prob(task.y), 0.0)

        def one_row(x, y, mask):
            return law.log_prob_info(x[None], y[None], mask=mask, **self.density).value

        at_once = min(TARGETS_AT_ONCE, n)
        if not self.separate_values:
            nats = jax.lax.map(
                lambda row: one_row(row[0], row[1], None), (task.x, task.y), batch_size=at_once
            )
            return jnp.where(real[:, 0] > 0, nats, 0.0)
        masks = jnp.tile(jnp.eye(p, dtype=task.y.dtype), (n, 1))
        rows = jnp.repeat(task.x, p, axis=0), jnp.repeat(task.y, p, axis=0), masks[:, None]
        nats = jax.lax.map(lambda row: one_row(row[0], row[1], row[2]), rows, batch_size=at_once)
        return jnp.where(real > 0, nats.reshape(n, p), 0.0)

    def real_values(self, law, task: PaddedTasks, real: Array, key) -> dict[str, Array]:
        """CRPS, coverage, squared error and PIT of real values."""
        mask = None if task.mask is None else jnp.max(real, axis=1)
        options = {"key": key, "num_samples": self.num_samples, "mask": mask, **self.sampling}
        found = value_metrics(law, task.x, task.y, **options)
        scale = jnp.asarray(self.scale, task.y.dtype)[None]
        errors = ((found.mean - task.y) / scale) ** 2
        columns = {"crps": found.crps / scale, "squared_error": errors}
        columns["coverage"] = interval_coverage(found.pit, LEVEL)
        means = {
            name: jnp.sum(jnp.where(real > 0, values, 0.0)) / jnp.sum(real)
            for name, values in columns.items()
        }
        return means | {"pit": jnp.where(real > 0, found.pit, jnp.nan).reshape(-1)}

    def on_sphere(self, law, task: PaddedTasks, real: Array, key) -> dict[str, Array]:
        """Geodesic error of the mean, energy score and coverage of samples of a track."""
        sample_key, rank_key = jr.split(key)
        mask = None if task.mask is None else real[:, 0]
        options = {"key": sample_key, "num_samples": self.num_samples, **self.sampling}
        samples = draw(law, task.x, mask, **options)
        found = path_metrics(Sphere(2), samples, task.y, key=rank_key)
        there = real[:, 0] > 0
        columns = {
            "error_km": found.mean_error * EARTH_RADIUS_KM,
            "energy_km": found.energy * EARTH_RADIUS_KM,
            "coverage": (found.rank <= LEVEL).astype(task.y.dtype),
        }
        means = {
            name: jnp.sum(jnp.where(there, values, 0.0)) / jnp.sum(real[:, 0])
            for name, values in columns.items()
        }
        return means | {"pit": jnp.where(there, found.rank, jnp.nan)}


def _values_there(task: PaddedTasks) -> Array:
    """1 for real values, shape (n, p)."""
    if task.mask is None:
        return jnp.ones_like(task.y)
    return jnp.broadcast_to(task.mask.reshape(len(task.y), -1), task.y.shape)


def takes_value_masks(
    process: AbstractProcess, measurement: TaskMeasurement, tasks: PaddedTasks
) -> bool:
    """Whether single outputs of a row have densities; found out by tracing, nothing is computed.

    Args:
        process: What is evaluated.
        measurement: What is measured.
        tasks: Padded tasks.

    Returns:
        False for points of a manifold and for processes that refuse a mask of shape (n, p).
    """
    if measurement.sphere or tasks.y.shape[2] == 1:
        return False
    first = jax.tree.map(lambda leaf: leaf[0], tasks)
    separate = measurement.with_separate_values(True)

    def attempt(process, task):
        law = process.condition(task.context_x, task.context_y, mask=task.context_mask)
        return separate.marginal_nats(law, task, _values_there(task))

    try:
        eqx.filter_eval_shape(attempt, process, first)
    except (ValueError, TypeError):
        return False
    return True
