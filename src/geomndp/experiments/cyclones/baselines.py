"""Simple forecasts of the cyclone table: fitted and measured on every split."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp.baselines import (
    AbstractBaseline,
    AbstractPointBaseline,
    ChartGP,
    GreatCircle,
    Hermite,
    LatLon,
    LinearGaussian,
    Persistence,
    Stereographic,
)
from geomndp.data.ibtracs import SEEDS, Split, cyclones, split_by_season, split_by_storm
from geomndp.experiments import results
from geomndp.experiments.cyclones.protocol import blur, measure, task, task_batch
from geomndp.experiments.cyclones.rows import TASKS, Row, TrackMetrics, to_json

Fit = Callable[..., AbstractBaseline]


BASELINES: dict[str, tuple[Fit, tuple[str, ...]]] = {
    "persistence of the last velocity": (Persistence.fit, ("extrapolation",)),
    "straight great circle": (GreatCircle.fit, ("interpolation",)),
    "great-circle Hermite curve": (Hermite.fit, ("interpolation",)),
    "Hermite curve, 6-hour velocities": (
        lambda x, y: Hermite.fit(x, y, steps=2),
        ("interpolation",),
    ),
    "linear-Gaussian, local frame": (LinearGaussian.fit, TASKS),
    "linear, per-storm scales": (
        lambda x, y: LinearGaussian.fit(x, y, heavy_tailed=True),
        TASKS,
    ),
    "GP in latitude and longitude": (lambda x, y: ChartGP.fit(x, y, chart=LatLon()), TASKS),
    "GP in stereographic plane": (lambda x, y: ChartGP.fit(x, y, chart=Stereographic()), TASKS),
}


def blurred(baseline: AbstractBaseline) -> AbstractBaseline:
    """The baseline with densities of the noised law that a diffusion model's are of."""
    if isinstance(baseline, AbstractPointBaseline):
        return baseline
    return dataclasses.replace(baseline, density_noise=blur())


def baseline_rows(
    splits: Sequence[Split],
    *,
    names: Sequence[str] | None = None,
    num_samples: int = 50,
    report: Callable[[str], None] = lambda line: None,
) -> list[Row]:
    """Measure the baselines, fitted to each split's training storms, on its test storms."""
    metrics_by_row: dict[tuple[str, str], list[TrackMetrics]] = {}
    for number, split in enumerate(splits):
        x, y = jnp.asarray(split.train.x), jnp.asarray(split.train.y)
        for name in BASELINES if names is None else names:
            fit, tasks = BASELINES[name]
            baseline = blurred(fit(x, y))
            for task_name in tasks:
                batch = task_batch(task(task_name), split.test, y.dtype)
                options = {"key": jr.key(number), "num_samples": num_samples}
                measured = measure(baseline, task(task_name), batch, **options)
                metrics_by_row.setdefault((name, task_name), []).append(measured)
                report(f"split {number}, {name}, {task_name}: {measured}")
    return [
        Row(name, task_name, tuple(values)) for (name, task_name), values in metrics_by_row.items()
    ]


def measure_baselines(
    path: str | os.PathLike | None = None,
    *,
    out: str | os.PathLike,
    seeds: Sequence[int] = SEEDS,
    num_samples: int = 50,
    report: Callable[[str], None] = print,
) -> dict[str, list[Row]]:
    """Measure all baselines on the archive at `path` and write their rows to a JSON file.

    `storms`: random splits, one per seed; `seasons`: the newest tenth of all storms held out.
    """
    with jax.enable_x64(True):
        tracks = cyclones(path)
        split_sets = {
            "storms": [split_by_storm(tracks, seed) for seed in seeds],
            "seasons": [split_by_season(tracks)],
        }
        tables = {
            name: baseline_rows(splits, num_samples=num_samples, report=report)
            for name, splits in split_sets.items()
        }
    results.write(out, {name: to_json(rows) for name, rows in tables.items()})
    return tables
