"""How forecasts of cyclone tracks are evaluated: tasks, blur, and one set of measures for all.

Anything that draws tracks can be evaluated here: baselines, shipped models, models of a user.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from geomndp._types import Batch, PRNGKeyArray
from geomndp.baselines import AbstractPointBaseline
from geomndp.data.ibtracs import Tracks
from geomndp.evaluate import ball_coverage, log_likelihood, metrics
from geomndp.experiments.cyclones.rows import LEADS, TrackMetrics
from geomndp.geometry import Sphere
from geomndp.geometry.geodesy import EARTH_RADIUS_KM
from geomndp.noising import DEFAULT_SCHEDULE as SCHEDULE
from geomndp.predictive import AbstractProcess

NUM_POINTS = 50
STEP_HOURS = 3
T_MIN = 5e-4
SPHERE = Sphere(2)


class TrackTask(NamedTuple):
    """Context rows of a track, and target rows predicted from them."""

    name: str
    context: np.ndarray
    targets: np.ndarray


def task(name: str) -> TrackTask:
    """`interpolation` (first and last fifth known), `extrapolation` (first 40%) or `joint`."""
    fifth = NUM_POINTS // 5
    known = {
        "interpolation": np.r_[:fifth, NUM_POINTS - fifth : NUM_POINTS],
        "extrapolation": np.arange(2 * fifth),
        "joint": np.array([], dtype=int),
    }
    if name not in known:
        raise ValueError(f"expected a task among {', '.join(known)}, got {name!r}")
    return TrackTask(name, known[name], np.setdiff1d(np.arange(NUM_POINTS), known[name]))


def task_batch(track_task: TrackTask, tracks: Tracks, dtype: Any = jnp.float32) -> Batch:
    """Context points of every track on the sphere first, then its targets."""
    order = [*track_task.context.tolist(), *track_task.targets.tolist()]
    x, y = (jnp.asarray(v[:, order], dtype) for v in (tracks.x, tracks.y))
    marks = (jnp.arange(x.shape[1]) < len(track_task.context)).astype(x.dtype)
    return Batch(x, y, jnp.ones(x.shape[:2], x.dtype), jnp.broadcast_to(marks, x.shape[:2]))


def blur() -> float:
    """Variance B(t_min) of a tangent coordinate of the noised law that densities speak of."""
    return float(SCHEDULE.integral(jnp.asarray(T_MIN)))


def lead_errors(track_task: TrackTask, error: np.ndarray) -> tuple[float, ...] | None:
    """Errors (storms, targets) at `LEADS` after the last context point, for an extrapolation."""
    if track_task.name != "extrapolation":
        return None
    rows = [hours // STEP_HOURS - 1 for hours in LEADS]
    return tuple(float(error[:, row].mean()) for row in rows)


def measure(
    process: AbstractProcess,
    track_task: TrackTask,
    tasks: Batch,
    *,
    key: PRNGKeyArray,
    num_samples: int = 50,
    batch_size: int = 16,
    density: bool = True,
    log_prob_options: dict[str, Any] | None = None,
    sample_options: dict[str, Any] | None = None,
) -> TrackMetrics:
    """All measures of anything that can be conditioned on points of a track.

    Args:
        process: A model of tracks on the sphere, or a baseline.
        track_task: The task.
        tasks: Tracks as `task_batch` makes them.
        key: Random key of samples and ranks.
        num_samples: Samples per storm.
        batch_size: Storms side by side on a device.
        density: Whether to compute log-densities, where there are any.
        log_prob_options: Further arguments of `evaluate.log_likelihood`.
        sample_options: Further arguments of the law's `sample`.

    Returns:
        Means over storms and targets; the joint task has a log-density only.
    """
    single = isinstance(process, AbstractPointBaseline)
    contexts, log_prob = len(track_task.context), None
    if density and not single:
        options = log_prob_options or {}
        log_probs = log_likelihood(process, tasks, num_context=contexts, **options)
        log_prob = float(jnp.mean(log_probs.value))
    if track_task.name == "joint":
        return TrackMetrics(log_prob=log_prob)
    track_metrics = metrics(
        process,
        tasks,
        SPHERE,
        key=key,
        num_samples=2 if single else num_samples,
        num_context=contexts,
        batch_size=batch_size,
        **(sample_options or {}),
    )
    distance, error, energy = (EARTH_RADIUS_KM * np.asarray(value) for value in track_metrics[:3])
    return TrackMetrics(
        float(distance.mean()),
        float(error.mean()),
        float(energy.mean()),
        None if single else float(ball_coverage(track_metrics.rank)),
        log_prob,
        lead_errors(track_task, error),
    )
