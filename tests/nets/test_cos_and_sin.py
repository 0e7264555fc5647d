"""Cosine and sine by series against those of NumPy in double precision."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from geomndp.nets.cos_and_sin import cos_and_sin

SPAN = {"near": 10.0, "a hundred turns": 800.0, "far": 2e4}


@pytest.mark.parametrize("span", SPAN.values(), ids=SPAN)
@pytest.mark.parametrize("compiled", [False, True])
def test_single_precision(span, compiled):
    angles = np.random.default_rng(0).uniform(-span, span, 100_000).astype(np.float32)
    angles[:5] = 0.0, np.pi, -np.pi, 2 * np.pi, np.pi / 2
    function = jax.jit(cos_and_sin) if compiled else cos_and_sin
    for found, exact in zip(function(jnp.asarray(angles)), (np.cos, np.sin), strict=True):
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, exact(angles.astype(np.float64)), atol=6e-6)


def test_double_precision_is_that_of_jax():
    angles = jnp.linspace(-30.0, 30.0, 101, dtype=jnp.float64)
    for found, exact in zip(cos_and_sin(angles), (jnp.cos, jnp.sin), strict=True):
        np.testing.assert_array_equal(found, exact(angles))


def test_derivative():
    """That of sine is cosine, though the number of turns has none."""
    angles = jnp.asarray([-4.0, 0.3, 7.0], jnp.float32)
    slope = jax.vmap(jax.grad(lambda x: cos_and_sin(x)[1]))(angles)
    np.testing.assert_allclose(slope, jnp.cos(angles), atol=6e-6)
