"""Turned inputs, observations and noise give turned samples: roots are symmetric."""

import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import kernels, noising, samplers, score
from geomndp.gp import GP
from geomndp.samplers import program as programs

from .helper import EPS, FAMILIES, SAMPLERS, SCHEDULE, hurried

TURNS = {
    "rotation": (kernels.CurlFree, jnp.asarray([[0.6, -0.8], [0.8, 0.6]])),
    "reflection": (kernels.DivergenceFree, jnp.asarray([[-1.0, 0.0], [0.0, 1.0]])),
}


def run(sampler, kind, x, y, *, key):
    """One sample with the noise of a key."""
    limit = kind(1.0) + kernels.Diagonal(kernels.White(0.05), 2)
    data = score.GaussianScore(GP(kind(1.5), noise=0.05**2))
    observed = samplers.Observations(x[:2], y[:2], jnp.zeros(2), False)
    process = noising.OrnsteinUhlenbeck(limit, SCHEDULE)
    problem = samplers.Problem(process, data, x[2:], observed, EPS)
    return programs.run(sampler.program(problem), x.dtype, key=key)[0]


@pytest.mark.parametrize("turn", TURNS)
@pytest.mark.parametrize("name", FAMILIES)
def test_samples_turn_with_their_inputs(name, turn, monkeypatch):
    kind, matrix = TURNS[turn]
    x, y = (jr.normal(key, (5, 2)) for key in jr.split(jr.key(1)))
    plain = jr.normal

    def turned(*arguments, **options):
        return plain(*arguments, **options) @ matrix.T

    def both(x, y, key):
        still = run(SAMPLERS[name], kind, x, y, key=key)
        monkeypatch.setattr(programs.jr, "normal", turned)
        return still @ matrix.T, run(SAMPLERS[name], kind, x @ matrix.T, y @ matrix.T, key=key)

    expected, moved = hurried(both, x, y, jr.key(3))
    assert jnp.std(expected) > 0.1
    assert_allclose(moved, expected, atol=1e-6)
