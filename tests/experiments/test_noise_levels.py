"""Posteriors by observation noise: exact scores have no regret, shipped ones hardly any."""

import dataclasses

import numpy as np
import pytest

from geomndp import load
from geomndp.experiments.noise_levels import (
    draw_noise_task,
    largest_ratio,
    noise_rows,
    noise_setting,
)
from geomndp.score import GaussianScore

NAME = "regression1d/se"


def test_the_exact_score_is_at_the_floor_at_every_noise():
    where = noise_setting(NAME)._replace(contexts=3, targets=3)
    model = dataclasses.replace(load(NAME), score=GaussianScore(where.gp))
    sizes = {"tasks": 2, "num_samples": 256, "densities": 2}
    rows = noise_rows(model, where, **sizes, ratios=(1e-2, 1e9))
    # More than the largest is left out, the largest itself is there.
    assert [row["ratio"] for row in rows] == [1e-2, largest_ratio(model)]
    for row in rows:
        assert abs(row["kl"][0] - row["floor"][0]) < 0.1
        assert abs(row["regret"][0]) < 0.01
        assert row["gp"][0] == pytest.approx(row["log_prob"][0] + row["regret"][0])
    assert 100 < largest_ratio(model) < 150


def test_tasks_are_those_of_the_process():
    where = noise_setting(NAME)
    values = np.array([draw_noise_task(where, 1e-9, seed).yc for seed in range(16)])
    assert abs(values.var() - 1.0025) < 5 * np.sqrt(2 / 16)
    clean, noisy = (draw_noise_task(where, noise, 4) for noise in (0.0, 1.0))
    assert np.abs(clean.yc - noisy.yc).max() > 0.1
    assert np.diag(noisy.factor).min() > np.diag(clean.factor).min()


@pytest.mark.slow  # shipped models change with a training only
@pytest.mark.parametrize("name", [NAME, "regression1d/matern"])
def test_no_noise_is_answered_at_random(name):
    """Between zero and 1e-4 of the limiting variance nothing used to be trained on."""
    model, where = load(name), noise_setting(name)
    task = draw_noise_task(where, 1e-6, 0)
    at, wide = np.float32(task.xc), {}
    for noise in (0.0, 1e-6, 1e-3):
        posterior = model.condition(at, np.float32(task.yc), noise=noise)
        drawn = np.asarray(posterior.sample(at, key=7, num_samples=64))
        wide[noise] = float(drawn.std(axis=0).mean())
        assert np.abs(drawn.mean(axis=0) - task.yc).max() < 0.15
    # The exact posterior of y at an observed point has sd 0.07: the noise of the data twice over.
    assert wide[1e-6] == pytest.approx(wide[0.0], rel=0.25)
