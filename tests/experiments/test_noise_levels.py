"""Posteriors by observation noise: exact scores have no regret, shipped ones hardly any."""

import dataclasses

import numpy as np
import pytest

from geomndp import load
from geomndp.experiments.gaussian_noise_tasks import draw_noise_tasks, noise_setting
from geomndp.experiments.noise_levels import (
    NoiseSizes,
    largest_ratio,
    noise_rows,
    relative_to_reference,
)
from geomndp.score import GaussianScore

NAME = "regression1d/se"


def test_the_exact_score_is_at_the_floor_at_every_noise():
    where = noise_setting(NAME)._replace(contexts=3, targets=3)
    model = dataclasses.replace(load(NAME), score=GaussianScore(where.gp))
    sizes = NoiseSizes(tasks=2, sets=2, pairs=3, densities=2, batch_size=2)
    rows = noise_rows(model, where, sizes, ratios=(0.0, 1e-2, 1e9))
    # More than the largest is left out, the largest itself is there.
    assert [row["ratio"] for row in rows] == [0.0, 1e-2, largest_ratio(model)]
    for row in rows:
        assert row["kl"] == row["floor"]
        assert 0 <= row["kl"][0] < 1e-3  # that of the solver: the moments have no sampling error
        assert row["kl_error"] < 1e-4
        assert abs(row["regret"][0]) < 0.01
        assert row["gp"][0] == pytest.approx(row["log_prob"][0] + row["regret"][0])
    assert rows[0]["relative"] == [1.0, 0.0]
    assert 100 < largest_ratio(model) < 150


def test_the_ratio_of_kls_is_paired():
    """A task that is twice as hard at every noise leaves the ratio without an error."""
    hard = np.array([1.0, 2.0, 3.0])
    pairs = relative_to_reference((0.0, 1e-5, 1e-3), np.stack([hard, 1.5 * hard, 0.5 * hard]))
    assert [pair[0] for pair in pairs] == pytest.approx([1.0, 1.5, 0.5])
    assert [pair[1] for pair in pairs] == pytest.approx([0.0, 0.0, 0.0], abs=1e-12)
    with pytest.raises(ValueError, match="limiting variance"):
        relative_to_reference((1e-5,), hard[None])


def test_tasks_are_those_of_the_process():
    where = noise_setting(NAME)
    values = np.array([task.yc for task in draw_noise_tasks(where, [1e-9], range(16))[0]])
    assert abs(values.var() - 1.0025) < 5 * np.sqrt(2 / 16)
    (clean,), (noisy,) = draw_noise_tasks(where, (0.0, 1.0), [4])
    assert np.abs(clean.yc - noisy.yc).max() > 0.1
    assert np.diag(noisy.factor).min() > np.diag(clean.factor).min()


@pytest.mark.slow  # shipped models change with a training only
@pytest.mark.parametrize("name", [NAME, "regression1d/matern"])
def test_no_noise_is_answered_at_random(name):
    """Between zero and 1e-4 of the limiting variance nothing used to be trained on."""
    model, where = load(name), noise_setting(name)
    ((task,),) = draw_noise_tasks(where, [1e-6], [0])
    at, wide = np.float32(task.xc), {}
    for noise in (0.0, 1e-6, 1e-3):
        posterior = model.condition(at, np.float32(task.yc), noise=noise)
        drawn = np.asarray(posterior.sample(at, key=7, num_samples=64))
        wide[noise] = float(drawn.std(axis=0).mean())
        assert np.abs(drawn.mean(axis=0) - task.yc).max() < 0.15
    # The exact posterior of y at an observed point has sd 0.07: the noise of the data twice over.
    assert wide[1e-6] == pytest.approx(wide[0.0], rel=0.25)
