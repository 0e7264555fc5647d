"""How forecasts of cyclone tracks are judged: tasks, blur, and one set of measures for all.

Anything that draws tracks can be scored here: baselines, shipped models, models of a user.
"""

from __future__ import annotations

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.baselines import AbstractBaseline, AbstractPointForecast
from geomndp.data.ibtracs import Tracks
from geomndp.evaluate.geodesic import ball_coverage, path_metrics
from geomndp.experiments.cyclones.rows import LEADS, Measures
from geomndp.geometry import Sphere
from geomndp.geometry.geodesy import EARTH_RADIUS_KM
from geomndp.noising import DEFAULT_SCHEDULE as SCHEDULE

POINTS = 50
STEP_HOURS = 3
EPS = 5e-4
SPHERE = Sphere(2)


class Task(NamedTuple):
    """Rows of a track that are known, and rows to be told from them."""

    name: str
    known: np.ndarray
    targets: np.ndarray


def task(name: str) -> Task:
    """`interpolation` (first and last fifth known), `extrapolation` (first 40%) or `joint`."""
    fifth = POINTS // 5
    known = {
        "interpolation": np.r_[:fifth, POINTS - fifth : POINTS],
        "extrapolation": np.arange(2 * fifth),
        "joint": np.array([], dtype=int),
    }
    if name not in known:
        raise ValueError(f"expected a task among {', '.join(known)}, got {name!r}")
    return Task(name, known[name], np.setdiff1d(np.arange(POINTS), known[name]))


def task_batch(which: Task, tracks: Tracks) -> Batch:
    """Known points of every track on the sphere first, then those to be told."""
    order = [*which.known.tolist(), *which.targets.tolist()]
    x, y = (jnp.asarray(v[:, order], jnp.float32) for v in (tracks.x, tracks.y))
    marks = (jnp.arange(x.shape[1]) < len(which.known)).astype(x.dtype)
    return Batch(x, y, jnp.ones(x.shape[:2], x.dtype), jnp.broadcast_to(marks, x.shape[:2]))


def blur(t_min: float = EPS) -> float:
    """Variance B(t_min) of a tangent coordinate of the noised law that densities speak of."""
    return float(SCHEDULE.integral(jnp.asarray(t_min)))


def lead_errors(which: Task, error: np.ndarray) -> tuple[float, ...] | None:
    """Errors (storms, targets) at `LEADS` after the last known point, for an extrapolation."""
    if which.name != "extrapolation":
        return None
    rows = [hours // STEP_HOURS - 1 for hours in LEADS]
    return tuple(float(error[:, row].mean()) for row in rows)


def score_samples(
    which: Task,
    samples: Float[Array, "b s k 3"],
    y: Float[Array, "b k 3"],
    *,
    key: PRNGKeyArray,
    log_prob: Float[Array, " b"] | None = None,
    batch_size: int = 2,
) -> Measures:
    """Measures of ensembles against the true tracks (b, k, 3) of a task's targets."""
    scores = _scores(samples, y, jr.split(key, len(y)), min(batch_size, len(y)))
    distance, error, energy = (EARTH_RADIUS_KM * np.asarray(value) for value in scores[:3])
    return Measures(
        float(distance.mean()),
        float(error.mean()),
        float(energy.mean()),
        float(ball_coverage(scores.rank)),
        None if log_prob is None else float(jnp.mean(log_prob)),
        lead_errors(which, error),
    )


def score_baseline(
    baseline: AbstractBaseline,
    which: Task,
    x: Float[Array, "n 1"],
    y: Float[Array, "b n 3"],
    *,
    key: PRNGKeyArray,
    num_samples: int = 50,
) -> Measures:
    """Measures of a baseline on tracks y at times x; the joint task has a log-density only."""
    forecast = baseline.forecast(x[which.known], x[which.targets])
    known, truth = y[:, which.known], y[:, which.targets]
    if isinstance(forecast, AbstractPointForecast):
        error = EARTH_RADIUS_KM * np.asarray(SPHERE.distance(_means(forecast, known), truth))
        # The energy score of a law that is one point is its distance.
        return Measures(*[float(error.mean())] * 3, lead_errors=lead_errors(which, error))
    log_prob = _log_probs(forecast, known, truth, blur())
    if which.name == "joint":
        return Measures(log_prob=float(jnp.mean(log_prob)))
    sample_key, score_key = jr.split(key)
    samples = _draws(forecast, known, jr.split(sample_key, len(known)), num_samples)
    return score_samples(which, samples, truth, key=score_key, log_prob=log_prob)


# Compiled once for all splits: forecasts come in as arrays.
@eqx.filter_jit
def _scores(samples, y, keys, batch_size: int):
    def one(item):
        samples, y, key = item
        return path_metrics(SPHERE, samples, y, key=key)

    return jax.lax.map(one, (samples, y, keys), batch_size=batch_size)


@eqx.filter_jit
def _means(forecast, known):
    return jax.vmap(forecast.mean)(known)


@eqx.filter_jit
def _log_probs(forecast, known, truth, noise: float):
    return jax.vmap(lambda yc, y: forecast.log_prob(yc, y, noise))(known, truth)


@eqx.filter_jit
def _draws(forecast, known, keys, num_samples: int):
    def draw(yc, key):
        return forecast.sample(yc, key=key, num_samples=num_samples)

    return jax.vmap(draw)(known, keys)
