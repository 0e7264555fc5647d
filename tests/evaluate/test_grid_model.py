"""Likelihoods with the context in place: those of the general code, and of the exact process."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from geomndp.data import Normaliser, covariance, disc, field_problem
from geomndp.evaluate import GridModel, gp_log_probs, log_likelihood, score_error
from geomndp.kernels import Diagonal, White
from geomndp.likelihood import Flow
from geomndp.model import Model
from geomndp.nets import Steerable2
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore, GridGaussianScore, NetworkScore

CONTEXTS = 3


@pytest.fixture(scope="module", params=[pytest.param("se", marks=pytest.mark.slow), "curl-free"])
def problem(request):
    return field_problem(request.param)._replace(grid=disc(5, 3.0), contexts=CONTEXTS)


def exact_model(problem):
    noising = OrnsteinUhlenbeck(Diagonal(White(1.02), 2), LinearSchedule(1e-4, 15.0))
    return Model(noising, GaussianScore(problem.gp))


def test_rows_are_those_of_the_process(problem):
    tasks = problem.tasks(2)
    exact, diagonal = gp_log_probs(problem.gp, tasks)
    for i in range(2):
        known = np.asarray(tasks.context[i]) > 0
        x, y = tasks.x[i], tasks.y[i]
        posterior = problem.gp.condition(x[known], y[known])
        targets = int((~known).sum())
        log_prob, moments = map(eqx.filter_jit, (posterior.log_prob, posterior.mean_and_covariance))
        assert_allclose(exact[i], log_prob(x[~known], y[~known]), rtol=1e-6)
        mean, cov = moments(x[~known])
        blocks = np.asarray(cov).reshape(targets, 2, targets, 2)
        terms = [
            multivariate_normal(mean[j], blocks[j, :, j]).logpdf(y[~known][j])
            for j in range(targets)
        ]
        assert_allclose(diagonal[i], np.sum(terms), rtol=1e-6)


@pytest.mark.parametrize("route", ["conditional", "joint"])
def test_both_routes_give_the_exact_process(problem, route):
    tasks, model = problem.tasks(2), exact_model(problem)
    options = {"flow": Flow(steps=24), "route": route, "block_size": 2}
    found = log_likelihood(GridModel(model, CONTEXTS), tasks, **options)
    exact, _ = gp_log_probs(problem.gp, tasks)
    assert_array_equal(found.num_targets, len(problem.grid) - CONTEXTS)
    assert_allclose(found.per_target().value, exact / found.num_targets, atol=5e-3)
    assert jnp.max(found.per_target().solver_error) < 1e-3


def test_gap_of_the_exact_score_vanishes(problem):
    tasks, model = problem.tasks(8), exact_model(problem)
    fast = GridGaussianScore(covariance(problem.gp, problem.grid), 2, CONTEXTS)
    for kind in ("joint", "conditional"):
        gap = score_error(model, fast, tasks, key=jr.key(0), mode=kind, batches=1, cells=2)
        assert 0 <= gap.value < 1e-9


def test_refusals(problem):
    model, tasks = exact_model(problem), problem.tasks(1)
    with pytest.raises(ValueError, match="a mask that marks the context"):
        GridModel(model, CONTEXTS).condition(tasks.x[0], tasks.y[0])
    with pytest.raises(ValueError, match="without a normaliser"):
        GridModel(dataclasses.replace(model, normaliser=Normaliser()), CONTEXTS)


def test_networks_know_other_points_at_the_context(problem):
    """What a network prepared for the whole grid is not what it needs for the context alone."""
    net = Steerable2(channels=4, width=8, num_layers=1, radius=2.0, key=jr.key(0), dtype="float64")
    model = Model(exact_model(problem).noising, NetworkScore(net))
    task = problem.tasks(1)
    x, y, known = task.x[0], task.y[0], np.asarray(task.context[0]) > 0
    options = {"flow": Flow(steps=2), "route": "joint"}
    found = log_likelihood(GridModel(model, CONTEXTS), task, block_size=1, **options).value[0]
    posterior = model.condition(x[known], y[known])
    expected = posterior.log_prob_info(x[~known], y[~known], **options).value
    assert_allclose(found, expected, rtol=1e-6)
