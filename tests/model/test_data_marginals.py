"""Marginal laws in the data's units: outside of what a transform takes there is no mass."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import ProcessModel
from geomndp.data import BoxCox, Logit, LogTransform, Normaliser


@pytest.mark.parametrize("transform", [LogTransform(1.0), BoxCox(0.5, 1.0), Logit(-1.0, 2.0)])
def test_no_mass_outside_the_domain(gp, transform):
    marginals = ProcessModel(gp, Normaliser(transform=transform)).marginals(np.zeros(2))
    below = jnp.full((2, 1), -1.5)
    assert_array_equal(marginals.cdf(below), np.zeros((2, 1)))
    assert_array_equal(marginals.log_prob(below), np.full((2, 1), -np.inf))
    assert np.all(np.isfinite(marginals.log_prob(jnp.full((2, 1), 0.5))))
    if transform.domain[1] < np.inf:
        above = jnp.full((2, 1), 2.5)
        assert_array_equal(marginals.cdf(above), np.ones((2, 1)))
        assert_array_equal(marginals.log_prob(above), np.full((2, 1), -np.inf))
