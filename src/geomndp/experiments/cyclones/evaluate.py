"""Metrics of a cyclone model on the storms held out."""

from __future__ import annotations

import dataclasses
from os import PathLike
from typing import Any

import equinox as eqx
import jax
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.data.ibtracs import Split, Tracks
from geomndp.evaluate import LogLikelihoods, log_likelihood
from geomndp.experiments.cyclones import latlon, protocol
from geomndp.experiments.cyclones.protocol import (
    LEADS,
    TrackMetrics,
    TrackTask,
    task,
    task_batch,
)
from geomndp.experiments.cyclones.training import read_split
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import Model
from geomndp.predictive import AbstractProcess
from geomndp.samplers import AbstractSampler, Amortised


def evaluate(
    model: Model,
    name: str,
    *,
    num: int,
    region: str = "interpolation",
    route: str,
    seed: int,
    data: str | PathLike | None = None,
    split: int = 0,
    **options,
) -> dict[str, Any]:
    """Evaluate a model on storms held out.

    Args:
        model: Trained model, on the sphere or in latitude and longitude.
        name: Model of the experiment, for messages only.
        num: Number of storms, spread evenly over those held out.
        region: Task: "interpolation", "extrapolation" or "joint".
        route: "conditional", the only one.
        seed: Seed of the samples.
        data: Archive of tracks, by default that at $GEOMNDP_IBTRACS.
        split: Seed of the division into training and test storms.
        **options: Further arguments of `measure` and `density_options`.

    Returns:
        Metrics, JSON-serialisable: distances in km, log-densities in nats by area.

    Raises:
        ValueError: For an unknown task or route, or if there is no archive.
    """
    track_task = task(region)
    _validation.one_of("route", route, ("conditional",))
    train, test = read_split(data, split)
    test = test.spread(num)
    measured = measure(model, track_task, Split(train, test), key=jr.key(seed), **options)
    metrics = {key: value for key, value in measured._asdict().items() if value is not None}
    errors = metrics.pop("lead_errors", ())
    leads = {f"mean_error_{hours}h": error for hours, error in zip(LEADS, errors, strict=False)}
    return metrics | leads | {"num": len(test), "seed": seed, "region": region}


def on_sphere(model: Model) -> AbstractProcess:
    """The model as a process of tracks on the sphere."""
    return latlon.LatLonProcess(model) if model.noising.flat else model


@eqx.filter_jit
def draw_tracks(
    model: Model,
    tasks: Batch,
    sampler: AbstractSampler,
    contexts: int,
    num_samples: int,
    batch_size: int,
    key: PRNGKeyArray,
) -> Float[Array, "b s k 3"]:
    """Posterior samples of the targets of every task, tracks on the sphere."""
    process: Any = on_sphere(model)

    def one(item):
        x, y, key = item
        law = process.condition(x[:contexts], y[:contexts])
        return law.sample(x[contexts:], key=key, num_samples=num_samples, sampler=sampler)

    items = (tasks.x, tasks.y, jr.split(key, len(tasks.x)))
    return jax.lax.map(one, items, batch_size=min(batch_size, len(tasks.x)))


def density_options(probes: int | None = None, steps: int = 32, **options) -> dict[str, Any]:
    """Arguments of `evaluate.log_likelihood`: the flow, and further ones as they are."""
    divergence = Exact() if probes is None else Hutchinson(probes=probes)
    flow = dataclasses.replace(Flow(divergence=divergence), steps=steps)
    return {"key": jr.key(7), "flow": flow, "route": "conditional", **options}


def log_probs(model: Model, track_task: TrackTask, tracks: Tracks, **options) -> LogLikelihoods:
    """Log-density of the targets of every track, nats by area; options of `density_options`."""
    tasks, contexts = task_batch(track_task, tracks), len(track_task.context)
    options = density_options(**options)
    return log_likelihood(on_sphere(model), tasks, num_context=contexts, **options)


def measure(
    model: Model,
    track_task: TrackTask,
    parts: Split,
    *,
    key: PRNGKeyArray,
    sampler: AbstractSampler | None = None,
    num_samples: int = 50,
    batch_size: int = 16,
    density: bool = True,
    **options,
) -> TrackMetrics:
    """All measures of one task on the storms held out; options of `density_options`."""
    return protocol.measure(
        on_sphere(model),
        track_task,
        task_batch(track_task, parts.test),
        key=key,
        num_samples=num_samples,
        batch_size=batch_size,
        density=density,
        log_prob_options=density_options(**options),
        sample_options={"sampler": Amortised(100) if sampler is None else sampler},
    )
