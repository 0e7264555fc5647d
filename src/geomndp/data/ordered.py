"""Functions with points in an order, such as tracks in time, and what is known of them."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _checks
from geomndp._types import Array, Batch, Float, Int, PRNGKeyArray
from geomndp.data.stream import AbstractStream, Contexts

JOINT, START, ENDS, ANY = 0, 1, 2, 3
"""What is known of a function: nothing, its start, its start and end, any of its points."""


class Ordered(AbstractStream):
    """Functions of a finite set in the order of their points, with contexts of four kinds.

    A quarter of the functions each has no context, a known start, known ends, and a random set of
    known points; lengths are random. `fixed` numbers of points (start; each end) take their place
    in half of the functions of their kind. `thinned` is the share of functions of which only a
    random set of points is kept, so that inputs are not always regular.
    """

    x: Float[Array, "s n d"]
    y: Float[Array, "s n p"]
    batch_size: int = eqx.field(default=512, static=True)
    fixed: tuple[int, int] = eqx.field(default=(20, 10), static=True)
    thinned: float = eqx.field(default=0.25, static=True)
    contexts: Contexts | None = Contexts(share=0.75)

    def __check_init__(self):
        _checks.at_least(1, batch_size=self.batch_size)
        n = self.x.shape[1]
        if len(self.x) == 0 or self.x.shape[:2] != self.y.shape[:2]:
            raise ValueError(f"expected functions, got x {self.x.shape} and y {self.y.shape}")
        if not (0 < self.fixed[0] < n and 0 < 2 * self.fixed[1] < n):
            raise ValueError(f"expected fixed contexts shorter than {n} points, got {self.fixed}")
        if not 0 <= self.thinned <= 1:
            raise ValueError(f"expected 0 <= thinned <= 1, got {self.thinned}")

    def draw(self, key):
        """Make a batch of functions from the set, with replacement."""
        row_key, known_key, thin_key = jr.split(key, 3)
        rows = jr.randint(row_key, (self.batch_size,), 0, len(self.x), jnp.int32)
        x, y = self.x[rows], self.y[rows]
        context = self.known((len(x), x.shape[1]), x.dtype, key=known_key)
        share_key, point_key, kept_key = jr.split(thin_key, 3)
        keep = jr.uniform(kept_key, (len(x), 1), x.dtype, 0.1, 1.0)
        kept = jr.uniform(point_key, context.shape, x.dtype) < keep
        whole = jr.uniform(share_key, (len(x), 1), x.dtype) >= self.thinned
        return Batch(x, y, (kept | whole).astype(x.dtype), context)

    def known(self, shape: tuple[int, int], dtype, *, key: PRNGKeyArray) -> Float[Array, "b n"]:
        """1 for context points."""
        b, n = shape
        first_key, last_key, share_key, any_key, fix_key = jr.split(key, 5)
        kind = (jnp.arange(b, dtype=jnp.int32) % 4)[:, None]
        place = jnp.arange(n, dtype=jnp.int32)[None, :]
        fix = jr.bernoulli(fix_key, 0.5, (b, 1))
        start = jnp.where(fix, self.fixed[0], _up_to(n - 1, b, first_key))
        first = jnp.where(fix, self.fixed[1], _up_to(n // 2 - 1, b, first_key))
        last = jnp.where(fix, self.fixed[1], _up_to(n // 2 - 1, b, last_key))
        share = jr.uniform(share_key, (b, 1), dtype)
        some = jr.uniform(any_key, (b, n), dtype) < share
        chosen = [jnp.zeros((b, n), dtype=bool), place < start]
        chosen += [(place < first) | (place >= n - last), some]
        marks = jnp.select([kind == k for k in (JOINT, START, ENDS, ANY)], chosen, default=False)
        return marks.astype(dtype)


def _up_to(most: int, b: int, key: PRNGKeyArray) -> Int[Array, "b 1"]:
    return jr.randint(key, (b, 1), 1, most + 1, jnp.int32)
