"""Densities by flow maps: those of exact maps are the exact ones, and integrate to one."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

import geomndp as gn
from geomndp import geometry, kernels, likelihood, noising, samplers, score
from geomndp.gp import GP
from geomndp.solve import ConditionalDynamics, PowerTimeGrid

from ..cases import quick
from ..flow_maps import GaussianFlowMap, SolvedFlowMap

DATA = GP(kernels.SquaredExponential(0.25), noise=0.05**2)
PROCESS = noising.OrnsteinUhlenbeck(kernels.White(), noising.DEFAULT_SCHEDULE_1D)


def test_exact_map_gives_the_exact_conditional_density(getkey):
    """At t_min, given observations, with padding, through the model's own call."""
    model = gn.Model(PROCESS, GaussianFlowMap(DATA))
    x = jnp.linspace(-0.5, 0.5, 7)[:, None]
    y = jax.jit(DATA.sample)(x, key=getkey())
    flow = likelihood.FlowMapDensity(2, terminal="exact")
    info = model.condition(x[:2], y[:2]).log_prob_info(x[2:], y[2:], flow=flow)
    exact = jax.jit(partial(score.GaussianScore(DATA).log_prob, PROCESS))
    times = jnp.where(jnp.arange(7) < 2, 0.0, model.t_min)
    truth = exact(times, x, y) - jax.jit(DATA.log_prob)(x[:2], y[:2])
    np.testing.assert_allclose(info.value, truth, atol=1e-6)
    assert info.solver_error < 1e-6 and info.evaluations == 3


@pytest.mark.slow
def test_exact_map_on_the_sphere_is_normalised(getkey):
    """Mean density over uniform points, given a neighbour, is one over the area."""
    sphere = geometry.Sphere(2)

    def centres(x):
        poles = jnp.asarray([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8]], x.dtype)
        return jnp.broadcast_to(poles[:, None], (2, len(x), 3))

    law = SolvedFlowMap(score.HeatMixtureScore(centres, (0.2, 0.3)), steps=6)
    process = noising.Brownian(sphere, noising.LinearSchedule(1e-3, 8.0))
    problem = samplers.Problem(
        process,
        law,
        jnp.zeros((1, 1)),
        samplers.Observations(jnp.ones((1, 1)), jnp.eye(3)[2:], jnp.zeros(1), False),
        1e-2,
    )
    dynamics = samplers.conditional_dynamics(problem)
    flow = likelihood.FlowMapDensity(2, PowerTimeGrid(2.0))
    points = sphere.uniform(200, key=getkey())
    densities = quick(jax.vmap(lambda y: flow.log_prob(dynamics, y[None], 1e-2).value))(points)
    mean = 4 * np.pi * np.mean(np.exp(np.asarray(densities)))
    error = 4 * np.pi * np.std(np.exp(np.asarray(densities))) / np.sqrt(200)
    assert abs(mean - 1) < 4 * error + 0.02 and error < 0.2


def test_padding_changes_nothing(getkey):
    x, y = jr.normal(getkey(), (4, 1)), jr.normal(getkey(), (4, 1))
    mask = jnp.asarray([1.0, 1.0, 1.0, 0.0])
    flow, law = likelihood.FlowMapDensity(2), GaussianFlowMap(DATA)

    @quick
    def both(x, y):
        plain = ConditionalDynamics(PROCESS, law, x[:3])
        padded = ConditionalDynamics(PROCESS, law, x, mask)
        return flow.log_prob(plain, y[:3], 1e-3), flow.log_prob(padded, y, 1e-3)

    plain, padded = both(x, y)
    np.testing.assert_allclose(padded.value, plain.value, rtol=1e-9)


def test_refusals():
    x = jnp.zeros((60, 3))
    process = dataclasses.replace(PROCESS, kernel=kernels.Diagonal(kernels.White(), 3))
    flow, law = likelihood.FlowMapDensity(), GaussianFlowMap(GP(process.kernel))
    with pytest.raises(ValueError, match=r"at most 100 values .* got 180"):
        flow.log_prob(ConditionalDynamics(process, law, x), x, 1e-3)
    with pytest.raises(ValueError, match=r"expected a student with flow maps .* GaussianScore"):
        flow.log_prob(ConditionalDynamics(process, law.exact, x[:2]), x[:2], 1e-3)
    with pytest.raises(ValueError, match="calls to be a whole number >= 2"):
        likelihood.FlowMapDensity(1)
