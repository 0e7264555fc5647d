"""Training batches from a finite data set, its functions padded to one size."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Batch, Int, PRNGKeyArray
from geomndp.data.context_sampling import ContextSampler, context_mask
from geomndp.data.generators import AbstractGenerator
from geomndp.data.group_contexts import drop_values, group_contexts
from geomndp.data.track_maps import TrackMaps


@renamed_arguments(thinned="thinned_share", ahead="forecast_share", most="max_points")
class ResampledGenerator(AbstractGenerator):
    """Functions drawn at random from a finite data set, points in random order.

    Attributes:
        functions: The data set, x (s, n, d), y (s, n, p), mask (s, n), or (s, n, g) where outputs
            are missing apart, and, where it is known, the noise (s, n) of the values. Its `context`
            is not read: every batch has new ones.
        batch_size: Functions per batch.
        contexts: How many points are context points; None for no contexts.
        thinned_share: Share of the functions of which only a random number of points is kept, so
            that a model also learns the law at few points; where outputs are missing apart, also
            share of those that lose further values of single groups.
        forecast_share: Share of the functions whose context is what comes first in the order of the
            first input, so that a model learns to forecast.
        max_points: Most points of a function in a batch, a random subset; by default all.
        num_functions: Only the first so many functions are drawn, by default all. Generators that
            differ in this number and in values alone share their compiled programs.
        maps: Puts the tracks of a batch into the maps of their contexts; None for other functions.
    """

    functions: Batch
    batch_size: int = eqx.field(default=256, static=True)
    contexts: ContextSampler | None = ContextSampler()
    thinned_share: float = eqx.field(default=0.0, static=True)
    forecast_share: float = eqx.field(default=0.0, static=True)
    max_points: int | None = eqx.field(default=None, static=True)
    num_functions: Int[Array, ""] | None = None
    maps: TrackMaps | None = None

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size)
        if self.max_points is not None:
            _validation.at_least(1, max_points=self.max_points)
        _validation.share(thinned_share=self.thinned_share, forecast_share=self.forecast_share)
        if not len(self.functions.x):
            raise ValueError("expected at least one function, got none")

    def draw(self, key):
        """Make a batch of functions from the data set, with replacement."""
        row_key, order_key, context_key = jr.split(key, 3)
        count = len(self.functions.x) if self.num_functions is None else self.num_functions
        rows = jr.randint(row_key, (self.batch_size,), 0, count, jnp.int32)
        x, y, mask = (values[rows] for values in self.functions[:3])
        dim, noise = y.shape[2], self.functions.noise
        if noise is not None:  # goes with its value wherever that goes
            y = jnp.concatenate([y, noise[rows][:, :, None]], axis=2)
        values = None if mask.ndim == 2 else mask
        mask = mask if values is None else jnp.max(mask, axis=2)
        # Real points first, in random order; padding last.
        ranks = jr.uniform(order_key, mask.shape, mask.dtype) - mask
        order = jnp.argsort(ranks, axis=1)[:, : self.max_points]
        x, y, values = _reorder(order, x, y, values)
        mask = jnp.take_along_axis(mask, order, axis=1)
        points = jnp.sum(mask > 0, axis=1, dtype=jnp.int32)
        if self.thinned_share:
            points = self._thin(points, key=jr.fold_in(order_key, 1))
        mask, context = context_mask(
            points, mask.shape[1], self.contexts, mask.dtype, key=context_key
        )
        if self.forecast_share:
            order = self._in_order(x, mask, key=jr.fold_in(order_key, 2))
            x, y, values = _reorder(order, x, y, values)
        if values is not None:
            drop_key, context_key = jr.split(context_key)
            mask = drop_values(mask[:, :, None] * values, self.thinned_share, key=drop_key)
            context = group_contexts(mask, points, self.contexts, key=context_key)
        if noise is not None:
            return Batch(x, y[:, :, :dim], mask, context, y[:, :, dim])
        if self.maps is not None:
            return self.maps(Batch(x, y, mask, context), key=jr.fold_in(context_key, 1))
        return Batch(x, y, mask, context)

    def _thin(self, points: Int[Array, " b"], *, key: PRNGKeyArray) -> Int[Array, " b"]:
        """Keep U{1..n} points of some functions."""
        which_key, number_key = jr.split(key)
        fewer = jr.randint(number_key, points.shape, 1, points + 1, jnp.int32)
        return jnp.where(jr.bernoulli(which_key, self.thinned_share, points.shape), fewer, points)

    def _in_order(self, x, mask, *, key: PRNGKeyArray) -> Int[Array, "b n"]:
        """Order in which the kept points of some functions are sorted by their first input."""
        sort = jr.bernoulli(key, self.forecast_share, (len(x), 1)) & (mask > 0)
        # Padding stays where it is, at the end.
        position = jnp.broadcast_to(jnp.arange(x.shape[1], dtype=x.dtype)[None], mask.shape)
        ranks = jnp.where(mask > 0, jnp.where(sort, x[:, :, 0], position), jnp.inf)
        return jnp.argsort(ranks, axis=1)


def _reorder(order: Int[Array, "b m"], *arrays: Array | None) -> tuple[Any, ...]:
    """Rows of arrays (b, n, k) in another order."""
    index = order[:, :, None]
    return tuple(None if v is None else jnp.take_along_axis(v, index, axis=1) for v in arrays)
