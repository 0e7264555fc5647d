"""Functions with points in an order, such as tracks in time, and their contexts."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Batch, Float, Int, PRNGKeyArray
from geomndp.data.context_sampling import ContextSampler
from geomndp.data.generators import AbstractGenerator

START, ENDS, ANY = 0, 1, 2
"""Contexts: the start of a function, its start and end, or any of its points."""


class SequenceGenerator(AbstractGenerator):
    """Functions of a finite set in the order of their points.

    Of the conditional functions, evenly spread over the batch, a third each has as its context the
    start, both ends, and a random set of points. Lengths of starts and ends are random in half of
    them and fixed in the others.

    Attributes:
        x: Inputs of all functions, shape (s, n, d), in order.
        y: Their values, shape (s, n, p).
        batch_size: Functions per batch.
        fixed_lengths: Context points of a fixed start, and of each fixed end.
        thinned_share: Share of functions of which only a random set of points is kept, so that
            inputs are not always regular.
        contexts: Which functions are conditional, and the size of random sets; None for none.
    """

    x: Float[Array, "s n d"]
    y: Float[Array, "s n p"]
    batch_size: int = eqx.field(default=512, static=True)
    fixed_lengths: tuple[int, int] = eqx.field(default=(20, 10), static=True)
    thinned_share: float = eqx.field(default=0.25, static=True)
    contexts: ContextSampler | None = ContextSampler(share=0.75, few_share=0.0)

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size)
        n = self.x.shape[1]
        if len(self.x) == 0 or self.x.shape[:2] != self.y.shape[:2]:
            raise ValueError(f"expected functions, got x {self.x.shape} and y {self.y.shape}")
        if not (0 < self.fixed_lengths[0] < n and 0 < 2 * self.fixed_lengths[1] < n):
            raise ValueError(
                f"expected fixed contexts shorter than {n} points, got {self.fixed_lengths}"
            )
        _validation.share(thinned_share=self.thinned_share)

    def draw(self, key):
        """Make a batch of functions from the set, with replacement."""
        row_key, context_key, thin_key = jr.split(key, 3)
        rows = jr.randint(row_key, (self.batch_size,), 0, len(self.x), jnp.int32)
        x, y = self.x[rows], self.y[rows]
        context = self.draw_context((len(x), x.shape[1]), x.dtype, key=context_key)
        share_key, point_key, kept_key = jr.split(thin_key, 3)
        keep = jr.uniform(kept_key, (len(x), 1), x.dtype, 0.1, 1.0)
        kept = jr.uniform(point_key, context.shape, x.dtype) < keep
        unthinned = jr.uniform(share_key, (len(x), 1), x.dtype) >= self.thinned_share
        return Batch(x, y, (kept | unthinned).astype(x.dtype), context)

    def draw_context(
        self, shape: tuple[int, int], dtype, *, key: PRNGKeyArray
    ) -> Float[Array, "b n"]:
        """Draw the context points of a batch.

        Args:
            shape: Functions and points, (b, n).
            dtype: Type of the mask.
            key: Random key.

        Returns:
            1 for context points, shape (b, n).
        """
        b, n = shape
        if self.contexts is None:
            return jnp.zeros(shape, dtype)
        start_key, first_key, last_key, count_key, any_key, fix_key = jr.split(key, 6)
        conditional = self.contexts.conditional(b)
        choice = ((jnp.cumsum(conditional, dtype=jnp.int32) - 1) % 3)[:, None]
        index = jnp.arange(n, dtype=jnp.int32)[None, :]
        fix = jr.bernoulli(fix_key, 0.5, (b, 1))
        start = jnp.where(fix, self.fixed_lengths[0], _up_to(n - 1, b, start_key))
        first = jnp.where(fix, self.fixed_lengths[1], _up_to(n // 2 - 1, b, first_key))
        last = jnp.where(fix, self.fixed_lengths[1], _up_to(n // 2 - 1, b, last_key))
        counts = self.contexts.counts(jnp.full(b, n, jnp.int32), key=count_key)
        order = jr.permutation(any_key, jnp.broadcast_to(index, shape), axis=1, independent=True)
        chosen = [index < start, (index < first) | (index >= n - last), order < counts[:, None]]
        marks = jnp.select([choice == k for k in (START, ENDS, ANY)], chosen, default=False)
        return (marks & conditional[:, None]).astype(dtype)


def _up_to(most: int, b: int, key: PRNGKeyArray) -> Int[Array, "b 1"]:
    return jr.randint(key, (b, 1), 1, most + 1, jnp.int32)
