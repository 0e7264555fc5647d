"""The square root of squared distances: zero, with zero gradient, at zero, also when fused."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from geomndp.linalg import safe_sqrt

FUSED = """
import jax, jax.numpy as jnp, numpy as np
from geomndp.kernels import Matern32
jax.config.update("jax_enable_x64", True)
kernel = Matern32(0.97, 0.034)

def shifted(x):
    gram = kernel.gram((x - 9.854) / 5.321).dense()
    gram = gram + jnp.diag(1e-10 * jnp.mean(jnp.diag(gram)) * jnp.ones(len(x)))
    return (gram + gram.T) / 2

x = jnp.asarray([1, 1.25, 1.5, 1.75, 2, 3, 4, 5, 6, 7, 8, 8.5])[:, None]
np.testing.assert_allclose(jax.jit(shifted)(x), shifted(x), rtol=1e-12)
"""


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_root_and_its_gradient(dtype):
    square = jnp.asarray([0.0, 1e-20, 4.0, jnp.inf], dtype)
    np.testing.assert_array_equal(safe_sqrt(square), np.sqrt(np.asarray(square)))
    slopes = jax.vmap(jax.grad(safe_sqrt))(square[:3])
    np.testing.assert_allclose(slopes, [0.0, 0.5e10, 0.25], rtol=1e-6)
    assert jax.grad(lambda x: safe_sqrt(x**2))(jnp.zeros((), dtype)) == 0
    assert np.isnan(safe_sqrt(jnp.asarray(jnp.nan, dtype)))


def test_diagonal_of_a_fused_covariance():
    """With the compiler's own options, which fuse what the other tests' options keep apart."""
    env = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    done = subprocess.run([sys.executable, "-c", FUSED], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
