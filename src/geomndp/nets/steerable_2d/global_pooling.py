r"""Averages over all points of a planar field: what lies beyond the neighbours, cheaply.

Channels are parted among H widths $s_h$, and each is averaged with Gaussian weights of its width,

$(S_h f)_i = \sum_j w_{ij} f_j / \sum_j w_{ij}, \quad w_{ij} = e^{-|x_i - x_j|^2 / 2 s_h^2}.$

The weights are invariant scalars that depend on the places alone, so that vectors and tensors turn
as they should, functions at the same places share them, and all that is left to do is one matrix
product. Layers of neighbours before and after make derivatives of it: $\nabla S\, \nabla\cdot y$ is
the long-range part of a gradient field's law.
"""

from __future__ import annotations

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Float, Inputs, Mask, PRNGKeyArray
from geomndp.nets.chunking import map_in_chunks
from geomndp.nets.layers import linear, zeroed
from geomndp.nets.steerable_2d.o2_layers import KINDS, PARTS, EquivariantLinear, Features, per_part

PAIRS = 2**20  # up to so many pairs of points the weights are kept, 1024 points
BLOCK = 2**22  # pairs of points in one block where there are more: memory linear in the points
NARROWEST, WIDEST = 0.75, 3.0  # widths over the radius of the neighbours
Smooth = Callable[[Float[Array, "n f h c"]], Float[Array, "n f h c"]]


def gaussian_pooling(
    place: Inputs, mask: Mask, radius: float, num_scales: int, dtype: jnp.dtype
) -> Smooth:
    """The function that averages over all points of one function (equal positive masks)."""
    widths = jnp.asarray(radius * np.geomspace(NARROWEST, WIDEST, num_scales), place.dtype)

    def weights(at: Float[Array, "m d"], its: Float[Array, " m"]) -> Float[Array, "h m n"]:
        square = jnp.sum((at[:, None] - place[None]) ** 2, axis=-1)
        seen = (its[:, None] == mask[None]) & (mask > 0)[None]
        raw = jnp.exp(-0.5 * square[None] / widths[:, None, None] ** 2)
        raw = jnp.where(seen[None], raw, 0.0)
        total = jnp.sum(raw, axis=2, keepdims=True)
        return (raw / jnp.maximum(total, 1e-6)).astype(dtype)

    n = len(place)
    if n**2 <= PAIRS:
        whole = weights(place, mask)
        return lambda parts: jnp.einsum("hij,jfhc->ifhc", whole, parts)

    def smooth(parts):
        def averaged(rows):
            return jnp.einsum("hij,jfhc->ifhc", weights(*rows), parts)

        return map_in_chunks(averaged, (place, mask), max(BLOCK // n, 1))

    return smooth


class GlobalPooling(eqx.Module):
    """What a point learns from averages over all: nothing before it is trained.

    Times act on what is sent, as they do for neighbours: observations are heard among noise.
    """

    condition: eqx.nn.Linear
    project: EquivariantLinear
    merge: EquivariantLinear
    num_scales: int = eqx.field(static=True)

    def __init__(
        self, channels: int, width: int, num_scales: int, *, dtype: str, key: PRNGKeyArray
    ):
        condition_key, project_key, merge_key = jr.split(key, 3)
        self.condition = eqx.nn.Linear(width, KINDS * channels, dtype=dtype, key=condition_key)
        self.project = EquivariantLinear(channels, channels, dtype=dtype, key=project_key)
        self.merge = zeroed(EquivariantLinear(channels, channels, dtype=dtype, key=merge_key))
        self.num_scales = num_scales

    def __call__(self, h: Features, time: Float[Array, "n w"], smooth: Smooth) -> Features:
        """Send, average, receive."""
        sent = self.project(h) * (1 + per_part(linear(self.condition, time)))
        parts = smooth(sent.reshape(len(h), PARTS, self.num_scales, -1))
        return self.merge(parts.reshape(len(h), -1))
