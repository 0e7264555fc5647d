"""Training batches of tracks in the maps of their contexts."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Batch, PRNGKeyArray
from geomndp.data.context_sampling import ContextSampler, leading_mask
from geomndp.data.frames import AbstractFrame
from geomndp.data.normalise import Normaliser
from geomndp.linalg import zero_masked


class TrackMaps(eqx.Module):
    """Every track of a batch in a map of its own, in the units of a model.

    A track without a context is put into the map of one that it might have had: what is learnt of
    it is the law of tracks in such maps.

    Args:
        frame: How a context decides on the map.
        normaliser: Units of inputs and of km in the map.
        contexts: How many points the contexts have that decide on a map only.
    """

    frame: AbstractFrame
    normaliser: Normaliser
    contexts: ContextSampler = ContextSampler(share=1.0)

    def __call__(self, batch: Batch, *, key: PRNGKeyArray) -> Batch:
        """Put tracks into their maps.

        Args:
            batch: Tracks x (b, n, d) in the data's units and y (b, n, 3), their context points
                first.
            key: Random key of the contexts of tracks without any.

        Returns:
            Functions x (b, n, d + k) and y (b, n, 2) in the model's units, the same masks.
        """
        points = jnp.sum(batch.mask > 0, axis=1, dtype=jnp.int32)
        counts = jnp.maximum(self.contexts.counts(points, key=key), 1)
        drawn = leading_mask(counts, batch.mask.shape[1], batch.mask.dtype) * batch.mask
        known = jnp.sum(batch.context, axis=1, keepdims=True) > 0
        x, y = jax.vmap(self._one)(
            batch.x, batch.y, batch.mask, jnp.where(known, batch.context, drawn)
        )
        return batch._replace(x=x, y=y)

    def _one(self, x, y, mask, deciding):
        chart = self.frame.at(x, y, deciding)
        units = self.normaliser
        q = jnp.asarray(units.forward_y(chart.to_map(y)))
        return units.forward_x(chart.inputs(x)), zero_masked(q, mask)
