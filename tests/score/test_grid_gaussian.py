"""The score by one eigendecomposition is the exact score, joint and given a clean context."""

from functools import partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import covariance, disc
from geomndp.gp import GP
from geomndp.kernels import CurlFree, Diagonal, SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore, GridGaussianScore

GPS = {
    "shared": GP(Diagonal(SquaredExponential(1.5), 2), noise=0.02),
    "curl-free": GP(CurlFree(1.5), noise=0.02),
}
NOISING = OrnsteinUhlenbeck(Diagonal(White(1.02), 2), LinearSchedule(1e-4, 15.0))
ENDS = {jnp.float64: (5e-4, 1e-6), jnp.float32: (5e-3, 2e-3)}  # smallest time, tolerance


@pytest.mark.parametrize("dtype", ENDS)
@pytest.mark.parametrize("context", [0, 3])
@pytest.mark.parametrize("name", GPS)
def test_it_is_the_exact_score(name, context, dtype, getkey):
    gp, grid = GPS[name], disc(5, 2.0)
    n = len(grid)
    fast = GridGaussianScore(covariance(gp, grid), 2, 4, dtype)
    exact = jax.jit(partial(GaussianScore(gp), NOISING))
    known = jr.permutation(getkey(), n) < context
    y = jr.normal(getkey(), (n, 2))
    first, tolerance = ENDS[dtype]
    for time in (first, 0.1, 1.0):
        t = jnp.where(known, 0.0, time)
        found = jax.jit(lambda t, x, y: fast(NOISING, t, x, y))(
            t.astype(dtype), jnp.asarray(grid, dtype), y.astype(dtype)
        )
        expected = np.where(known[:, None], 0.0, exact(t, jnp.asarray(grid), y))
        assert_allclose(found, expected, atol=tolerance * np.abs(expected).max())


def test_a_coloured_limit_is_refused():
    gp, grid = GPS["shared"], disc(4, 2.0)
    fast = GridGaussianScore(covariance(gp, grid), 2, 4)
    noising = OrnsteinUhlenbeck(CurlFree(1.0), LinearSchedule(1e-4, 15.0))
    x = jnp.asarray(grid)
    with pytest.raises(ValueError, match="expected a white limiting kernel"):
        fast(noising, jnp.ones(()), x, x)
