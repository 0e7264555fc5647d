"""Mean of the losses of functions over all their targets."""

import jax.numpy as jnp

from geomndp._types import Array, Float, Scalar


def over_targets(losses: Float[Array, " b"], counts: Float[Array, " b"]) -> Scalar:
    """Mean over the targets of all functions, each of which counts by their number.

    Args:
        losses: Loss of every function, a mean over its targets.
        counts: Numbers of its targets; functions without any do not count.
    """
    return jnp.sum(losses * counts) / jnp.maximum(jnp.sum(counts), 1.0)
