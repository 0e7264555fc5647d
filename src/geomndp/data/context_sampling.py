"""Which points of a function are its context: how many, and which ones."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Bool, Float, Int, Mask, PRNGKeyArray


class ContextSampler(eqx.Module):
    """How many points of each training function are context points.

    A conditional function with n points has at most n - 1 context points: one target at least
    remains.

    Attributes:
        share: Share of the functions of a batch, evenly spread over it, that have a context.
        few: Most context points of a function with a small context.
        few_share: Share of the conditional functions with a small context, U{0..min(few, n - 1)}
            points, as in the tests; the rest has U{0..n - 1}.
    """

    share: float = eqx.field(default=0.5, static=True)
    few: int = eqx.field(default=10, static=True)
    few_share: float = eqx.field(default=0.5, static=True)

    def __check_init__(self):
        _validation.at_least(0, few=self.few)
        _validation.share(share=self.share, few_share=self.few_share)

    def conditional(self, num: int) -> Bool[Array, " num"]:
        """Which functions of a batch have a context.

        Args:
            num: Functions of the batch.

        Returns:
            True for conditional functions, shape (num,).
        """
        index = jnp.arange(num, dtype=jnp.float32)
        return jnp.floor((index + 1) * self.share) > jnp.floor(index * self.share)

    def counts(self, points: Int[Array, " b"], *, key: PRNGKeyArray) -> Int[Array, " b"]:
        """Draw numbers of context points.

        Args:
            points: Number of points of every function, shape (b,).
            key: Random key.

        Returns:
            Number of context points of every function, shape (b,).
        """
        number_key, few_key = jr.split(key)
        few = jr.bernoulli(few_key, self.few_share, points.shape)
        most = jnp.where(few, jnp.minimum(self.few, points - 1), points - 1)
        drawn = jr.randint(number_key, points.shape, 0, most + 1, jnp.int32)
        return jnp.where(self.conditional(len(points)), drawn, 0)


def leading_mask(counts: Int[Array, " b"], size: int, dtype) -> Float[Array, "b n"]:
    """Mask of the first points of each function.

    Args:
        counts: How many points, shape (b,).
        size: Points of a row.
        dtype: Type of the mask.

    Returns:
        1 for the first `counts` points of each function, 0 after; shape (b, size).
    """
    return (jnp.arange(size, dtype=counts.dtype)[None, :] < counts[:, None]).astype(dtype)


def context_mask(
    points: Int[Array, " b"],
    size: int,
    contexts: ContextSampler | None,
    dtype,
    *,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "b n"], Float[Array, "b n"]]:
    """Masks of real points and of context points, which are the first ones.

    Args:
        points: Number of points of every function, shape (b,); they must be in random order.
        size: Points of a row.
        contexts: How many are context points; None for none.
        dtype: Type of the masks.
        key: Random key.

    Returns:
        Mask of the real points and mask of the context points, both (b, size).
    """
    mask = leading_mask(points, size, dtype)
    if contexts is None:
        return mask, jnp.zeros_like(mask)
    return mask, leading_mask(contexts.counts(points, key=key), size, dtype)


def random_mask(
    counts: Int[Array, " b"], size: int, dtype, *, key: PRNGKeyArray, mask: Mask | None = None
) -> Float[Array, "b n"]:
    """Mask of random points of each function.

    Args:
        counts: How many points, shape (b,).
        size: Points of a row.
        dtype: Type of the masks.
        key: Random key.
        mask: Points to choose from, shape (size,); by default all.

    Returns:
        1 for `counts` points of each function, chosen uniformly; shape (b, size).
    """
    ranks = jr.uniform(key, (len(counts), size), jnp.float32)
    ranks = ranks if mask is None else jnp.where(mask[None] > 0, ranks, 1.0)
    order = jnp.argsort(jnp.argsort(ranks, axis=1), axis=1)
    return (order.astype(counts.dtype) < counts[:, None]).astype(dtype)
