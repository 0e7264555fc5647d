"""Fields: flow, clean estimate and context against Gaussian conditioning."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.linalg import join_masks
from geomndp.score import GaussianScore
from geomndp.solve import ConditionalDynamics, Context

from ..cases import DATA, SCORES, N, inputs, normal, ou

T = jnp.asarray(0.3)
MASK = jnp.asarray([1.0, 0.0, 1.0, 1.0, 0.0])


@eqx.filter_jit
def parts(dynamics, y):
    """Flow, clean estimate and its Jacobian."""

    def clean(y):
        return dynamics.clean(T, y, dynamics.u(T, y))

    return dynamics.flow(T, y), clean(y), jax.jacfwd(clean)(y).reshape(y.size, y.size)


@pytest.mark.parametrize("limit", ["white", "nugget"])
def test_flow_follows_the_gradient(limit, getkey):
    noising, score = ou(limit), SCORES["mixture"]
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    gradient = jax.grad(lambda y: score.log_prob(noising, T, x, y))(y)
    drift = noising.mean_at(x) - y - noising.gram(x).mv(gradient)
    expected = 0.5 * noising.schedule.beta(T) * drift
    assert_allclose(
        ConditionalDynamics(noising, score, x).flow(T, y), expected, rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize("limit", ["white", "nugget"])
def test_tweedie(limit, getkey):
    # E and Cov of y_0 given y_t, by conditioning and from the score; Cov = (sigma^2 / a) J K.
    noising, gp = ou(limit), DATA["matern-mean"]
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    a, sigma = noising.alpha(T), noising.sigma(T)
    k0, k, m = gp.gram(x).dense(), noising.gram(x).dense(), noising.mean_at(x)
    gain = a * np.linalg.solve(a**2 * k0 + sigma**2 * k, k0).T
    mean = gp.mean_at(x) + gain @ (y - m - a * (gp.mean_at(x) - m))
    _, clean, jacobian = parts(ConditionalDynamics(noising, GaussianScore(gp), x), y)
    assert_allclose(clean, mean, rtol=1e-7, atol=1e-8)
    assert_allclose(sigma**2 / a * jacobian @ k, k0 - a * gain @ k0, rtol=1e-6, atol=1e-7)


def test_context_makes_the_field_of_the_posterior(getkey):
    noising, gp = ou("nugget"), DATA["matern-mean"]
    xc, yc = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    score, clean = GaussianScore(gp), jnp.zeros(N)
    found = parts(ConditionalDynamics(noising, score, x, context=Context(xc, yc, clean)), y)
    expected = parts(ConditionalDynamics(noising, GaussianScore(gp.condition(xc, yc)), x), y)
    for one, two in zip(found, expected, strict=True):
        assert_allclose(one, two, rtol=1e-5, atol=1e-6)
    # Padding on either side changes nothing.
    padded = Context(xc.at[1].set(jnp.nan), yc.at[1].set(jnp.nan), clean, MASK)
    wrong_x, wrong_y = x.at[1].set(jnp.nan), y.at[1].set(jnp.nan)
    found, *_ = parts(ConditionalDynamics(noising, score, wrong_x, MASK, padded), wrong_y)
    fine, *_ = parts(ConditionalDynamics(noising, score, x, MASK, Context(xc, yc, clean, MASK)), y)
    assert_allclose(found, fine, rtol=1e-6, atol=1e-7)
    assert jnp.all(found[MASK == 0] == 0)
    posterior = GaussianScore(gp.condition(xc, yc, mask=MASK))
    fine, *_ = parts(ConditionalDynamics(noising, posterior, x, MASK), y)
    assert_allclose(found, fine, rtol=1e-6, atol=1e-6)


def test_an_empty_context_is_none(getkey):
    noising, score = ou("nugget"), SCORES["mixture"]
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    empty = Context(x[:0], y[:0], jnp.zeros(0))
    found = ConditionalDynamics(noising, score, x, context=empty).u(T, y)
    assert_allclose(found, ConditionalDynamics(noising, score, x).u(T, y), rtol=1e-10)


def test_limiting_law(getkey):
    noising, x = ou("nugget"), inputs(N, key=getkey())
    dynamics = ConditionalDynamics(noising, SCORES["se"], x, MASK)
    assert_allclose(dynamics.mean(), noising.mean_at(x))
    assert_allclose(dynamics.gram().dense(), noising.gram(x, MASK).dense())


def test_join_masks():
    ones, some = jnp.ones(2), jnp.asarray([1.0, 0.0, 1.0])
    assert join_masks(None, None, 2, 3, jnp.float64) is None
    assert_allclose(join_masks(ones, some, 2, 3, jnp.float64), [1, 1, 1, 0, 1])
    assert_allclose(join_masks(None, some, 2, 3, jnp.float64), [1, 1, 1, 0, 1])
    assert_allclose(join_masks(some, None, 3, 2, jnp.float64), [1, 0, 1, 1, 1])
