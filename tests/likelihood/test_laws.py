"""Conditional laws in one solve, and laws that are not Gaussian."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import noising, score, solve
from geomndp.gp import GP
from geomndp.likelihood import Flow

from .helper import (
    CONVERGED,
    DATA,
    EPS,
    LIMITS,
    SE,
    TO_THE_GP,
    batch_values,
    draw,
    gaussian,
    ou,
    truth,
    value,
)

TWO_LAWS = (GP(SE(0.4), mean=lambda x: 1.0 + x, noise=0.05), GP(SE(1.5, 0.3), noise=0.1))
MIXTURE = score.MixtureScore(TWO_LAWS, [0.3, 0.7])


def context(x, y, mask=None):
    """Observations without noise: they sit at time zero."""
    return solve.Context(x, y, jnp.zeros(len(x)), mask)


def test_conditional_law_in_one_solve():
    (x,), (y,) = draw(DATA["se"], 1, 12, key=jr.key(1))
    law = ou("se-1")
    dynamics = solve.ConditionalDynamics(law, gaussian(), x[5:], None, context(x[:5], y[:5]))
    one_solve = value(TO_THE_GP, dynamics, y[5:])
    expected = truth(DATA["se"].condition(x[:5], y[:5]), x[5:], y[5:])
    assert_allclose(one_solve, expected, atol=2e-3)
    joint = value(TO_THE_GP, solve.ConditionalDynamics(law, gaussian(), x), y)
    part = value(TO_THE_GP, solve.ConditionalDynamics(law, gaussian(), x[:5]), y[:5])
    assert_allclose(one_solve, joint - part, atol=2e-3)


def test_conditional_law_ends_at_the_prior_of_the_free_points():
    (x,), (y,) = draw(DATA["se"], 1, 12, key=jr.key(2))
    law = noising.OrnsteinUhlenbeck(LIMITS["se-1"], noising.LinearSchedule(0.0, 30.0))
    dynamics = solve.ConditionalDynamics(law, gaussian(), x[5:], None, context(x[:5], y[:5]))
    expected = truth(DATA["se"].condition(x[:5], y[:5]), x[5:], y[5:])
    assert_allclose(value(CONVERGED, dynamics, y[5:]), expected, atol=1e-2)


def test_padded_and_empty_contexts():
    (x,), (y,) = draw(DATA["se"], 1, 8, key=jr.key(3))
    flow, law = Flow(terminal="exact"), ou()
    plain = value(
        flow, solve.ConditionalDynamics(law, gaussian(), x[3:], None, context(x[:3], y[:3])), y[3:]
    )
    nothing = jnp.full((2, 1), jnp.nan)
    padded_x, padded_y = jnp.concatenate([x[:3], nothing]), jnp.concatenate([y[:3], nothing])
    padded = context(padded_x, padded_y, jnp.array([1.0, 1.0, 1.0, 0.0, 0.0]))
    mask = jnp.array([1.0] * 5 + [0.0] * 2)
    free_x, free_y = jnp.concatenate([x[3:], nothing]), jnp.concatenate([y[3:], nothing])
    result = value(flow, solve.ConditionalDynamics(law, gaussian(), free_x, mask, padded), free_y)
    assert_allclose(result, plain, rtol=1e-9)
    empty = solve.ConditionalDynamics(law, gaussian(), x, None, context(x[:0], y[:0]))
    assert_allclose(value(flow, empty, y), truth(DATA["se"], x, y), atol=1e-2)


@pytest.mark.parametrize(
    ("terminal", "n", "size"), [("prior", 1, 161), ("tweedie", 1, 161), ("exact", 2, 31)]
)
def test_density_of_a_mixture(terminal, n, size):
    x, axis = jnp.array([[0.2], [0.9]])[:n], jnp.linspace(-6.0, 6.0, size)
    y = jnp.stack(jnp.meshgrid(*[axis] * n, indexing="ij"), axis=-1).reshape(-1, n, 1)
    inputs = jnp.broadcast_to(x, (len(y), n, 1))
    values = batch_values(Flow(steps=32, terminal=terminal), ou(), MIXTURE, inputs, y)
    assert_allclose(np.sum(np.exp(values)) * (12 / (size - 1)) ** n, 1.0, atol=1e-4)
    if terminal == "exact":
        noised = jax.jit(jax.vmap(lambda y: MIXTURE.log_prob(ou(), jnp.asarray(EPS), x, y)))(y)
        likely = noised > -20
        assert_allclose(values[likely], noised[likely], atol=3e-3)
