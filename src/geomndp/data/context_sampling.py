"""Which points of a function are its context: how many, and which ones."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Bool, Float, Int, Mask, PRNGKeyArray


class ContextSampler(eqx.Module):
    """How many points of each function are observations.

    A `share` of the functions, evenly spread over the batch, is conditional; the others have no
    context. Of the conditional ones, with n points, half (`few_share`) have U{0..min(few, n - 1)}
    context points, as the tests do, the rest U{0..n-1}: one target at least remains.
    """

    share: float = eqx.field(default=0.5, static=True)
    few: int = eqx.field(default=10, static=True)
    few_share: float = eqx.field(default=0.5, static=True)

    def __check_init__(self):
        _validation.at_least(0, few=self.few)
        _validation.share(share=self.share, few_share=self.few_share)

    def conditional(self, num: int) -> Bool[Array, " num"]:
        """Which of so many functions have a context."""
        index = jnp.arange(num, dtype=jnp.float32)
        return jnp.floor((index + 1) * self.share) > jnp.floor(index * self.share)

    def counts(self, points: Int[Array, " b"], *, key: PRNGKeyArray) -> Int[Array, " b"]:
        """Numbers of context points for functions with these numbers of points."""
        number_key, few_key = jr.split(key)
        few = jr.bernoulli(few_key, self.few_share, points.shape)
        most = jnp.where(few, jnp.minimum(self.few, points - 1), points - 1)
        drawn = jr.randint(number_key, points.shape, 0, most + 1, jnp.int32)
        return jnp.where(self.conditional(len(points)), drawn, 0)


def leading_mask(counts: Int[Array, " b"], size: int, dtype) -> Float[Array, "b n"]:
    """1 for the first `counts` points of each function, 0 after."""
    return (jnp.arange(size, dtype=counts.dtype)[None, :] < counts[:, None]).astype(dtype)


def context_mask(
    points: Int[Array, " b"],
    size: int,
    contexts: ContextSampler | None,
    dtype,
    *,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "b n"], Float[Array, "b n"]]:
    """Mask and context marks; the points of a function must be in random order."""
    mask = leading_mask(points, size, dtype)
    if contexts is None:
        return mask, jnp.zeros_like(mask)
    return mask, leading_mask(contexts.counts(points, key=key), size, dtype)


def random_mask(
    counts: Int[Array, " b"], size: int, dtype, *, key: PRNGKeyArray, mask: Mask | None = None
) -> Float[Array, "b n"]:
    """Mark `counts` of `size` points of each function, chosen at random from those of the mask."""
    ranks = jr.uniform(key, (len(counts), size), jnp.float32)
    ranks = ranks if mask is None else jnp.where(mask[None] > 0, ranks, 1.0)
    order = jnp.argsort(jnp.argsort(ranks, axis=1), axis=1)
    return (order.astype(counts.dtype) < counts[:, None]).astype(dtype)
