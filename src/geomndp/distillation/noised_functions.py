"""Functions of a batch whose targets are noised to one time, and whose contexts have their own."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Batch, Float, PRNGKeyArray
from geomndp.data.context_sampling import ContextNoiseLevels
from geomndp.linalg import row_mask, zero_masked
from geomndp.noising import AbstractNoising


class NoisedFunctions(eqx.Module):
    """Functions (b, n) of a batch, noised to times t.

    Attributes:
        t: Times (b, n), or (b, n, g) per group of outputs; of a context point its own.
        x: Inputs (b, n, d).
        y: Noised values (b, n, p).
        mask: (b, n) or (b, n, g), zero where a value is padding or missing.
        free: 1 for the targets, of the mask's shape.
    """

    t: Float[Array, "b n *g"]
    x: Float[Array, "b n d"]
    y: Float[Array, "b n p"]
    mask: Float[Array, "b n *g"]
    free: Float[Array, "b n *g"]

    def toward(self, t: Float[Array, " b"]) -> Float[Array, "b n *g"]:
        """Times of all points with the targets at their function's time t; contexts keep theirs.

        Args:
            t: Time of every function, shape (b,).
        """
        t = t.reshape(-1, *(1,) * (self.t.ndim - 1))
        return jnp.where(self.free > 0, t, self.t)


def noised_functions(
    noising: AbstractNoising,
    batch: Batch,
    t: Float[Array, " b"],
    levels: ContextNoiseLevels,
    *,
    key: PRNGKeyArray,
) -> NoisedFunctions:
    """Noise a batch: targets to their function's time, contexts to their own.

    Args:
        noising: Forward process.
        batch: Functions (b, n).
        t: Time of every function, shape (b,).
        levels: Noise of the context points.
        key: Random key of the noise and of the contexts' times.

    Raises:
        ValueError: If the values have known noise.
    """
    if batch.noise is not None:
        raise ValueError("expected values without known noise to distil, got some with")
    context_key, noise_key = jr.split(key)
    mask, shape = batch.mask, batch.mask.shape
    x = jax.vmap(lambda x, mask: zero_masked(x, row_mask(mask)))(batch.x, mask)
    y0 = jax.vmap(zero_masked)(batch.y, mask)
    own = levels(noising.schedule, shape, y0.dtype, key=context_key)
    t = t.reshape(-1, *(1,) * (len(shape) - 1))
    t = jnp.where(batch.context > 0, own, jnp.broadcast_to(t, shape))

    def diffuse(t, x, y0, mask, key):
        return noising.diffuse(t, x, y0, key=key, mask=mask)

    y = jax.vmap(diffuse)(t, x, y0, mask, jr.split(noise_key, len(x)))
    return NoisedFunctions(t, x, y, mask, mask * (1.0 - batch.context))
