"""Metrics of a model of winds on tasks of stations, paired with two Gaussian processes."""

from __future__ import annotations

import math
from os import PathLike

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Batch, Float
from geomndp.evaluate import log_likelihood, summarise
from geomndp.experiments.sphere_fields.winds import (
    WindMetrics,
    WindTask,
    gaussian_metrics,
    task_batch,
    validation_tasks,
    wind_anomalies,
)
from geomndp.experiments.sphere_winds.climatology import seasonal_anomalies
from geomndp.experiments.sphere_winds.experiment import REGIONS
from geomndp.experiments.sphere_winds.stored import stored_gp
from geomndp.experiments.sphere_winds.training import hodge_gp
from geomndp.experiments.sphere_winds.units import SCALE
from geomndp.likelihood import Flow, Hutchinson
from geomndp.model import Model
from geomndp.nets import with_capacity
from geomndp.samplers import AbstractSampler


def evaluate(
    model: Model,
    name: str,
    *,
    num: int = 25,
    region: str = "stations-200",
    data: str | None = None,
    probes: int | None = None,
    **options,
) -> dict:
    """Evaluate a model on validation tasks, July and August 2026.

    Args:
        model: Trained model.
        name: Model of the experiment.
        num: Most tasks.
        region: How many stations there are: "stations-200" or "stations-50".
        data: Folder of the weather fields; by default `weather` in $GEOMNDP_DATA.
        probes: Random probes of the divergence; eight by default.
        **options: Further arguments of `evaluate_tasks`.

    Returns:
        Metrics, JSON-serialisable.

    Raises:
        ValueError: For another region, or without data.
    """
    _validation.one_of("region", region, tuple(REGIONS))
    stations, zonal, winds = REGIONS[region], wind_anomalies(data), seasonal_anomalies(data)
    tasks: list[WindTask] = validation_tasks(winds)[:num]
    reference = gaussian_metrics(hodge_gp(), task_batch(zonal, tasks, stations))
    batch = task_batch(winds, tasks, stations)
    return evaluate_tasks(model, batch, stations, reference, probes=probes or 8, **options)


def evaluate_tasks(
    model: Model,
    tasks: Batch,
    stations: int,
    reference: WindMetrics,
    *,
    route: str = "conditional",
    probes: int = 8,
    flow: Flow | None = None,
    sampler: AbstractSampler | None = None,
    samples: int = 64,
    seed: int = 1234,
    batch_size: int = 8,
    directory: str | PathLike | None = None,
    devices=None,
) -> dict:
    """Joint log-likelihood, RMSE of the vector, CRPS, energy score and coverage.

    Args:
        model: Trained model.
        tasks: Functions whose first `stations` points are the context, anomalies in m/s.
        stations: Number of them.
        reference: Metrics of the Hodge GP on the same winds.
        route: Route of the likelihood.
        probes: Random probes of the divergence.
        flow: Probability flow; RK4 on 16 steps by default.
        sampler: Posterior sampler, by default the model's own.
        samples: Samples of every task, at least two.
        seed: Seed of the samples.
        batch_size: Tasks side by side on a device.
        directory: Where finished blocks of likelihoods are kept.
        devices: Devices of the likelihoods.

    Returns:
        Pairs of mean and standard error over the tasks: `log_prob` in nats per point, `gp` that of
        the Hodge GP, `axial_gp` that of the process that knows latitude and land, `regret` the
        paired difference to the Hodge GP; and numbers `rmse`, `gp_rmse` and `axial_rmse` in m/s,
        `crps` (mean over components) and `energy_score` (of the vector at a point) in m/s, and
        `coverage` of central 90% intervals.
    """
    _validation.at_least(2, samples=samples)
    single = Batch(*(jnp.asarray(np.asarray(part), jnp.float32) for part in tasks))
    for x in np.asarray(single.x):
        model = with_capacity(model, x)
    flow = Flow(divergence=Hutchinson(probes=probes)) if flow is None else flow
    options = {"batch_size": batch_size, "directory": directory, "devices": devices}
    options |= {"flow": flow, "route": route, "num_context": stations}
    log_probs = log_likelihood(model, single, key=jr.key(7), **options).per_target()
    axial, value = axial_metrics(tasks), np.asarray(log_probs.value)
    keys = jr.split(jr.key(seed), len(value))
    pairs = {"log_prob": value, "gp": reference.joint, "regret": reference.joint - value}
    pairs |= {"axial_gp": axial.joint}
    return {
        **summaries(pairs),
        **_sample_metrics(model, single, stations, sampler, samples, keys),
        **_process_metrics("gp", reference),
        **_process_metrics("axial", axial),
        "solver_error": float(np.mean(np.asarray(log_probs.solver_error))),
        "probe_error": float(np.mean(np.asarray(log_probs.probe_error))),
        "num": len(value),
        "stations": stations,
        "route": route,
        "probes": probes,
        "seed": seed,
    }


def axial_metrics(tasks: Batch) -> WindMetrics:
    """Metrics of the stored process in m/s.

    Args:
        tasks: Anomalies from the mean of the season in m/s, the stations as context.
    """
    found = gaussian_metrics(stored_gp(), tasks._replace(y=np.asarray(tasks.y) / SCALE))
    shift, square = 2 * math.log(SCALE), SCALE**2
    return WindMetrics(
        found.joint - shift,
        found.diagonal - shift,
        found.square_error * square,
        found.square_anomaly * square,
        found.coverage,
    )


def summaries(values: dict[str, np.ndarray]) -> dict[str, list[float]]:
    """Pairs of mean and standard error over the tasks."""
    return {key: list(summarise(jnp.asarray(v, jnp.float32))) for key, v in values.items()}


def _process_metrics(name: str, metrics: WindMetrics) -> dict[str, float]:
    """RMSE in m/s and coverage of a process of this name."""
    rmse = math.sqrt(float(np.mean(metrics.square_error)))
    return {f"{name}_rmse": rmse, f"{name}_coverage": float(np.mean(metrics.coverage))}


def _sample_metrics(
    model: Model, tasks: Batch, stations: int, sampler: AbstractSampler | None, samples: int, keys
) -> dict[str, float]:
    """Means over all tasks of what `sample_scores` gives, the first as a root."""
    scores = []
    for x, y, key in zip(tasks.x, tasks.y, keys, strict=True):
        posterior = model.condition(x[:stations], y[:stations])
        drawn = posterior.sample(x[stations:], key=key, num_samples=samples, sampler=sampler)
        scores.append(sample_scores(np.asarray(drawn, float), np.asarray(y[stations:], float)))
    square, crps, energy, covered = map(float, np.mean(np.array(scores), axis=0))
    rmse = math.sqrt(max(square, 0.0))
    return {"rmse": rmse, "crps": crps, "energy_score": energy, "coverage": covered}


def sample_scores(
    drawn: Float[np.ndarray, "s n 2"], truth: Float[np.ndarray, "n 2"]
) -> list[float]:
    """Square error of the mean, CRPS, energy score and coverage of samples.

    None depends on the number of samples, on average: what the variance of a mean of few samples
    adds to its square error is taken off, and ends of intervals are ranks over s + 1.

    Args:
        drawn: Samples, at least two.
        truth: What was observed.
    """
    low, high = np.quantile(drawn, (0.05, 0.95), axis=0, method="weibull")
    covered = np.mean((truth >= low) & (truth <= high))
    error = (drawn.mean(axis=0) - truth) ** 2 - drawn.var(axis=0, ddof=1) / len(drawn)
    square = np.mean(np.sum(error, axis=1))
    other = np.roll(drawn, 1, axis=0)  # unbiased: pairs of different samples
    crps = np.mean(np.abs(drawn - truth)) - 0.5 * np.mean(np.abs(drawn - other))
    lengths = np.linalg.norm(drawn - truth, axis=2), np.linalg.norm(drawn - other, axis=2)
    energy = np.mean(lengths[0]) - 0.5 * np.mean(lengths[1])
    return [float(part) for part in (square, crps, energy, covered)]
