"""Sizes that compile fast, and the law of the temperatures."""

import jax.numpy as jnp

from geomndp.gp import GP
from geomndp.kernels import SquaredExponential

TINY = {"width": 8, "num_layers": 1, "num_heads": 2}
SMALL = {"width": 4, "num_layers": 1, "channels": 2}
LENGTH, MEAN, SPREAD = 5.0, 15.0, 4.0  # hours, degrees


def process():
    """The law of the temperatures, in the data's units."""

    def mean(x):
        return jnp.full((len(x), 1), MEAN)

    return GP(SquaredExponential(LENGTH, SPREAD**2), mean=mean, noise=0.04)
