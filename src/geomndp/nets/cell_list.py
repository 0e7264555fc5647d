"""Candidates for neighbours from a list of cells: time and memory linear in the points.

Space is cut into cubes a little wider than the radius. Points are sorted by the coordinates of
their cube, the last one fastest, so that cubes side by side in the last dimension stand side by
side: the neighbours of a point lie in 3^(d-1) contiguous stretches.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Inputs, Int, Mask

MARGIN = 1.001  # of a cube's width over the radius: points within the radius are in next cubes


class Stretches(NamedTuple):
    """Where the candidates of each point stand in an order of all points."""

    order: Int[Array, " n"]
    start: Int[Array, "n s"]
    end: Int[Array, "n s"]
    """First position that is no longer in a stretch; equal to the start for masked points."""


def stretches(x: Inputs, mask: Mask, radius: float) -> Stretches:
    """Sort the points by their cubes, and find the stretches of cubes next to each point.

    Masked points come last in the order and are nobody's candidates.
    """
    d = x.shape[1]
    side = int(np.floor((2**31 - 2) ** (1 / d)))  # cubes in each dimension, so that keys fit
    low = jnp.min(jnp.where(mask[:, None] > 0, x, jnp.inf), axis=0)
    cube = jnp.floor((x - low[None, :]) / (MARGIN * radius))
    cube = jnp.clip(cube, 0, side - 3).astype(jnp.int32) + 1
    weights = jnp.asarray([side ** (d - 1 - a) for a in range(d)], jnp.int32)
    keys = jnp.sum(cube * weights[None, :], axis=1, dtype=jnp.int32)
    keys = jnp.where(mask > 0, keys, jnp.iinfo(jnp.int32).max)
    order = jnp.argsort(keys).astype(jnp.int32)
    ordered = keys[order]
    steps = itertools.product((-1, 0, 1), repeat=d - 1)
    shifts = [sum(v * side ** (d - 1 - a) for a, v in enumerate(step)) for step in steps]
    middle = keys[:, None] + jnp.asarray(shifts, jnp.int32)[None, :]
    middle = jnp.where((mask > 0)[:, None], middle, 0)  # no overflow; masked points look nowhere
    start = jnp.searchsorted(ordered, middle - 1, side="left").astype(jnp.int32)
    end = jnp.searchsorted(ordered, middle + 1, side="right").astype(jnp.int32)
    return Stretches(order, start, jnp.where((mask > 0)[:, None], end, start))


def candidates(
    order: Int[Array, " n"],
    start: Int[Array, "b s"],
    end: Int[Array, "b s"],
    own: Int[Array, " b"],
    capacity: int,
) -> tuple[Int[Array, "b m"], Int[Array, " b"]]:
    """Points that may be within the radius of some points, these themselves where there are fewer.

    A stretch has room for `capacity` points; the second result counts those left out.
    """
    place = start[:, :, None] + jnp.arange(capacity, dtype=start.dtype)[None, None, :]
    found = order[jnp.minimum(place, len(order) - 1)]
    found = jnp.where(place < end[:, :, None], found, own[:, None, None])
    left_out = jnp.sum(jnp.maximum(end - start - capacity, 0), axis=1, dtype=jnp.int32)
    return found.reshape(len(own), -1), left_out
