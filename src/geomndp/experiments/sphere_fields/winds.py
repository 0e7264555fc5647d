"""Tasks on global 10 m winds: stations and targets of single times, and metrics of a process.

Training times are those of 2018; July and August 2026 are for validation, a part of April and May
2026 for the test. Values are anomalies from the zonal mean of the training times, in m/s. Stations
and targets are points of the 3-degree grid without the poles, drawn area-uniformly without
replacement.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Batch, Float
from geomndp.data.winds import WindFields, read_winds, weather_folder
from geomndp.gp import GP

FILE, TEST_TASKS = "gfs_wind_10m_3deg.nc", "wind_tasks.json"
TRAINING, VALIDATION = ("2018-01-01", "2019-01-01"), ("2026-07-01", "2026-09-01")
STATIONS = (50, 200)
NUM_TARGETS = 200
SEED = 20261116
CENTRAL_90 = 1.6448536269514722
"""Half of a standard normal's central 90% interval."""


class WindTask(NamedTuple):
    """One time: indices of its stations, the first 50 of which are the small context, and targets.

    Attributes:
        time: Number of the field.
        stations: Grid points, shape (200,).
        targets: Other grid points, shape (200,).
    """

    time: int
    stations: np.ndarray
    targets: np.ndarray


def wind_anomalies(folder: str | os.PathLike | None = None) -> WindFields:
    """All fields as anomalies from the zonal mean of the training times.

    Args:
        folder: Folder of the weather fields; by default `weather` in $GEOMNDP_DATA.
    """
    winds = read_winds(weather_folder(folder) / FILE)
    return winds.anomalies(winds.between(*TRAINING))


def validation_tasks(winds: WindFields, *, every: int = 2, seed: int = SEED) -> list[WindTask]:
    """Tasks of July and August 2026, drawn as those of the test are.

    Args:
        winds: All fields.
        every: Stride between the times that have a task.
        seed: Seed of the points.
    """
    _validation.at_least(1, every=every)
    random = np.random.default_rng(seed)
    tasks = []
    for time in np.flatnonzero(winds.between(*VALIDATION))[::every]:
        size = STATIONS[-1] + NUM_TARGETS
        index = random.choice(len(winds.x), size, replace=False, p=winds.area)
        tasks.append(WindTask(int(time), index[: STATIONS[-1]], index[STATIONS[-1] :]))
    return tasks


def held_back_tasks(folder: str | os.PathLike | None = None) -> list[WindTask]:
    """The fixed tasks of April and May 2026; to be run once, when all choices are made.

    Args:
        folder: Folder of the weather fields; by default `weather` in $GEOMNDP_DATA.
    """
    path = Path(weather_folder(folder)) / TEST_TASKS
    tasks = json.loads(path.read_text(encoding="utf-8"))["tasks"]
    return [
        WindTask(task["time"], np.array(task["stations"]), np.array(task["targets"]))
        for task in tasks
    ]


def task_batch(winds: WindFields, tasks: list[WindTask], num_stations: int) -> Batch:
    """Tasks as functions, the stations first: x (tasks, n, 3), y (tasks, n, 2).

    Args:
        winds: All fields.
        tasks: Times, stations and targets.
        num_stations: The first so many stations are the context.

    Returns:
        Functions whose context are the stations.
    """
    _validation.at_least(1, num_stations=num_stations, tasks=len(tasks))
    _validation.at_least(num_stations, stations=len(tasks[0].stations))
    index = np.stack([np.concatenate([t.stations[:num_stations], t.targets]) for t in tasks])
    times = np.array([task.time for task in tasks])
    return _batch(winds, times, index, num_stations)


def training_batch(winds: WindFields, points: int, *, every: int = 1, seed: int = 0) -> Batch:
    """Training fields at random points, area-uniform without replacement, for a fit.

    Args:
        winds: All fields.
        points: Points of each field.
        every: Stride between the training times that are used.
        seed: Seed of the points.

    Returns:
        Functions without contexts.
    """
    _validation.at_least(1, points=points, every=every)
    random, times = np.random.default_rng(seed), np.flatnonzero(winds.between(*TRAINING))[::every]
    draws = [random.choice(len(winds.x), points, replace=False, p=winds.area) for _ in times]
    return _batch(winds, times, np.stack(draws), 0)


def _batch(winds: WindFields, times: np.ndarray, index: np.ndarray, num_context: int) -> Batch:
    """Functions of NumPy arrays in double precision, the first points their context."""
    mask = np.ones(index.shape)
    context = mask * (np.arange(index.shape[1]) < num_context)
    arrays: Any = (winds.x[index], winds.wind[times[:, None], index], mask, context)
    return Batch(*arrays)


class WindMetrics(NamedTuple):
    """Metrics of every task; mean squares are of the vector.

    Attributes:
        joint: Log-density of all targets, nats per point.
        diagonal: That of the product of the marginals.
        square_error: Mean square of the error of the mean, m2/s2.
        square_anomaly: Mean square of the targets: the error of climatology.
        coverage: Share of the components within the central 90% intervals.
    """

    joint: Float[np.ndarray, " tasks"]
    diagonal: Float[np.ndarray, " tasks"]
    square_error: Float[np.ndarray, " tasks"]
    square_anomaly: Float[np.ndarray, " tasks"]
    coverage: Float[np.ndarray, " tasks"]


def gaussian_metrics(gp: GP, tasks: Batch) -> WindMetrics:
    """Metrics of an exact Gaussian process, in double precision.

    Args:
        gp: A process of (east, north) components.
        tasks: Result of `task_batch`.

    Returns:
        Metrics per task.
    """
    number = int(np.asarray(tasks.context)[0].sum())

    @jax.jit
    def answers(x, y):
        posterior = gp.condition(x[:number], y[:number])
        return posterior.log_prob(x[number:], y[number:]), *posterior.mean_and_std(x[number:])

    rows = []
    for x, y in zip(tasks.x, tasks.y, strict=True):
        with jax.enable_x64(True):
            joint, mean, std = map(np.asarray, answers(jnp.asarray(x), jnp.asarray(y)))
        z, n = (y[number:] - mean) / std, len(y) - number
        diagonal = -0.5 * np.sum(z**2 + np.log(2 * np.pi * std**2)) / n
        error, anomaly = (np.sum(v**2) / n for v in (y[number:] - mean, y[number:]))
        rows.append((joint / n, diagonal, error, anomaly, np.mean(np.abs(z) < CENTRAL_90)))
    return WindMetrics(*np.array(rows, float).T)
