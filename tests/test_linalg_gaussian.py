"""Products in full precision, and Gaussians given by their moments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import linalg
from geomndp.kernels import Periodic
from geomndp.linalg import MatrixGram

from .cases import inputs, normal


def test_products_are_in_full_precision(getkey):
    # Accelerators would round float32 factors to 10 bits.
    x, v = inputs(3, key=getkey()), normal(3, 1, key=getkey())
    gram = MatrixGram(Periodic().cross(x, x), 1, True)
    jaxpr = str(jax.make_jaxpr(lambda v: (gram.mv(v), gram.root_mv(v)))(v))
    assert jaxpr.count("dot_general") == jaxpr.count("Precision.HIGHEST, Precision.HIGHEST") == 3


@pytest.mark.parametrize("xp", [np, jnp])
def test_conditioning_and_kl_of_gaussians(xp):
    """Against the block formulae, in NumPy and in JAX."""
    random = np.random.default_rng(0)
    root = random.normal(size=(5, 5))
    covariance, values = root @ root.T + np.eye(5), random.normal(size=(2, 3))
    seen, cross, rest = covariance[:2, :2], covariance[:2, 2:], covariance[2:, 2:]
    law = linalg.Conditioning(xp.asarray(np.linalg.cholesky(seen)), xp.asarray(cross))
    given = xp.asarray(values)
    assert type(law.mean(given)) is type(given)
    assert_allclose(law.mean(given), cross.T @ np.linalg.solve(seen, values), atol=1e-12)
    taken = cross.T @ np.linalg.solve(seen, cross)
    assert_allclose(law.reduction(), taken, atol=1e-12)
    assert_allclose(law.half().T @ law.whiten(given), law.mean(given), atol=1e-12)
    mean0, mean1 = random.normal(size=(2, 3))
    first = xp.asarray(mean0), xp.asarray(rest)
    second = xp.asarray(mean1), xp.asarray(rest - taken)
    precision = np.linalg.inv(rest - taken)
    gap = mean1 - mean0
    logdets = np.linalg.slogdet(rest - taken)[1] - np.linalg.slogdet(rest)[1]
    expected = 0.5 * (np.trace(precision @ rest) + gap @ precision @ gap - 3 + logdets)
    assert_allclose(linalg.gaussian_kl(first, second), expected, rtol=1e-12)
    assert_allclose(linalg.gaussian_kl(first, first), 0, atol=1e-12)
