"""Held-out density by observation noise: with the exact score it is that of the exact process."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import load
from geomndp.data import regression1d
from geomndp.evaluate import log_likelihood
from geomndp.experiments.cyclones.latlon import CHART
from geomndp.experiments.noise_densities import (
    NoiseTasks,
    NoisyContext,
    density_rows,
    noise_tasks,
    perturb_degrees,
    perturb_on_sphere,
    perturb_values,
)
from geomndp.experiments.noise_levels import largest_ratio
from geomndp.experiments.table import noise_density_tables
from geomndp.geometry import Sphere
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

NAME = "regression1d/se"


def test_the_exact_score_has_the_density_of_the_exact_process():
    problem = regression1d("paper", "se")._replace(contexts=(3, 3), targets=4)
    gp, model = problem.process.gp, load(NAME)
    # A longer schedule: at the end of the model's own the data's mean is not quite forgotten.
    noising = OrnsteinUhlenbeck(model.noising.kernel, LinearSchedule(0.0, 25.0))
    exact = dataclasses.replace(model, noising=noising, score=GaussianScore(gp))
    tasks = problem.tasks(2, seed=1)
    deviations = (0.0, 0.3, 2.0)
    noisy = NoiseTasks(exact, tasks, 3, perturb_values, deviations, deviations, True)
    rows = density_rows(noisy, batch_size=2)
    z = jr.normal(jr.key(5), tasks.y.shape, tasks.y.dtype)
    for row, deviation in zip(rows, deviations, strict=True):
        context = (jnp.arange(7) < 3)[None, :, None]
        moved = tasks._replace(y=tasks.y + jnp.where(context, deviation * z, 0.0))
        process = NoisyContext(gp, jnp.asarray(deviation**2))
        expected = log_likelihood(process, moved, num_context=3).per_target().value
        assert abs(row["log_prob"][0] - float(expected.mean())) < 5e-3
    assert rows[0]["loss"] == [0.0, 0.0] and rows[2]["loss"][0] > 0.05


def test_tasks_of_a_model_reach_the_largest_noise():
    model = load("regression1d/sawtooth")
    noisy = noise_tasks("regression1d/sawtooth", model, 2)
    assert noisy.labels[0] == 0.0 and noisy.labels[-1] == largest_ratio(model)
    variance = float(model.noising.kernel.variance)
    ratios = np.square(noisy.deviations) / variance
    assert np.allclose(ratios, noisy.labels, rtol=1e-3)


def test_fixes_move_by_the_stated_distance(getkey):
    sphere = Sphere(2)
    y = sphere.retract(jr.normal(getkey(), (4000, 3)))
    z = jr.normal(getkey(), y.shape)
    walked = perturb_on_sphere(y, jnp.asarray(0.02), z)
    distance = jax.vmap(sphere.distance)(y, walked)
    # Two tangent coordinates of standard deviation 0.02 each.
    assert abs(float(jnp.mean(distance**2)) / (2 * 0.02**2) - 1) < 0.1
    track = CHART.from_plane(jnp.stack([jnp.linspace(0, 40, 9), jnp.linspace(170, 190, 9)], 1))
    moved = CHART.to_plane(perturb_degrees(track, jnp.asarray(0.5), z[:9]))
    assert np.allclose(moved - CHART.to_plane(track), 0.5 * z[:9, :2], atol=1e-6)


def test_table_of_losses():
    rows = [
        {"noise": 0.0, "log_prob": [1.5, 0.1], "loss": [0.0, 0.0]},
        {"noise": 1e-3, "log_prob": [1.4, 0.1], "loss": [0.1, 0.02]},
    ]
    (table,) = noise_density_tables({"a": rows}, "noise")
    assert table.header == ("noise", "a")
    assert table.rows[0] == ("log-density without noise", "1.500 ± 0.100")
    assert table.rows[1] == ("0.001", "0.100 ± 0.020")
    assert noise_density_tables({}, "noise") == []
