"""The flow map's sampler, with exact maps: any number of calls gives the posterior."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import law, nets, samplers, score, solve

from ..flow_maps import GaussianFlowMap
from .helper import SE_DATA, case, hurried


def exact(limit="white", noise=0.0, mean=None, *, key):
    """A problem whose score knows its flow map."""
    given = case(limit, m=3, n=4, noise=noise, key=key, mean=mean)
    problem = dataclasses.replace(given.problem, score=GaussianFlowMap(given.gp))
    return given, problem


CASES = {
    ("white", 0.04): (samplers.FlowMap(1), samplers.FlowMap(2, noise=1.0)),
    ("nugget", 0.0): (samplers.FlowMap(2),),
}


@pytest.mark.parametrize("limit, noise", CASES)
def test_exact_map_gives_the_posterior_for_any_number_of_calls(limit, noise, getkey):
    given, problem = exact(limit, noise, key=getkey())
    kls = hurried(
        lambda problem: [
            law.posterior_kl(sampler, problem, given.truth()) for sampler in CASES[limit, noise]
        ],
        problem,
    )
    # What is left is the law at time one and the noise at t_min.
    assert max(kls) < 5e-3


def test_map_follows_the_flow_both_ways_and_leaves_the_context(getkey):
    _, problem = exact(key=getkey())
    dynamics = samplers.conditional_dynamics(problem)
    y = jr.normal(getkey(), (4, 1))
    grid = jnp.linspace(0.3, 0.9, 65) ** 2

    def both(y):
        times = jnp.asarray([grid[0], grid[-1]])
        solved, _ = solve.RK4().integrate(dynamics.flow, grid, y)
        there = dynamics.flow_map(times[0], times[1], y)
        return solved, there, dynamics.flow_map(times[1], times[0], there)

    solved, there, back = hurried(both, y)
    np.testing.assert_allclose(there, solved, atol=1e-6)
    np.testing.assert_allclose(back, y, atol=1e-10)


def test_calls_and_evaluations(getkey):
    _, problem = exact(key=getkey())
    sampler = samplers.FlowMap(2)
    assert sampler.steps == 2
    assert sampler.program(problem).evaluations == 3
    grid, schedule = score.flow_map_grid(problem.noising), problem.noising.schedule
    middle = grid(schedule, 2, problem.t_min, problem.x.dtype)[1]
    np.testing.assert_allclose(sampler.program(problem).inputs[1], [1.0, middle])


def test_refuses_what_is_no_student(getkey):
    problem = dataclasses.replace(exact(key=getkey())[1], score=score.GaussianScore(SE_DATA))
    with pytest.raises(ValueError, match="expected a student with flow maps"):
        samplers.FlowMap().check(problem)
    net = nets.RelativeAttention(1, 1, width=4, num_layers=1, num_heads=1, key=jr.key(0))
    teacher = score.NetworkScore(net, conditional=True)
    with pytest.raises(ValueError, match="expected a student with flow maps"):
        samplers.FlowMap().check(dataclasses.replace(problem, score=teacher))
    with pytest.raises(ValueError, match="expected a student with flow maps"):
        teacher.flow_map(problem.noising, *jnp.asarray([1.0, 0.5]), problem.x, jnp.zeros((4, 1)))
    student = score.NetworkScore(nets.extend_network(net, key=jr.key(1), target_times=True))
    with pytest.raises(ValueError, match="expected a score trained with contexts"):
        samplers.FlowMap().check(dataclasses.replace(problem, score=student))


@pytest.mark.parametrize("options", [{"calls": 0}, {"noise": -0.1}, {"noise": 1.5}])
def test_refuses_options(options):
    with pytest.raises(ValueError, match="expected"):
        samplers.FlowMap(**options)


def test_is_found_by_name():
    assert samplers.from_text("flow-map:calls=2,noise=0.5") == samplers.FlowMap(2, 0.5)
    assert jax.tree.leaves(samplers.FlowMap()) == []
