"""Statistics of points on a manifold."""

import jax
import jax.numpy as jnp

from geomndp._types import Array, Float
from geomndp.geometry.base import AbstractManifold


def frechet_mean(
    manifold: AbstractManifold, samples: Float[Array, "s *n p"], *, iterations: int = 6
) -> Float[Array, "*n p"]:
    r"""Point that minimises the mean squared distance to the samples, row by row.

    Gradient descent with unit step, $m \leftarrow \exp_m \frac1s \sum \log_m y_s$, from the
    projected mean of R^p (Pennec 2006); on a ball of radius $\pi/2$ the minimum is unique.

    Args:
        manifold: where the samples lie.
        samples: shape (s, ..., p).
        iterations: steps of the descent.

    Returns:
        The mean over the first axis, shape (..., p).
    """
    start = manifold.retract(jnp.mean(samples, axis=0))

    def step(_, mean):
        steps = manifold.log(jnp.broadcast_to(mean[None], samples.shape), samples)
        return manifold.exp(mean, jnp.mean(steps, axis=0))

    return jax.lax.fori_loop(0, iterations, step, start)
