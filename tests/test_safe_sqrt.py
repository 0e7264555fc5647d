"""The square root of squared distances: zero, with zero gradient, at zero.

Covariances in which it is fused: default_compiler_options.py.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from geomndp.linalg import safe_sqrt


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_root_and_its_gradient(dtype):
    square = jnp.asarray([0.0, 1e-20, 4.0, jnp.inf], dtype)
    np.testing.assert_array_equal(safe_sqrt(square), np.sqrt(np.asarray(square)))
    slopes = jax.vmap(jax.grad(safe_sqrt))(square[:3])
    np.testing.assert_allclose(slopes, [0.0, 0.5e10, 0.25], rtol=1e-6)
    assert jax.grad(lambda x: safe_sqrt(x**2))(jnp.zeros((), dtype)) == 0
    assert np.isnan(safe_sqrt(jnp.asarray(jnp.nan, dtype)))
