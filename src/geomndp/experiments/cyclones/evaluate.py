"""Metrics of a cyclone model on the storms held out."""

from __future__ import annotations

import dataclasses
from os import PathLike
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.data.ibtracs import Split, Tracks
from geomndp.evaluate import model_log_prob, split as split_task
from geomndp.experiments.cyclones import latlon
from geomndp.experiments.cyclones.protocol import (
    LEADS,
    Measures,
    Task,
    score_samples,
    task,
    task_batch,
)
from geomndp.experiments.cyclones.training import read_split
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import Model
from geomndp.samplers import AbstractSampler, Amortised, Problem


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
    """Metrics of the task `region` on `num` of the storms held out; options of `log_probs`.

    The archive of tracks is at `data` or at $GEOMNDP_IBTRACS; `split` divides its storms.
    """
    which = task(region)
    _validation.one_of("route", route, ("conditional",))
    train, test = read_split(data, split)
    test = test.spread(num)
    found = measure(model, which, Split(train, test), key=jr.key(seed), **options)
    metrics = {key: value for key, value in found._asdict().items() if value is not None}
    errors = metrics.pop("lead_errors", ())
    leads = {f"mean_error_{hours}h": error for hours, error in zip(LEADS, errors, strict=False)}
    return metrics | leads | {"num": len(test), "seed": seed, "region": region}


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
    flat = model.noising.manifold.flat
    tasks = latlon.to_units(tasks) if flat else tasks

    def one(item):
        task, key = item
        observed, x, _ = split_task(task, contexts)
        observed = dataclasses.replace(observed, mask=None)
        problem = Problem(model.noising, model.score, x, observed, model.t_min)
        sampler.check(problem)
        drawn = sampler.draw(problem, key=key, num_samples=num_samples).y
        return latlon.to_sphere(drawn) if flat else drawn

    keys = jr.split(key, len(tasks.x))
    return jax.lax.map(one, (tasks, keys), batch_size=min(batch_size, len(tasks.x)))


def log_probs(
    model: Model,
    which: Task,
    tracks: Tracks,
    *,
    probes: int | None = None,
    steps: int = 32,
    **options,
) -> tuple[Array, Array]:
    """Log-density of the targets of every track, nats by area, and the solver's error."""
    divergence = Exact() if probes is None else Hutchinson(probes=probes)
    flow = dataclasses.replace(Flow(divergence=divergence), steps=steps)
    tasks, contexts = task_batch(which, tracks), len(which.known)
    flat = model.noising.manifold.flat
    tasks = latlon.to_units(tasks) if flat else tasks
    found = model_log_prob(model, tasks, flow, contexts=contexts, key=jr.key(7), **options)
    value, error = (v * len(which.targets) for v in (found.value, found.solver_error))
    return value + jax.vmap(latlon.log_area)(tasks.y[:, contexts:]) if flat else value, error


def measure(
    model: Model,
    which: Task,
    parts: Split,
    *,
    key: PRNGKeyArray,
    num_samples: int = 50,
    sampler: AbstractSampler | None = None,
    batch_size: int = 16,
    density: bool = True,
    **options,
) -> Measures:
    """All measures of one task on the storms held out; options go to `log_probs`."""
    log_prob = log_probs(model, which, parts.test, **options)[0] if density else None
    if which.name == "joint":
        return Measures(log_prob=None if log_prob is None else float(jnp.mean(log_prob)))
    sampler = Amortised(100) if sampler is None else sampler
    tasks, contexts = task_batch(which, parts.test), len(which.known)
    draw_key, score_key = jr.split(key)
    samples = draw_tracks(model, tasks, sampler, contexts, num_samples, batch_size, draw_key)
    truth = tasks.y[:, contexts:]
    return score_samples(which, samples, truth, key=score_key, log_prob=log_prob)
