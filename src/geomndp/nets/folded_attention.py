"""Softmax attention for processors: mask and bias folded into one array, normalised at the end.

Mask and bias do not depend on the values, so that under `vmap` over samples they are one array.
Weights have their queries last: maxima and sums over the keys then run along contiguous rows. The
division by the sum of the weights acts on the outputs, which are fewer than the weights.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from geomndp._types import Array, Bool, Float


def attend_folded(
    query: Float[Array, "b n h c"],
    key: Float[Array, "b m h c"],
    value: Float[Array, "b m h c"],
    bias: Float[Array, "h n m"] | None,
    pairs: Bool[Array, "n m"] | None,
) -> Float[Array, "b n h c"]:
    """Softmax attention in the dtype of the queries, equal to that of JAX to rounding.

    Args:
        query: Queries of b sets of n tokens.
        key: Keys of m tokens.
        value: Values of these.
        bias: Added to the logits of all sets.
        pairs: Which keys (columns) a query (row) sees; None for all. A query that sees none gives
            all of them equal weights.
    """
    logits = jnp.einsum("bjhc,bihc->bhji", key, query / math.sqrt(query.shape[-1]))
    if pairs is not None:
        plain = jnp.zeros((), logits.dtype) if bias is None else bias
        lowest = jnp.asarray(0.5 * jnp.finfo(logits.dtype).min, logits.dtype)
        bias = jnp.where(pairs[None], plain, lowest)
    if bias is not None:
        logits = logits + jnp.swapaxes(bias, 1, 2)[None]
    highest = jax.lax.stop_gradient(jnp.max(logits, axis=2, keepdims=True))
    weights = jnp.exp(logits - highest)
    mixed = jnp.einsum("bhji,bjhc->bhci", weights, value)
    return jnp.transpose(mixed / jnp.sum(weights, axis=2, keepdims=True), (0, 3, 1, 2))
