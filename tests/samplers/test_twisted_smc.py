"""Twisted sequential Monte Carlo: averages over independent runs match the exact posterior."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import noising, samplers, score
from geomndp.gp import GP
from geomndp.samplers.particles import WeightedParticles, effective_number, resample

from ..cases import slow_but
from .helper import SE, White, case, hurried

RUNS = 96
CASES = {
    "white": {"limit": "white"},
    "smooth-noisy": {"limit": "nugget", "noise": 0.1, "repeats": True},
    "no-observations": {"limit": "white", "m": 0},
}


@pytest.mark.parametrize("name", slow_but(("white", "smooth-noisy"), CASES))
def test_mean_and_covariance(name):
    the_case = case(n=4, key=jr.key(0), **CASES[name])
    sampler = samplers.TwistedSMC(100, 24, batch_size=RUNS)
    sampler.check(the_case.problem)

    def averages(problem):
        runs = sampler.runs(problem, key=jr.key(1), num_runs=RUNS)
        mean, covariance = the_case.truth()
        y = (runs.y - mean[None, None]).reshape(RUNS, 24, -1)
        first = jnp.einsum("rk,rki->ri", runs.weights, y)
        second = jnp.einsum("rk,rki,rkj->rij", runs.weights, y, y) - covariance[None]
        return runs, first, second

    runs, first, second = hurried(averages, the_case.problem)
    assert runs.effective.shape == runs.rms.shape == (RUNS, 100)
    assert_allclose(jnp.sum(runs.weights, axis=1), 1.0, rtol=1e-12)
    for moments in (first, second):
        errors = jnp.std(moments, axis=0, ddof=1) / RUNS**0.5
        assert float(jnp.max(jnp.abs(jnp.mean(moments, axis=0)) / errors)) < 4.0


def test_draws_are_picked_by_weight_from_runs():
    problem = case(n=2, key=jr.key(0)).problem
    sampler = samplers.TwistedSMC(10, 8)

    def both(problem):
        runs = sampler.runs(problem, key=jr.key(1), num_runs=5)
        return runs, sampler.draw(problem, key=jr.key(1), num_samples=5)

    runs, samples = hurried(both, problem)
    assert samples.y.shape == (5, 2, 1)
    assert samples.info.rms.shape == (10,)
    distances = jnp.min(jnp.abs(runs.y - samples.y[:, None]).sum((2, 3)), axis=1)
    assert_allclose(distances, 0.0, atol=1e-12)
    assert_array_equal(samples.info.evaluations, 5 * [11 * 8 * 7])


def test_resampling_keeps_averages():
    values, log_weights = jnp.arange(8.0), jnp.log(jnp.arange(1.0, 9.0) ** 4)
    state = WeightedParticles((values, 2 * values), log_weights)
    kept = resample(state._replace(log_weights=log_weights / 100), jr.uniform(jr.key(0)))
    assert_allclose(kept.particles[0], values)  # enough are effective
    assert float(effective_number(log_weights)) < 4
    uniforms = jr.uniform(jr.key(0), (4000,))
    many = hurried(lambda all: jax.vmap(lambda u: resample(state, u))(all), uniforms)
    assert_allclose(many.log_weights, 0.0)
    assert_allclose(2 * many.particles[0], many.particles[1])
    means = jnp.mean(many.particles[0], axis=1)
    gap = jnp.mean(means) - jnp.sum(jax.nn.softmax(log_weights) * values)
    assert abs(float(gap)) < 4 * float(jnp.std(means)) / 4000**0.5


def test_first_weights_are_those_of_draws_from_the_limiting_law():
    """Data with the limiting law itself, noised so briefly that the end still depends on the start.

    That law is the same at all times, so that no schedule is too short for it. The first particles
    know nothing of the noisy observation: only their weights do.
    """
    data = GP(SE(1.0), noise=0.05)
    process = noising.OrnsteinUhlenbeck(SE(1.0) + White(0.05), noising.LinearSchedule(0.4, 0.6))
    x = jnp.asarray([[0.0], [0.3], [0.6]])
    observations = samplers.Observations(x[:1], jnp.asarray([[3.0]]), jnp.asarray([0.5]), True)
    problem = samplers.Problem(process, score.GaussianScore(data), x[1:], observations, 5e-4)
    sampler = samplers.TwistedSMC(50, 24, batch_size=RUNS)
    runs = hurried(lambda problem: sampler.runs(problem, key=jr.key(1), num_runs=RUNS), problem)
    means = jnp.einsum("rk,rki->ri", runs.weights, runs.y[..., 0])
    truth = data.condition(observations.x, observations.y, 0.5).mean_and_covariance(problem.x)[0][
        :, 0
    ]
    errors = jnp.std(means, axis=0, ddof=1) / RUNS**0.5
    assert float(jnp.max(jnp.abs(jnp.mean(means, axis=0) - truth) / errors)) < 4.0
