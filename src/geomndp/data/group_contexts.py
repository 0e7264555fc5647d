"""Contexts of functions whose outputs are missing apart: which values of a point are observed."""

from __future__ import annotations

import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Int, PRNGKeyArray
from geomndp.data.context_sampling import ContextSampler, leading_mask

APART_SHARE = 0.5
"""Share of the conditional functions whose groups of outputs are observed apart."""
WHOLE_SHARE = 0.25
"""Share of their groups that are observed at all points, as temperature is to predict humidity."""


def group_contexts(
    mask: Float[Array, "b n g"],
    points: Int[Array, " b"],
    contexts: ContextSampler | None,
    *,
    key: PRNGKeyArray,
) -> Float[Array, "b n g"]:
    """Mask of context values where outputs are missing apart.

    Half of the conditional functions observe whole points, the first ones. In the others every
    group of outputs has its own number of context points, in half of them the first ones and in
    half random ones: some points then observe some groups, and the others are targets there.

    Args:
        mask: 1 for real values, shape (b, n, g).
        points: Number of points of every function, the first ones, in random or sorted order.
        contexts: How many are context points; None for none.
        key: Random key.

    Returns:
        1 for context values, shape (b, n, g).
    """
    if contexts is None:
        return jnp.zeros_like(mask)
    b, n, g = mask.shape
    count_key, group_key, whole_key, choice_key, rank_key = jr.split(key, 5)
    together = leading_mask(contexts.counts(points, key=count_key), n, mask.dtype)[:, :, None]
    counts = [contexts.counts(points, key=k) for k in jr.split(group_key, g)]
    whole = jr.bernoulli(whole_key, WHOLE_SHARE, (b, g)) & contexts.conditional(b)[:, None]
    numbers = jnp.where(whole, points[:, None], jnp.stack(counts, axis=1))
    choice = jr.uniform(choice_key, (b, 1, 1), jnp.float32)
    first = jnp.arange(n, dtype=numbers.dtype)[None, :, None] < numbers[:, None, :]
    ranks = jr.uniform(rank_key, mask.shape, jnp.float32)
    real = leading_mask(points, n, mask.dtype)[:, :, None]
    order = jnp.argsort(jnp.argsort(jnp.where(real > 0, ranks, 1.0), axis=1), axis=1)
    anywhere = order.astype(numbers.dtype) < numbers[:, None, :]
    apart = jnp.where(choice < APART_SHARE / 2, first, anywhere).astype(mask.dtype)
    return mask * jnp.where(choice < APART_SHARE, apart, together)


def drop_values(
    mask: Float[Array, "b n g"], share: float, *, key: PRNGKeyArray
) -> Float[Array, "b n g"]:
    """Mask of fewer values, as if more outputs were missing.

    Args:
        mask: 1 for real values, shape (b, n, g).
        share: Share of the functions whose groups lose a random share of their values.
        key: Random key.

    Returns:
        Mask (b, n, g); a function that would lose all values loses none.
    """
    which_key, level_key, value_key = jr.split(key, 3)
    b, _, g = mask.shape
    which = jr.bernoulli(which_key, share, (b, 1, 1))
    lost = jr.uniform(value_key, mask.shape, jnp.float32) < jr.uniform(
        level_key, (b, 1, g), jnp.float32
    )
    fewer = jnp.where(which & lost, 0.0, mask)
    return jnp.where(jnp.max(fewer, axis=(1, 2), keepdims=True) > 0, fewer, mask)
