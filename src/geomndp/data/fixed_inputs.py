"""Functions of a finite set that are all known at the same places."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, Inputs
from geomndp.data.context_sampling import ContextSampler
from geomndp.data.generators import AbstractGenerator, Batching, common_inputs_batch


class FixedInputsGenerator(AbstractGenerator):
    """Functions drawn at random from a set, the context a random part of their common places.

    What a network computes from the places alone is computed once for the batch.
    """

    x: Inputs
    y: Float[Array, "s n p"]
    batch_size: int = eqx.field(default=32, static=True)
    contexts: ContextSampler | None = ContextSampler(few=50)

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size, functions=len(self.y))
        _validation.shape("y", self.y, (len(self.y), len(self.x), self.y.shape[2]))

    @property
    def batching(self) -> Batching:
        return Batching(common_inputs=True, padded=False)

    def draw(self, key):
        """Make a batch of functions from the set, with replacement."""
        row_key, count_key, mask_key = jr.split(key, 3)
        rows = jr.randint(row_key, (self.batch_size,), 0, len(self.y), jnp.int32)
        mask = jnp.ones(len(self.x), self.x.dtype)
        return common_inputs_batch(self.x, self.y[rows], mask, self.contexts, mask_key, count_key)
