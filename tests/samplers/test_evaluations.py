"""The numbers of score evaluations that samplers report are those that they make."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import kernels, noising, samplers
from geomndp._arrays import bucket
from geomndp.gp import GP
from geomndp.samplers import pad_problem
from geomndp.samplers.program import run
from geomndp.score import AbstractScore, GaussianScore
from geomndp.solve import Adaptive

from ..cases import slow_but
from .helper import EPS, SAMPLERS, SCHEDULE, SE, case, hurried


class CountingScore(AbstractScore):
    """A score that notes every evaluation outside of derivatives."""

    score: AbstractScore
    calls: list
    conditional = True

    def __call__(self, noising, t, x, y, mask=None):
        jax.debug.callback(lambda: self.calls.append(1))
        return self.score(noising, t, x, y, mask)


COUNTED = {
    "adaptive": samplers.AdaptiveFlow(),
    "adaptive-three": samplers.AdaptiveFlow(steps=3),
    **{name: SAMPLERS[name] for name in ("amortised", "flow", "langevin-inner", "repaint")},
}


@pytest.mark.parametrize("name", slow_but(set(COUNTED) - {"adaptive-three"}, COUNTED))
def test_reported_evaluations_are_those_made(name):
    problem, calls = case(n=3, key=jr.key(0)).problem, []
    counting = CountingScore(problem.score, calls)
    program = COUNTED[name].program(dataclasses.replace(problem, score=counting))
    _, _, evaluations = jax.jit(lambda key: run(program, jnp.float64, key=key))(jr.key(1))
    jax.effects_barrier()
    assert int(evaluations) == len(calls) > 0


def test_adaptive_evaluations_are_reported_per_sample():
    problem = case(n=3, key=jr.key(0)).problem
    loose, tight = (samplers.AdaptiveFlow(Adaptive(tol, tol)) for tol in (1e-2, 1e-6))
    costs = [
        hurried(lambda p, s=s: s.draw(p, key=jr.key(1), num_samples=4).info.evaluations, problem)
        for s in (loose, tight)
    ]
    assert costs[0].shape == (4,) and bool(jnp.all(costs[0] < costs[1]))


def test_replacement_makes_every_step_once():
    """RePaint as often as it resamples."""
    problem = case(n=3, key=jr.key(0)).problem
    assert samplers.Replacement(6).program(problem).evaluations == 6
    assert samplers.RePaint(6, 3).program(problem).evaluations == 18


@pytest.mark.parametrize("m", [2, 20, 64, 80, 85])
def test_twisted_smc_makes_a_product_per_context_coordinate(m):
    """At any number of coordinates, also where the padded context has more than are allowed."""
    limit, data = kernels.Diagonal(kernels.White(), 3), kernels.Diagonal(SE(0.3), 3)
    x, y = jr.normal(jr.key(0), (m + 1, 1)), jnp.zeros((m, 3))
    observations = samplers.Observations(x[:m], y, jnp.zeros(m), False)
    process = noising.OrnsteinUhlenbeck(limit, SCHEDULE)
    problem = samplers.Problem(process, GaussianScore(GP(data)), x[m:], observations, EPS)
    sampler = samplers.TwistedSMC(5, 4)
    sampler.check(problem)
    products = 3 * m
    assert sampler.program(problem).evaluations == 6 * 4 * (1 + 2 * products)
    padded = pad_problem(problem, bucket(m), 1)  # as it is run
    assert sampler.program(padded).evaluations == 6 * 4 * (1 + 2 * 3 * bucket(m))
