"""Tasks on global winds: reference formulae, and the reference numbers of validation times."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines import fit_sphere_gp
from geomndp.baselines.gaussian.sphere import sphere_process
from geomndp.data.winds import WindFields
from geomndp.experiments.sphere_fields import winds as tasks_module
from geomndp.experiments.sphere_fields.winds import (
    WindTask,
    gaussian_metrics,
    task_batch,
    training_batch,
    validation_tasks,
    wind_anomalies,
)
from geomndp.geometry.geodesy import to_latlon

FOLDER = Path(os.environ.get("GEOMNDP_DATA", "data")) / "weather"
THETA = (0.189, 0.19, 11.712, 2.448, 4.259)
"""Reference: lengthscales and variances of divergence-free and gradient part, noise."""


def reference_covariance(x):
    """The reference's own formula: gradient kernel in a frame, and in the turned frame."""
    lon = np.radians(to_latlon(x)[1])
    east = np.stack([-np.sin(lon), np.cos(lon), 0 * lon], 1)
    north = np.cross(x, east)
    u = (x @ x.T)[..., None, None]
    total = THETA[4] * np.eye(2 * len(x))
    for rows, length, variance in (
        (np.stack([north, -east], 1), THETA[0], THETA[2]),
        (np.stack([east, north], 1), THETA[1], THETA[3]),
    ):
        f = np.exp(-(1 - u) / length**2)
        slope = np.einsum("iad,jd->ija", rows, x)
        outer = slope[..., None] * slope.transpose(1, 0, 2)[:, :, None, :]
        blocks = f * np.einsum("iad,jbd->ijab", rows, rows) + f / length**2 * outer
        total += variance * blocks.transpose(0, 2, 1, 3).reshape(total.shape)
    return total


def log_density(error, covariance):
    quadratic = error @ np.linalg.solve(covariance, error)
    return -0.5 * (quadratic + np.linalg.slogdet(2 * np.pi * covariance)[1])


def expected_metrics(batch, number):
    rows, m = [], 2 * number
    for x, y in zip(batch.x, batch.y, strict=True):
        k, values = reference_covariance(x), y.reshape(-1)
        gain = np.linalg.solve(k[:m, :m], k[:m, m:]).T
        error, rest = values[m:] - gain @ values[:m], k[m:, m:] - gain @ k[:m, m:]
        variance, n = np.diag(rest), len(x) - number
        diagonal = -0.5 * (error**2 / variance + np.log(2 * np.pi * variance)).sum()
        inside = np.abs(error) < 1.6449 * np.sqrt(variance)
        square = (values[m:] ** 2).sum() / n
        row = (log_density(error, rest) / n, diagonal / n, (error**2).sum() / n, square)
        rows.append((*row, inside.mean()))
    return np.array(rows).T


def test_metrics_are_those_of_the_reference():
    random = np.random.default_rng(2)
    x = random.normal(size=(30, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    area = np.full(30, 1 / 30)
    winds = WindFields(x, 4 * random.normal(size=(2, 30, 2)), np.arange(2), np.arange(30), area)
    tasks = [WindTask(k, np.arange(k, 9 + k), np.arange(12, 24)) for k in range(2)]
    batch = task_batch(winds, tasks, 8)
    assert batch.context.sum(axis=1).tolist() == [8, 8]
    assert_allclose(batch.y[1, 8], winds.wind[1, 12])
    found = gaussian_metrics(sphere_process(np.log(THETA)), batch)
    assert_allclose(np.stack(found), expected_metrics(batch, 8), rtol=1e-6)
    with pytest.raises(ValueError, match="expected stations to be a whole number >= 10, got 9"):
        task_batch(winds, tasks, 10)


needs_winds = pytest.mark.skipif(
    not (FOLDER / tasks_module.FILE).exists(), reason="GEOMNDP_DATA has no folder weather"
)


@pytest.mark.slow
@needs_winds
def test_reference_process_of_real_winds():
    winds = wind_anomalies(FOLDER)
    assert winds.wind[winds.between(*tasks_module.TRAINING)].shape == (101, 7080, 2)
    fit = fit_sphere_gp(training_batch(winds, 120, every=8))
    kernel = fit.process.kernel
    first, second = kernel.first, kernel.second
    found = (first.potential.lengthscale, second.potential.lengthscale)
    found += (first.variance, second.variance, fit.process.noise)
    assert_allclose(found, THETA, rtol=0.004)
    tasks = validation_tasks(winds)
    assert len(tasks) == 25
    batch = task_batch(winds, tasks, 50)
    metrics = gaussian_metrics(sphere_process(np.log(THETA)), batch)
    few = [part[:2] for part in batch[:2]]
    expected = expected_metrics(batch._replace(x=few[0], y=few[1]), 50)
    assert_allclose(np.stack(metrics)[:, :2], expected, rtol=1e-6)
    assert_allclose(metrics.joint.mean(), -5.462, atol=0.001)
    assert_allclose(metrics.square_error.mean() ** 0.5, 5.934, atol=0.001)
