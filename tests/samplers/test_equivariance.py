"""Rotated and reflected inputs, observations and noise give rotated and reflected samples."""

import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import noising, samplers, score
from geomndp.gp import GP
from geomndp.kernels import CurlFree, Diagonal, DivergenceFree, White

from ..cases import rotation
from .helper import EPS, SCHEDULE, SHORT, hurried, noise_for, run_with

FREE = {"curl": CurlFree, "divergence": DivergenceFree}
M, N = 3, 4


def sample(sampler, limit, gp, x, y, noise, noises):
    seen = samplers.Observations(x[:M], y, jnp.full(M, noise), noise > 0)
    process = noising.OrnsteinUhlenbeck(limit, SCHEDULE)
    problem = samplers.Problem(process, score.GaussianScore(gp), x[M:], seen, EPS)
    program = sampler.program(problem)
    if noises is None:
        noises = noise_for(program, key=jr.key(0))
    return run_with(program, noises), noises


@pytest.mark.parametrize("free", FREE)
@pytest.mark.parametrize("name", SHORT)
def test_sampling_turns_with_its_inputs(name, free, getkey):
    sampler = SHORT[name]
    limit = FREE[free](1.0) + Diagonal(White(0.05), 2)
    gp = GP(FREE[free](1.5), noise=0.01)
    noise = 0.1 if name == "kinetic" else 0.0
    x, y = jr.normal(getkey(), (M + N, 2)), jr.normal(getkey(), (M, 2))
    turns = [rotation(2, key=getkey(), reflect=reflect) for reflect in (False, True)]

    def compare(x, y, turns):
        plain, noises = sample(sampler, limit, gp, x, y, noise, None)
        results = []
        for turn in turns:
            turned = [tuple(z @ turn.T for z in group) for group in noises]
            moved, _ = sample(sampler, limit, gp, x @ turn.T, y @ turn.T, noise, turned)
            results.append((moved, plain @ turn.T))
        return results

    for found, expected in hurried(compare, x, y, turns):
        assert_allclose(found, expected, rtol=1e-6, atol=1e-7)
