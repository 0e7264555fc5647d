"""Models at unseen locations: the exact score has no regret there, no neighbour is missed."""

import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist

from geomndp.data import disc, field_problem
from geomndp.evaluate import gp_log_probs, whitened
from geomndp.experiments.vector_fields.unseen_locations import (
    UNSEEN,
    evaluate_unseen,
    locations,
    whitened_spread,
)
from geomndp.kernels import Diagonal, White
from geomndp.likelihood import Flow
from geomndp.model import Model
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore

NOISING = OrnsteinUhlenbeck(Diagonal(White(1.02), 2), LinearSchedule(1e-4, 15.0))


def small(name):
    return field_problem(name)._replace(grid=disc(5, 2.0), contexts=3)


def test_locations_are_what_their_names_say():
    problem = field_problem("se")
    found = {name: locations(name, problem) for name in UNSEEN}
    sizes = {name: len(grid) for name, grid in found.items()}
    assert sizes.pop("half") == 324 and sizes.pop("wider") > 1000 and set(sizes.values()) == {648}
    step = 20 / 29
    for name, factor in {"finer": 0.8, "coarser": 1.25, "wider": 1, "moved": 1}.items():
        assert pdist(found[name]).min() == pytest.approx(factor * step, rel=1e-4)
    assert np.linalg.norm(found["scattered"], axis=1).max() <= 10
    assert np.linalg.norm(found["moved"].mean(axis=0)) > 10


def test_the_exact_score_loses_nothing_elsewhere():
    problem = small("se")
    model = Model(NOISING, GaussianScore(problem.gp))
    options = {"tasks": 2, "samples": 64, "sampler": Amortised(30), "flow": Flow(steps=16)}
    rows = evaluate_unseen(
        model, problem, names=("scattered",), num=2, fields=8, batch_size=2, **options
    )
    assert rows["scattered"]["points"] == len(problem.grid)
    assert abs(rows["scattered"]["regret"][0]) < 0.01
    assert rows["scattered"]["whitened"][0] == pytest.approx(1, abs=0.1)
    assert all(abs(gap[0]) < 1e-6 for gap in rows["scattered"]["gaps"].values())


def test_samples_are_not_drawn_with_the_keys_of_the_fields(monkeypatch):
    used = []

    class Posterior:
        def sample(self, x, *, key, num_samples, sampler):
            used.append(jr.key_data(key))
            return np.zeros((num_samples, len(x), 2), np.float32)

    monkeypatch.setattr(Model, "condition", lambda *_: Posterior())
    problem = small("se")
    model = Model(NOISING, GaussianScore(problem.gp))
    whitened_spread(model, problem, tasks=2, samples=2, seed=7)
    halves = jr.split(jr.key(7))  # one for the fields and one for the marks, split again
    data = [jr.key_data(key) for part in (jr.key(7), *halves) for key in jr.split(part, 2)]
    assert len({tuple(key.tolist()) for key in [*used, *data]}) == 2 + 6


@pytest.mark.parametrize("name", ["se", "div-free"])
def test_whitening_has_the_density_of_the_posterior(name):
    problem = small(name)
    tasks = problem.tasks(1)
    y, known = np.asarray(tasks.y[0]), np.asarray(tasks.context[0]) > 0
    size = 2 * int((~known).sum())
    samples = np.concatenate([y[~known].reshape(1, -1), np.zeros((1, size)), np.eye(size)])
    white = whitened(problem.gp, problem.grid, y, known, samples.reshape(size + 2, -1, 2))
    _, volume = np.linalg.slogdet(white[2:] - white[1:2])
    density = volume - 0.5 * np.sum(white[0] ** 2) - 0.5 * size * np.log(2 * np.pi)
    exact, _ = gp_log_probs(problem.gp, tasks)
    assert_allclose(density, exact[0], rtol=1e-6)
