"""Processes and calls that are refused."""

import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp.kernels import White
from geomndp.noising import OrnsteinUhlenbeck

from ..cases import SCHEDULES, unchecked

__all__ = ["unchecked"]


def test_refusals(unchecked):
    noising, x = OrnsteinUhlenbeck(White(), SCHEDULES["linear"]), jnp.zeros((4, 2))
    y, t = jnp.zeros((4, 1)), jnp.asarray(0.3)
    with pytest.raises(ValueError, match=r"expected y of shape \(4, 1\), got shape \(4, 2\)"):
        noising.perturb(t, x, x, key=jr.key(0))
    with pytest.raises(ValueError, match=r"expected y of shape \(4, 1\), got shape \(4, 2\)"):
        noising.prior_log_prob(x, x)
    with pytest.raises(ValueError, match=r"expected y of shape \(4, 1\), got shape \(4,\)"):
        noising.marginal(t, x, y[:, 0])
    with pytest.raises(ValueError, match=r"expected t of shape \(\) or \(4,\), got shape \(3,\)"):
        noising.marginal(jnp.zeros(3), x, y)
    with pytest.raises(ValueError, match=r"expected x of shape \(n, d\), got shape \(4,\)"):
        noising.prior_log_prob(x[:, 0], y)
    with pytest.raises(ValueError, match=r"expected mask of shape \(4,\), got shape \(2,\)"):
        noising.perturb(t, x, y, key=jr.key(0), mask=jnp.ones(2))
