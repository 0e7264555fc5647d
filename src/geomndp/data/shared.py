"""Functions of a finite set that are all known at the same places."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _checks
from geomndp._types import Array, Batch, Float, Inputs
from geomndp.data.grids import random_marks
from geomndp.data.stream import AbstractStream, Contexts


class SharedPlaces(AbstractStream):
    """Functions drawn at random from a set, the context a random part of their common places.

    What a network computes from the places alone is computed once for the batch.
    """

    x: Inputs
    y: Float[Array, "s n p"]
    batch_size: int = eqx.field(default=32, static=True)
    contexts: Contexts | None = Contexts(few=50)

    def __check_init__(self):
        _checks.at_least(1, batch_size=self.batch_size, functions=len(self.y))
        _checks.shape("y", self.y, (len(self.y), len(self.x), self.y.shape[2]))

    @property
    def shared(self) -> bool:
        return True

    @property
    def whole(self) -> bool:
        return True

    def draw(self, key):
        """Make a batch of functions from the set, with replacement."""
        row_key, count_key, mark_key = jr.split(key, 3)
        b, n, dtype = self.batch_size, len(self.x), self.x.dtype
        rows = jr.randint(row_key, (b,), 0, len(self.y), jnp.int32)
        x = jnp.broadcast_to(self.x[None], (b, *self.x.shape))
        context = jnp.zeros((b, n), dtype)
        if self.contexts is not None:
            counts = self.contexts.counts(jnp.full((b,), n, jnp.int32), key=count_key)
            context = random_marks(counts, n, dtype, key=mark_key)
        return Batch(x, self.y[rows], jnp.ones((b, n), dtype), context)
