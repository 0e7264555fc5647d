"""What is measured of laws of winds on validation and on test times, into one file of results.

python -m geomndp.experiments.sphere_winds.measure --out results.json --split validation

The Gaussian processes without a model; with `--model` a trained one. The test times count once, at
the end, when all choices are made: `--split test`.
"""

from __future__ import annotations

import argparse
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Batch
from geomndp.experiments import results
from geomndp.experiments.sphere_fields.winds import (
    WindMetrics,
    gaussian_metrics,
    held_back_tasks,
    task_batch,
    validation_tasks,
    wind_anomalies,
)
from geomndp.experiments.sphere_winds.climatology import seasonal_anomalies
from geomndp.experiments.sphere_winds.evaluate import (
    axial_metrics,
    evaluate_tasks,
    sample_scores,
    summaries,
)
from geomndp.experiments.sphere_winds.experiment import REGIONS
from geomndp.experiments.sphere_winds.stored import stored_gp
from geomndp.experiments.sphere_winds.training import hodge_gp
from geomndp.experiments.sphere_winds.units import SCALE
from geomndp.gp import GP
from geomndp.likelihood import Flow, Hutchinson
from geomndp.model import load
from geomndp.nets import with_capacity

SPLITS = ("validation", "test")
SAMPLES = 256
DRAWS = 8


def _tasks(split: str, stations: int, data: str | None) -> tuple[Batch, Batch, WindMetrics]:
    """Tasks as anomalies of all times and of their season, and the Hodge GP on the former."""
    zonal, winds = wind_anomalies(data), seasonal_anomalies(data)
    tasks = held_back_tasks(data) if split == "test" else validation_tasks(zonal)
    plain, seasonal = (task_batch(part, tasks, stations) for part in (zonal, winds))
    return plain, seasonal, gaussian_metrics(hodge_gp(), plain)


def gaussian_row(gp: GP, tasks: Batch, found: WindMetrics, reference: WindMetrics, unit: float):
    """Metrics of a Gaussian process: those of `evaluate_tasks`, CRPS and energy by samples.

    Args:
        gp: The process, of values in the unit.
        tasks: Tasks in m/s.
        found: Its metrics in m/s.
        reference: Those of the Hodge GP.
        unit: Unit of the process's values in m/s.
    """
    number = int(np.asarray(tasks.context)[0].sum())

    @jax.jit
    def draw(x, y, key):
        posterior = gp.condition(x[:number], y[:number])
        return posterior.sample(x[number:], key=key, num_samples=SAMPLES)

    scores = []
    for x, y, key in zip(tasks.x, tasks.y, jr.split(jr.key(0), len(tasks.x)), strict=True):
        with jax.enable_x64(True):
            drawn = unit * np.asarray(draw(jnp.asarray(x), jnp.asarray(y) / unit, key))
        scores.append(sample_scores(drawn, np.asarray(y[number:])))
    _, crps, energy, _ = np.mean(np.array(scores), axis=0)
    pairs = {"log_prob": found.joint, "regret": reference.joint - found.joint}
    pairs |= {"diagonal": found.diagonal}
    return {
        **summaries(pairs),
        "rmse": math.sqrt(float(np.mean(found.square_error))),
        "climatology": math.sqrt(float(np.mean(found.square_anomaly))),
        "crps": float(crps),
        "energy_score": float(energy),
        "coverage": float(np.mean(found.coverage)),
        "num": len(scores),
    }


def gaussian_rows(split: str, stations: int, data: str | None = None) -> dict[str, dict]:
    """Rows of the Hodge GP and of the process that knows latitude and land.

    Args:
        split: "validation" or "test".
        stations: Number of stations.
        data: Folder of the weather fields; by default `weather` in $GEOMNDP_DATA.
    """
    plain, seasonal, reference = _tasks(split, stations, data)
    found = axial_metrics(seasonal)
    return {
        "Hodge GP": gaussian_row(hodge_gp(), plain, reference, reference, 1.0),
        "axial GP": gaussian_row(stored_gp(), seasonal, found, reference, SCALE),
    }


def model_row(name: str, split: str, stations: int, data: str | None = None) -> dict:
    """Row of a trained model, by its name or path."""
    _, tasks, reference = _tasks(split, stations, data)
    return evaluate_tasks(load(name), tasks, stations, reference)


def cheap_row(name: str, split: str, stations: int, data: str | None = None) -> dict:
    """Log-likelihood by one probe and RMSE of the denoiser's mean, without samples: for a CPU.

    At time one a noised target says next to nothing, and the denoiser there gives the mean given
    the stations; it is averaged over `DRAWS` draws of the noise.
    """
    _, batch, reference = _tasks(split, stations, data)
    model: Any = load(name)
    for x in np.asarray(batch.x, np.float32):
        model = with_capacity(model, x)
    flow, rows = Flow(steps=8, divergence=Hutchinson(probes=1)), []
    for i, (x, y) in enumerate(zip(batch.x, batch.y, strict=True)):
        x, y = jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32)
        posterior = model.condition(x[:stations], y[:stations])
        target = x[stations:], y[stations:]
        options = {"key": jr.key(7 + i), "flow": flow, "route": "conditional", "progress": False}
        value = float(posterior.log_prob_info(*target, **options).value) / len(target[1])
        error = denoiser_mean(model, x, y[:stations], key=jr.key(99 + i)) - np.asarray(target[1])
        rows.append((value, float(np.mean(np.sum(error**2, axis=1)))))
    values, squares = np.array(rows).T
    pairs = {"log_prob": values, "regret": reference.joint - values}
    return summaries(pairs) | {"rmse": math.sqrt(squares.mean()), "num": len(rows), "probes": 1}


@eqx.filter_jit
def _score(model: Any, t, x, y):
    return model.score(model.noising, t, x, y)


def denoiser_mean(model: Any, x, yc, *, key) -> np.ndarray:
    """Mean of the targets given the context, by the denoiser at time one.

    Args:
        model: A diffusion model.
        x: Inputs (n, 3), the context first.
        yc: Values of the context (c, 2) in m/s.
        key: Random key of the noise.
    """
    unit, noising, count = model.normaliser.y_scale[0], model.noising, len(yc)
    clean, one = jnp.zeros(count, x.dtype), jnp.ones(len(x) - count, x.dtype)
    alpha, sigma = (float(part(jnp.asarray(1.0))) for part in (noising.alpha, noising.sigma))
    total = np.zeros((len(x) - count, 2))
    for part in jr.split(key, DRAWS):
        z = noising.prior_sample(x[count:], key=part)
        u = _score(model, jnp.concatenate([clean, one]), x, jnp.concatenate([yc / unit, z]))
        total += np.asarray(z + sigma * u[count:], float) / alpha
    return unit * total / DRAWS


def main() -> None:
    """Measure, and keep every row as it comes."""
    parser = argparse.ArgumentParser(description="Measure laws of winds.")
    parser.add_argument("--out", required=True)
    parser.add_argument("--split", choices=SPLITS, default=SPLITS[0])
    parser.add_argument("--model", help="name or path of a trained model")
    parser.add_argument("--cheap", action="store_true", help="of a model: no samples, one probe")
    parser.add_argument("--data", help="folder of the weather fields")
    options = parser.parse_args()
    for stations in REGIONS.values():
        if options.model:
            row = cheap_row if options.cheap else model_row
            rows = {options.model: row(options.model, options.split, stations, options.data)}
        else:
            rows = gaussian_rows(options.split, stations, options.data)
        for law, row in rows.items():
            results.update(options.out, (options.split, law, str(stations)), row)


if __name__ == "__main__":
    main()
