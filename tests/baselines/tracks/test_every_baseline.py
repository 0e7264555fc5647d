"""What holds for every baseline."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import baselines

from .helper import FITS, KNOWN, LAWS, TARGETS, TIMES, tracks

every = pytest.mark.parametrize("name", FITS)
with_a_law = pytest.mark.parametrize("name", LAWS)


@functools.cache
def fitted(name, dtype="float64"):
    x, y = (jnp.asarray(value, dtype=dtype) for value in tracks(400))
    return FITS[name](x, y)


def storm(dtype="float64", seed=1):
    """A context, target times and target points."""
    _, y = tracks(1, seed=seed)
    x, y = jnp.asarray(TIMES, dtype=dtype), jnp.asarray(y[0], dtype=dtype)
    return (x[KNOWN], y[KNOWN]), x[TARGETS], y[TARGETS]


@every
def test_means_and_samples_are_on_the_sphere_in_float32(name):
    context, x, _ = storm("float32")
    baseline = fitted(name, "float32")
    mean = baseline.mean(context, x)
    samples = baseline.sample(context, x, key=jr.key(0), num_samples=3)
    assert mean.shape == (4, 3) and samples.shape == (3, 4, 3)
    assert mean.dtype == samples.dtype == jnp.float32
    for found in (mean, samples):
        assert_allclose(jnp.sum(found**2, axis=-1), 1, atol=1e-5)
    assert_array_equal(samples, baseline.sample(context, x, key=jr.key(0), num_samples=3))


@every
def test_the_order_of_points_does_not_matter(name):
    (xc, yc), x, y = storm()
    baseline, shuffle, turn = fitted(name), np.array([3, 5, 0, 2, 1, 4]), np.array([2, 0, 3, 1])
    mean = baseline.mean((xc, yc), x)
    moved = baseline.mean((xc[shuffle], yc[shuffle]), x[turn])
    assert_allclose(moved, mean[turn], atol=1e-8)
    if name in LAWS:
        first = baseline.log_prob((xc, yc), x, y, 1e-6)
        second = baseline.log_prob((xc[shuffle], yc[shuffle]), x[turn], y[turn], 1e-6)
        assert_allclose(first, second, rtol=1e-6)
        # Noise bounds the density.
        assert baseline.log_prob((xc, yc), x, y, 1e-2) < -len(x) * np.log(2 * np.pi * 1e-2)


@eqx.filter_jit
def density_at_samples(forecast, proposal, yc):
    """Log-densities of the law at its own samples, and of it and a wider one at the other's."""
    own = forecast.sample(yc, key=jr.key(3), num_samples=2000)
    other = proposal.sample(key=jr.key(4), num_samples=10_000)
    at_own = jax.vmap(lambda y: forecast.log_prob(yc, y))(own)
    at_other = jax.vmap(lambda y: forecast.log_prob(yc, y[None]))(other)
    return at_own, at_other, jax.vmap(proposal.log_prob)(other)


@pytest.mark.slow
@with_a_law
def test_the_density_is_that_of_the_samples(name):
    """It integrates to one, and gives one entropy at its samples and at weighted other ones."""
    (xc, yc), x, _ = storm()
    baseline = fitted(name)
    samples = baseline.sample((xc, yc), x[1:2], key=jr.key(2), num_samples=500)
    centre = baseline.mean((xc, yc), x[1:2])
    spread = 1.5 * jnp.sqrt(jnp.mean(jnp.sum((samples - centre[None]) ** 2, axis=-1)) / 2)
    proposal = baselines.GenesisDensity(centre, 1 / spread**2)
    found = density_at_samples(baseline.forecast(xc, x[1:2]), proposal, yc)
    own, other, wide = (np.asarray(value) for value in found)
    ratio = np.exp(other - wide)
    assert abs(ratio.mean() - 1) < 4 * ratio.std() / np.sqrt(len(ratio)) + 1e-3
    entropy = ratio * other
    error = entropy.std() / np.sqrt(len(ratio)) + own.std() / np.sqrt(len(own))
    assert abs(entropy.mean() - own.mean()) < 4 * error


@with_a_law
def test_nothing_known(name):
    (xc, yc), x, y = storm()
    nothing = (xc[:0], yc[:0])
    baseline = fitted(name)
    assert baseline.sample(nothing, x, key=jr.key(0), num_samples=5).shape == (5, 4, 3)
    assert np.isfinite(baseline.log_prob(nothing, x, y, 1e-6))


@every
def test_refusals(name):
    (xc, yc), x, y = storm()
    baseline = fitted(name)
    with pytest.raises(ValueError, match="got points off it in rows 2"):
        baseline.mean((xc, yc.at[2].multiply(1.1)), x)
    with pytest.raises(ValueError, match="NaN or infinity in rows 1"):
        baseline.mean((xc, yc.at[1, 0].set(jnp.nan)), x)
    with pytest.raises(ValueError, match="each time once, got a repeated one"):
        baseline.mean((xc.at[1].set(xc[0]), yc), x)
    with pytest.raises(ValueError, match="values that JAX is tracing"):
        jax.jit(lambda context, x: baseline.mean(context, x))((xc, yc), x)
    if name not in LAWS:
        with pytest.raises(ValueError, match="is a single track"):
            baseline.log_prob((xc, yc), x, y)
