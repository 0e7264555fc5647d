"""Exact scores given a context at time zero, or at the time of its noise."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.noising import OrnsteinUhlenbeck
from geomndp.score import GaussianScore, MixtureScore

from ..cases import (
    DATA,
    KERNELS,
    SCHEDULES,
    SCORES,
    N,
    inputs,
    normal,
    ou,
)

M = N  # context points


@eqx.filter_jit
def conditional(score, noising, t, xc, yc, x, y):
    """Score of points at time t, given others at time zero."""
    both = jnp.concatenate([jnp.zeros(len(xc)), jnp.broadcast_to(t, (len(x),))])
    u = score(noising, both, jnp.concatenate([xc, x]), jnp.concatenate([yc, y]))
    return u[len(xc) :]


@pytest.mark.parametrize("limit", ["white", "nugget"])
@pytest.mark.parametrize("name", DATA)
def test_context_at_time_zero_gives_the_conditional_score(name, limit, getkey):
    noising, gp, t = ou(limit), DATA[name], jnp.asarray(0.2)
    xc, x = inputs(M, key=getkey()), inputs(N, key=getkey())
    yc, y = normal(M, 1, key=getkey()), normal(N, 1, key=getkey())
    x = x.at[0].set(xc[0])
    found = conditional(GaussianScore(gp), noising, t, xc, yc, x, y)
    posterior = GaussianScore(gp.condition(xc, yc))
    assert_allclose(found, posterior(noising, t, x, y), rtol=1e-6, atol=1e-6)


def test_context_at_time_zero_for_fields(getkey):
    gp = GP(KERNELS["divergence-free"].kernel, noise=0.02)
    noising = OrnsteinUhlenbeck(KERNELS["field-nugget"].kernel, SCHEDULES["linear"])
    xc, x, t = inputs(M, key=getkey()), inputs(N, key=getkey()), jnp.asarray(0.2)
    yc, y = normal(M, 2, key=getkey()), normal(N, 2, key=getkey())
    found = conditional(GaussianScore(gp), noising, t, xc, yc, x, y)
    expected = GaussianScore(gp.condition(xc, yc))(noising, t, x, y)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("limit", ["white", "periodic"])
def test_context_at_time_zero_for_a_mixture(limit, getkey):
    score, noising, t = SCORES["mixture"], ou(limit), jnp.asarray(0.2)
    xc, x = inputs(M, key=getkey()), inputs(N, key=getkey())
    yc, y = normal(M, 1, key=getkey()), normal(N, 1, key=getkey())
    gps = [part.gp for part in score.scores]
    evidence = jnp.stack([gp.log_prob(xc, yc) for gp in gps]) + jnp.log(jnp.asarray(score.weights))
    weights = np.asarray(jax.nn.softmax(evidence))
    posterior = MixtureScore([gp.condition(xc, yc) for gp in gps], weights)
    found = conditional(score, noising, t, xc, yc, x, y)
    assert_allclose(found, posterior(noising, t, x, y), rtol=1e-6, atol=1e-6)


def test_noisy_context_is_context_at_a_small_time(getkey):
    # With white K of variance v: sigma^2 / a^2 = noise / v, and the value shrunk by a.
    noising, gp, t, noise = ou("white"), DATA["matern-mean"], jnp.asarray(0.2), 0.15
    xc, x = inputs(M, key=getkey()), inputs(N, key=getkey())
    yc, y = normal(M, 1, key=getkey()), normal(N, 1, key=getkey())
    small = noising.schedule.inverse(jnp.log1p(jnp.asarray(noise / 1.3)))
    m, a = noising.mean_at(xc), noising.alpha(small)
    both = jnp.concatenate([jnp.full(M, small), jnp.full(N, t)])
    values = jnp.concatenate([m + a * (yc - m), y])
    found = GaussianScore(gp)(noising, both, jnp.concatenate([xc, x]), values)[M:]
    expected = GaussianScore(gp.condition(xc, yc, noise))(noising, t, x, y)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
