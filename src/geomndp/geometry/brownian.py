"""Brownian motion on a manifold: by its heat kernel, or by a geodesic random walk."""

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import PRNGKeyArray
from geomndp.geometry.base import AbstractManifold
from geomndp.geometry.heat.kernel import AbstractHeatKernel, HeatTimes, ManifoldPoints


def has_heat_kernel(manifold: AbstractManifold) -> bool:
    """Whether a manifold has a heat kernel in closed form.

    Args:
        manifold: Any manifold.
    """
    return manifold.heat_kernel() is not None


def heat_kernel(manifold: AbstractManifold) -> AbstractHeatKernel:
    """Heat kernel in closed form: R^d, circle, S^2, tori, SO(3), and products of these.

    Its times are variances per tangent direction: radians squared on the unit sphere.

    Args:
        manifold: One of these, or one of your own whose method `heat_kernel` gives it.

    Returns:
        The law of Brownian motion, with density, score and exact draws.

    Raises:
        ValueError: If there is no closed form.
    """
    kernel = manifold.heat_kernel()
    if kernel is None:
        raise ValueError(
            f"expected a manifold with a heat kernel in closed form, got {manifold}; "
            "its Brownian motion is drawn by `random_walk`"
        )
    return kernel


def random_walk(
    manifold: AbstractManifold,
    s: HeatTimes,
    y: ManifoldPoints,
    *,
    key: PRNGKeyArray,
    steps: int = 100,
) -> ManifoldPoints:
    """Position at time s by a geodesic random walk (Jorgensen 1975), on any manifold.

    The law's error falls like the size of a step, s / steps.

    Args:
        manifold: Where to walk.
        s: Times of the heat kernel, shape (...).
        y: Starting points, shape (..., p).
        key: Random key.
        steps: Number of steps.

    Returns:
        End points, shape (..., p).
    """

    def step(y, key):
        z = manifold.project(y, jr.normal(key, y.shape, dtype=y.dtype))
        return manifold.exp(y, jnp.sqrt(s / steps)[..., None] * z), None

    return jax.lax.scan(step, y, jr.split(key, steps))[0]
