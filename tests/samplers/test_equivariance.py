"""Rotated and reflected inputs, observations and noise give rotated and reflected samples."""

import itertools

import jax
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


def problem(limit, gp, x, y, noise):
    observations = samplers.Observations(x[:M], y, jnp.full(M, noise), noise > 0)
    process = noising.OrnsteinUhlenbeck(limit, SCHEDULE)
    return samplers.Problem(process, score.GaussianScore(gp), x[M:], observations, EPS)


FAST = (("moment-matching", "divergence"), ("repaint", "curl"))


@pytest.mark.parametrize(
    ("name", "free"),
    [
        pytest.param(*both, marks=() if both in FAST else pytest.mark.slow)
        for both in itertools.product(SHORT, FREE)
    ],
)
def test_sampling_turns_with_its_inputs(name, free, getkey):
    sampler = SHORT[name]
    limit = FREE[free](1.0) + Diagonal(White(0.05), 2)
    gp = GP(FREE[free](1.5), noise=0.01)
    noise = 0.1 if name == "kinetic" else 0.0
    x, y = jr.normal(getkey(), (M + N, 2)), jr.normal(getkey(), (M, 2))
    turns = [rotation(2, key=getkey(), reflect=reflect) for reflect in (False, True)]

    def turned(turn, key):
        """Result of everything turned, the noise too."""
        program = sampler.program(problem(limit, gp, x @ turn.T, y @ turn.T, noise))
        noises = noise_for(program, key=key)
        return run_with(program, [tuple(z @ turn.T for z in group) for group in noises])

    every = jnp.stack([jnp.eye(2), *turns])
    plain, *moved = hurried(lambda key: jax.lax.map(lambda q: turned(q, key), every), getkey())
    for turn, found in zip(turns, moved, strict=True):
        assert_allclose(found, plain @ turn.T, rtol=1e-6, atol=1e-7)
