"""Ancestral steps."""

import jax.numpy as jnp
import pytest
from numpy.testing import assert_allclose

from geomndp.solve import ancestral

from ..cases import DTYPES, ou


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("eta", [0.0, 0.4, 1.0])
def test_ancestral_keeps_the_variance(eta, dtype):
    noising = ou()
    for t, s in ((1.0, 0.5), (0.5, 0.49), (1.0, 1e-4), (1e-3, 5e-4), (0.3, 0.0)):
        t, s = jnp.asarray(t, dtype), jnp.asarray(s, dtype)
        a, kept, fresh = ancestral(noising, t, s, eta)
        assert_allclose(a, noising.alpha(s))
        assert_allclose(kept**2 + fresh**2, noising.sigma(s) ** 2, rtol=1e-5)
        gap = noising.schedule.integral(t) - noising.schedule.integral(s)
        if eta == 1 and s > 0:
            posterior = noising.sigma(s) ** 2 / noising.sigma(t) * jnp.exp(-0.5 * gap)
            assert_allclose(kept, posterior, rtol=1e-5)
