"""Observations closer together than those of training: the posterior is the exact one."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.data import field_problem
from geomndp.likelihood import Flow
from geomndp.nets import graph_nets, num_dropped_edges
from geomndp.samplers import Amortised, conditional_dynamics
from geomndp.score import GaussianScore

AXIS = np.linspace(-3, 3, 20)
RANDOM = np.random.default_rng(0)
CONTEXTS = {
    "coincident": np.zeros((30, 2)),
    "cluster": RANDOM.uniform(-0.2, 0.2, (160, 2)),
    "grid": np.stack(np.meshgrid(AXIS, AXIS), axis=-1).reshape(-1, 2),
}
AT = jnp.zeros((2, 2), jnp.float32)
# The cluster is 22 times as dense as anything in training.
pytestmark = pytest.mark.filterwarnings("ignore:outside of what the model was trained on")


def observed(name):
    """Noisy values of a field that is far from its mean at the origin."""
    gp, x = field_problem("se").gp, jnp.asarray(CONTEXTS[name], jnp.float32)
    known = jnp.concatenate([jnp.zeros((1, 2), x.dtype), x])
    values = eqx.filter_jit(gp.sample)(known, key=jr.key(1))
    return x, 1.3 + values[1:] - values[:1]


@pytest.mark.parametrize("name", CONTEXTS)
def test_no_neighbour_is_missed(name):
    x, y = observed(name)
    model = gn.load("vector-fields/se")
    everything = jnp.concatenate([x, AT])
    (small,), (net,) = map(graph_nets, (model, model.condition(x, y).problem(AT).score))
    missed = [int(eqx.filter_jit(num_dropped_edges)(n, everything)) for n in (small, net)]
    assert missed[0] > 0 and missed[1] == 0


@pytest.mark.parametrize("name", ["cluster", pytest.param("grid", marks=pytest.mark.slow)])
def test_the_mean_is_that_of_the_process(name):
    x, y = observed(name)
    problem = gn.load("vector-fields/se").condition(x, y).problem(AT)
    noised = jnp.asarray([[0.3, -0.2], [1.0, 0.4]], x.dtype)

    def denoised(score):
        """Mean of the values given noised ones of signal-to-noise ratio 0.58, and the context."""
        field = conditional_dynamics(dataclasses.replace(problem, score=score))
        time = field.noising.schedule.inverse(jnp.asarray(1.0, x.dtype))
        a, sigma = field.noising.alpha(time), field.noising.sigma(time)
        return (noised + sigma * field.u(time, noised)) / a

    denoised = eqx.filter_jit(denoised)
    exact = denoised(GaussianScore(field_problem("se").gp))
    assert float(jnp.max(jnp.abs(exact))) > 1  # without the observations it is at most 0.6
    assert_allclose(denoised(problem.score), exact, atol=0.2)


def test_samples_given_coincident_observations():
    x, y = observed("coincident")
    exact = field_problem("se").gp.condition(x, y)
    mean, covariance = eqx.filter_jit(exact.mean_and_covariance)(AT)
    spread = float(covariance[0, 0]) ** 0.5
    posterior = gn.load("vector-fields/se").condition(x, y)
    drawn = posterior.sample(AT, key=jr.key(0), num_samples=4, sampler=Amortised(8))
    # Sixteen values of standard deviation 0.14; those of the prior have 1.01 around zero.
    assert_allclose(drawn.mean(axis=(0, 1)), mean[0], atol=0.25)
    assert 0.5 * spread < float(jnp.std(drawn - mean[None])) < 2 * spread


@pytest.mark.slow
def test_log_densities_see_all_neighbours():
    x, y = observed("coincident")
    model = gn.load("vector-fields/se")
    values = jnp.full((1, 2), 1.3, x.dtype)
    found = model.condition(x, y).log_prob_info(x[:1], values, flow=Flow(steps=8)).value
    exact = field_problem("se").gp.condition(x, y).log_prob(x[:1], values)
    prior = field_problem("se").gp.log_prob(x[:1], values)
    assert_allclose(found, exact, atol=0.3)
    assert float(exact - prior) > 3
