"""Networks and processes that cannot be put together."""

import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import nets
from geomndp.geometry import Sphere
from geomndp.gp import GP
from geomndp.kernels import Diagonal, Matern32
from geomndp.noising import Brownian, LinearSchedule
from geomndp.score import NetworkScore

from ..cases import DATA

KEY = jr.key(0)
SIZES = {"width": 8, "num_layers": 1, "num_heads": 2}


def test_what_does_not_fit_is_refused():
    plain = nets.RelativeAttention(1, 1, **SIZES, key=KEY)
    with pytest.raises(ValueError, match="expected num_input_fields=2 with a base, got 1"):
        NetworkScore(plain, base=DATA["se"])
    two = nets.RelativeAttention(1, 1, **SIZES, num_input_fields=2, key=KEY)
    with pytest.raises(ValueError, match="expected num_input_fields=1 without a base, got 2"):
        NetworkScore(two)
    sphere = nets.SphericalAttention(1, **SIZES, key=KEY)
    with pytest.raises(ValueError, match="expected a network with num_input_fields"):
        NetworkScore(sphere).with_base(DATA["se"], key=KEY)
    noising = Brownian(Sphere(2), LinearSchedule(1e-4, 15.0))
    score = NetworkScore(lambda t, x, y, mask: y[:, :3], base=GP(Diagonal(Matern32(1.0), 3)))
    with pytest.raises(ValueError, match="expected no base on a manifold"):
        score(noising, jnp.asarray(0.5), jnp.zeros((2, 1)), jnp.eye(3)[:2])
