"""The sphere's exact score against derivatives of its density, padding, and its own draws."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.noising import per_point
from geomndp.score import HeatMixtureScore, NetworkScore, PreconditionK, Velocity

from ..cases import DTYPES, inputs
from ..spheres import NOISING, SPHERE, between, centres, oracle, truth

N = 4


def test_score_is_the_gradient_at_any_times(getkey):
    score, x = oracle(), inputs(N, 1, key=getkey())
    y, t = between(x), jnp.asarray([0.0, 5e-4, 0.1, 0.9])
    gradient = jax.jit(jax.grad(lambda y: score.log_prob(NOISING, t, x, y)))(y)
    expected = NOISING.sigma(t)[:, None] * SPHERE.project(y, gradient)
    assert_allclose(jax.jit(score, static_argnums=0)(NOISING, t, x, y), expected, atol=1e-8)


def test_noising_adds_its_time_to_the_spreads(getkey):
    """Heat kernels are a semigroup: noised data are clean data of wider components."""
    x, t = inputs(N, 1, key=getkey()), jnp.asarray(0.15)
    added = float(NOISING.schedule.integral(t))
    wider = oracle(tuple(spread + added for spread in oracle().spreads))
    assert_allclose(truth(oracle(), t, x, between(x)), truth(wider, 0 * t, x, between(x)))


@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
def test_padding_changes_nothing(dtype, getkey):
    score, x = oracle(), inputs(N, 1, key=getkey(), dtype=dtype)
    y, mask = between(x.astype(jnp.float64)).astype(dtype), jnp.asarray([1, 0, 1, 1], dtype=dtype)
    t, keep = jnp.asarray(0.2, dtype=dtype), np.asarray(mask) > 0
    padded = y.at[1].set(jnp.nan)
    u = jax.jit(lambda y: score(NOISING, t, x, y, mask))(padded)
    assert u.dtype == dtype and not np.any(u[1])
    assert_allclose(u[keep], jax.jit(lambda: score(NOISING, t, x[keep], y[keep]))(), atol=1e-5)
    density = jax.jit(lambda y: score.log_prob(NOISING, t, x, y, mask))(padded)
    assert_allclose(density, truth(score, t, x[keep], y[keep]), rtol=1e-5)


def test_draws_have_the_density():
    """Entropy and cross-entropy: mean log-density of draws against that of the same law by hand."""
    score, x = oracle(), jnp.asarray([[0.3]])
    y = jax.jit(jax.vmap(lambda key: score.sample(NOISING, x, key=key)))(jr.split(jr.key(0), 20000))
    mean = np.mean(y[:, 0], axis=0)
    expected = np.einsum(
        "j,jp->p", np.asarray(score.weights) * np.exp(-np.asarray(score.spreads)), centres(x)[:, 0]
    )
    assert_allclose(mean, expected, atol=4 / np.sqrt(20000))


def test_network_output_is_made_tangent(getkey):
    x, t = inputs(N, 1, key=getkey()), jnp.asarray([0.0, 0.1, 0.5, 1.0])
    y = between(x)
    score = NetworkScore(lambda t, x, y, mask: 1.0 + y**2, PreconditionK())
    u = score(NOISING, t, x, y)
    assert_allclose(jnp.sum(u * y, axis=1), np.zeros(N), atol=1e-12)
    noised = NOISING.perturb(t, x, y, key=getkey())
    error = score.error(NOISING, t, x, y, noised)
    assert_allclose(error, score(NOISING, t, x, noised.y) + noised.xi, atol=1e-9)
    with pytest.raises(ValueError, match="expected PreconditionK on a manifold, got Velocity"):
        NetworkScore(score.net, Velocity())(NOISING, t, x, y)


def test_components_weigh_the_same_unless_said():
    assert HeatMixtureScore(centres, (0.1, 0.2, 0.3, 0.4)).weights == (0.25,) * 4


def test_bad_mixtures_are_refused():
    with pytest.raises(ValueError, match="at least one component"):
        HeatMixtureScore(centres, ())
    with pytest.raises(ValueError, match="expected spreads > 0"):
        HeatMixtureScore(centres, (0.1, 0.0))
    with pytest.raises(ValueError, match="2 positive weights that sum to 1"):
        HeatMixtureScore(centres, (0.1, 0.2), (0.5, 0.6))
    assert per_point(jnp.asarray(0.1), 2).shape == (2,)
