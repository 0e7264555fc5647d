"""Blocks of correlated outputs: densities, samples and covariances that stay positive definite."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from geomndp.baselines.neural_processes.block_gaussian import (
    BlockGaussian,
    block_head,
    cholesky_blocks,
)
from geomndp.equivariance import random_transform


def law(n, p, *, key, dtype=jnp.float64):
    keys = jr.split(key, 2)
    factor = jr.normal(keys[1], (n, p, p), dtype)
    covariance = jnp.einsum("nab,ncb->nac", factor, factor) + 0.1 * jnp.eye(p, dtype=dtype)[None]
    return BlockGaussian(jr.normal(keys[0], (n, p), dtype), covariance)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_density_is_that_of_scipy(p, getkey):
    prediction = law(4, p, key=getkey())
    y = jr.normal(getkey(), (4, p))
    rows = zip(y, prediction.location, prediction.covariance, strict=True)
    expected = [multivariate_normal(m, c).logpdf(v) for v, m, c in rows]
    np.testing.assert_allclose(prediction.marginal_log_prob(y), expected, rtol=1e-9)
    np.testing.assert_allclose(prediction.log_prob(y), sum(expected), rtol=1e-9)


def test_masked_targets_are_left_out_whatever_they_hold(getkey):
    prediction = law(4, 2, key=getkey())
    y = jr.normal(getkey(), (4, 2))
    mask = jnp.array([1.0, 0.0, 1.0, 0.0])
    spoilt = y.at[1].set(jnp.nan).at[3].set(jnp.inf)
    kept = prediction.marginal_log_prob(y)[jnp.array([0, 2])]
    np.testing.assert_allclose(prediction.log_prob(spoilt, mask), jnp.sum(kept), rtol=1e-12)
    gradient = jax.grad(prediction.log_prob)(spoilt, mask)
    assert np.isfinite(gradient).all()


def test_no_targets_have_no_nats(getkey):
    prediction = law(0, 2, key=getkey())
    assert float(prediction.log_prob(jnp.zeros((0, 2)))) == 0.0


def test_density_of_a_target_integrates_to_one(getkey):
    prediction = law(1, 2, key=getkey())
    half = 12 * float(jnp.max(prediction.std()))
    axis = jnp.linspace(-half, half, 401)
    plane = jnp.stack(jnp.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    values = plane + prediction.location
    density = jnp.exp(jax.vmap(lambda v: prediction.log_prob(v[None]))(values))
    np.testing.assert_allclose(jnp.sum(density) * (axis[1] - axis[0]) ** 2, 1.0, rtol=1e-6)


def test_samples_have_the_moments():
    prediction = law(2, 2, key=jr.key(0))
    samples = prediction.sample(key=jr.key(1), num_samples=20_000)
    spread = prediction.std()
    error = (jnp.mean(samples, axis=0) - prediction.mean()) / spread
    assert float(jnp.max(jnp.abs(error))) < 4 / np.sqrt(20_000)
    for row in range(2):
        scaled = jnp.cov(samples[:, row].T) - prediction.covariance[row]
        scale = spread[row][:, None] * spread[row][None]
        assert float(jnp.max(jnp.abs(scaled / scale))) < 4 * np.sqrt(2 / 20_000)


def test_factor_of_singular_blocks_is_finite():
    """Rounding of float32 makes the second pivot of such a block negative now and then."""
    v = jr.normal(jr.key(0), (1000, 2), jnp.float32)
    blocks = v[:, :, None] * v[:, None, :]
    factor = cholesky_blocks(blocks)
    assert np.isfinite(factor).all()
    back = jnp.einsum("nab,ncb->nac", factor, factor, precision="highest")
    scale = jnp.sum(v**2, axis=1)[:, None, None]
    np.testing.assert_allclose(back / scale, blocks / scale, atol=5e-6)


def test_head_is_equivariant_and_has_a_floor(getkey):
    raw, scale = jr.normal(getkey(), (50, 6)), 3 * jr.normal(getkey(), (50, 1))
    location, matrix = raw[:, :2], raw[:, 2:].reshape(-1, 2, 2)
    prediction = block_head(location, scale, matrix, 0.1)
    assert float(jnp.min(jnp.linalg.eigvalsh(prediction.covariance))) >= 0.01 - 1e-12

    d = random_transform(2, key=getkey()).matrix
    turned = jnp.einsum("ab,nbc,dc->nad", d, matrix, d)
    rotated = block_head(location @ d.T, scale, turned, 0.1)
    y = jr.normal(getkey(), (50, 2))
    nats = prediction.marginal_log_prob(y)
    np.testing.assert_allclose(rotated.marginal_log_prob(y @ d.T), nats, rtol=1e-8)


def test_head_begins_at_the_standard_normal_law():
    zeros = jnp.zeros((3, 2))
    prediction = block_head(zeros, zeros[:, :1], jnp.zeros((3, 2, 2)), 1e-3)
    expected = np.broadcast_to((1 + 1e-6) * np.eye(2), (3, 2, 2))
    np.testing.assert_allclose(prediction.covariance, expected, rtol=1e-12)
