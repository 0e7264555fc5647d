"""The cyclone experiment: tracks on the sphere, how a model of them is made, trained and scored.

`cyclones/ibtracs` is a diffusion on S^2 whose network works in local frames and sees latitude,
longitude and the storm's age; `cyclones/ibtracs-axis` sees latitudes only, and turns with rotations
about the Earth's axis.
`cyclones/ibtracs-latlon` knows no geometry: a diffusion of latitude and longitude in flat space.
"""

from __future__ import annotations

import dataclasses
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import optax

from geomndp import _validation
from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.auto.defaults import loss_for
from geomndp.data.ibtracs import Split, Tracks
from geomndp.data.sequences import SequenceGenerator
from geomndp.evaluate import model_log_prob, split as split_task
from geomndp.experiments.cyclones import latlon
from geomndp.experiments.cyclones.protocol import (
    EPS,
    SCHEDULE,
    SPHERE,
    Measures,
    Task,
    score_samples,
    task,
)
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import Model
from geomndp.nets import SphericalAttention
from geomndp.noising import Brownian
from geomndp.samplers import AbstractSampler, Amortised, Problem
from geomndp.score import NetworkScore, PreconditionK
from geomndp.train import DenoisingLoss, adam

ON_SPHERE = {"cyclones/ibtracs": 0.5, "cyclones/ibtracs-axis": 0.0}
"""Experiments on the sphere, with the shortest wavelength of absolute features (zero: none)."""
FLAT = "cyclones/ibtracs-latlon"
NAMES = (*ON_SPHERE, FLAT)


def make_model(
    name: str, *, key: PRNGKeyArray, compute_dtype: str | None = None, **options
) -> Model:
    """Untrained model; options are those of its network."""
    _validation.one_of("model", name, NAMES)
    if name == FLAT:
        return latlon.make_latlon(key=key, compute_dtype=compute_dtype, **options)
    net = SphericalAttention(
        absolute=ON_SPHERE[name],
        noise_rate=math.sqrt(SCHEDULE.beta1 / 2),  # sigma^2 = B(t), about beta1 t^2 / 2
        compute_dtype=compute_dtype,
        dtype="float32",
        key=key,
        **options,
    )
    model = Model(Brownian(SPHERE, SCHEDULE), NetworkScore(net, PreconditionK()), EPS)
    return model.with_variables("time", ("lat", "lon"), {"time": "days"})


def make_generator(
    train: Tracks, batch_size: int = 512, name: str = "cyclones/ibtracs"
) -> SequenceGenerator:
    """Training tracks on the device in the units of a model, observed as in the tasks and else."""
    _validation.one_of("model", name, NAMES)
    tracks = task_batch(task("joint"), train)
    x, y, _, _ = latlon.to_units(tracks) if name == FLAT else tracks
    return SequenceGenerator(x=x, y=y, batch_size=batch_size)


def make_loss() -> DenoisingLoss:
    """Times about uniform in the logarithm; observations clean or off by 6 to 200 km."""
    return loss_for("sphere")


def make_optimiser(steps: int, peak: float = 1e-3) -> optax.GradientTransformation:
    """Adam with warm-up and cosine decay."""
    return adam(steps, peak=peak)


def task_batch(which: Task, tracks: Tracks) -> Batch:
    """Known points of every track on the sphere first, then those to be told."""
    order = [*which.known.tolist(), *which.targets.tolist()]
    x, y = (jnp.asarray(v[:, order], jnp.float32) for v in (tracks.x, tracks.y))
    marks = (jnp.arange(x.shape[1]) < len(which.known)).astype(x.dtype)
    return Batch(x, y, jnp.ones(x.shape[:2], x.dtype), jnp.broadcast_to(marks, x.shape[:2]))


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
