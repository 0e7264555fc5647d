"""Factors of smooth covariances in float32, and the jitter that they need."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.kernels import SquaredExponential
from geomndp.linalg import jitter

from .cases import KERNELS, inputs, normal


@pytest.mark.parametrize("name", ["se", "matern52", "periodic", "curl-free"])
def test_smooth_kernels_factorise_in_float32(name, getkey):
    # A relative jitter of 1e-6 fails here.
    kernel = KERNELS[name].kernel
    x = 0.5 * inputs(300, kernel.dim, key=getkey(), dtype=jnp.float32)
    dense, lower = jax.jit(lambda x: (kernel.gram(x).dense(), kernel.gram(x).cholesky()))(x)
    lower = np.asarray(lower, dtype=np.float64)
    assert np.all(np.isfinite(lower))
    assert_allclose(lower @ lower.T, dense, atol=1e-4)


def test_both_roots_have_one_law_in_float32(getkey):
    # SE(1.0) on 60 points has a few dozen eigenvalues below rounding: there the jitter is all.
    @jax.jit
    def squares(x, z):
        gram = SquaredExponential(1.0).gram(x)
        logdet = gram.log_density(jnp.zeros_like(z[0]))
        by_root = jax.vmap(lambda z: gram.log_density(gram.root_mv(z)))(z)
        by_cholesky = jax.vmap(lambda z: gram.log_density(gram.cholesky_mv(z)))(z)
        return 2 * (logdet - by_root) / 60, 2 * (logdet - by_cholesky) / 60

    x = inputs(60, 1, key=getkey(), dtype=jnp.float32)
    by_root, by_cholesky = squares(x, normal(64, 60, 1, key=getkey(), dtype=jnp.float32))
    assert_allclose(by_cholesky.mean(), 1.0, rtol=0.15)
    # A floor relative to the largest eigenvalue would give 20.
    assert_allclose(by_root.mean(), 1.0, rtol=0.8)


def test_jitter_grows_with_rounding():
    assert jitter(jnp.dtype("float64"), 60) == 1e-10
    assert jitter(jnp.dtype("float32"), 8) == 1e-6
    assert 1e-4 < jitter(jnp.dtype("float32"), 4000) < 2e-4
