"""Functions of a finite set with common input locations."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Int
from geomndp.data.context_sampling import ContextSampler
from geomndp.data.generators import AbstractGenerator, Batching, common_inputs_batch


class FixedInputsGenerator(AbstractGenerator):
    """Functions drawn at random from a finite set, the context a random part of their points.

    What a network computes from the inputs alone is computed once per batch.

    Attributes:
        x: Common input locations, shape (n, d).
        y: Values of all functions, shape (s, n, p).
        batch_size: Functions per batch.
        contexts: How many points are context points; None for no contexts.
        num_functions: Only the first so many functions are drawn, by default all.
    """

    x: Inputs
    y: Float[Array, "s n p"]
    batch_size: int = eqx.field(default=32, static=True)
    contexts: ContextSampler | None = ContextSampler(few=50)
    num_functions: Int[Array, ""] | None = None

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size, functions=len(self.y))
        _validation.shape("y", self.y, (len(self.y), len(self.x), self.y.shape[2]))

    @property
    def batching(self) -> Batching:
        return Batching(common_inputs=True, padded=False)

    def draw(self, key):
        """Make a batch of functions from the set, with replacement."""
        row_key, count_key, mask_key = jr.split(key, 3)
        count = len(self.y) if self.num_functions is None else self.num_functions
        rows = jr.randint(row_key, (self.batch_size,), 0, count, jnp.int32)
        mask = jnp.ones(len(self.x), self.x.dtype)
        return common_inputs_batch(self.x, self.y[rows], mask, self.contexts, mask_key, count_key)
