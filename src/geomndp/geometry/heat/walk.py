"""Brownian motion by a geodesic random walk (Jorgensen 1975): any manifold, many small steps."""

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import PRNGKeyArray
from geomndp.geometry.base import AbstractManifold, Points
from geomndp.geometry.heat.kernel import HeatTimes


def random_walk(
    manifold: AbstractManifold, s: HeatTimes, y: Points, *, key: PRNGKeyArray, steps: int = 100
) -> Points:
    """Position at time s; the law's error falls like the size of a step, s / steps."""

    def step(y, key):
        z = manifold.project(y, jr.normal(key, y.shape, dtype=y.dtype))
        return manifold.exp(y, jnp.sqrt(s / steps)[..., None] * z), None

    return jax.lax.scan(step, y, jr.split(key, steps))[0]
