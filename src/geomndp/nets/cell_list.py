"""Candidates for neighbours from a cell list: time and memory linear in the number of points.

Space is divided into cells a little wider than the radius. Points are sorted by the coordinates of
their cell, the last one fastest, so that cells that are adjacent in the last dimension are adjacent
in the order: the neighbours of a point lie in 3^(d-1) contiguous ranges.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Inputs, Int, Mask

MARGIN = 1.001  # of a cell's width over the radius: points within the radius are in adjacent cells


class CellRanges(NamedTuple):
    """Ranges of each point's candidates in an order of all n points, s = 3^(d-1) per point."""

    order: Int[Array, " n"]
    start: Int[Array, "n s"]
    end: Int[Array, "n s"]
    """First position that is no longer in a range; equal to the start for masked points."""


def cell_ranges(x: Inputs, mask: Mask, radius: float) -> CellRanges:
    """Sort the points by their cells, and find the ranges of cells next to each point.

    Masked points come last in the order and are nobody's candidates.

    Args:
        x: Locations (n, d).
        mask: (n,), zero where a row is padding.
        radius: In units of the inputs.
    """
    d = x.shape[1]
    side = int(np.floor((2**31 - 2) ** (1 / d)))  # cells in each dimension, so that keys fit
    low = jnp.min(jnp.where(mask[:, None] > 0, x, jnp.inf), axis=0)
    cell = jnp.floor((x - low[None, :]) / (MARGIN * radius))
    cell = jnp.clip(cell, 0, side - 3).astype(jnp.int32) + 1
    weights = jnp.asarray([side ** (d - 1 - a) for a in range(d)], jnp.int32)
    keys = jnp.sum(cell * weights[None, :], axis=1, dtype=jnp.int32)
    keys = jnp.where(mask > 0, keys, jnp.iinfo(jnp.int32).max)
    order = jnp.argsort(keys).astype(jnp.int32)
    ordered = keys[order]
    steps = itertools.product((-1, 0, 1), repeat=d - 1)
    shifts = [sum(v * side ** (d - 1 - a) for a, v in enumerate(step)) for step in steps]
    middle = keys[:, None] + jnp.asarray(shifts, jnp.int32)[None, :]
    middle = jnp.where((mask > 0)[:, None], middle, 0)  # no overflow; masked points look nowhere
    start = jnp.searchsorted(ordered, middle - 1, side="left").astype(jnp.int32)
    end = jnp.searchsorted(ordered, middle + 1, side="right").astype(jnp.int32)
    return CellRanges(order, start, jnp.where((mask > 0)[:, None], end, start))


def candidates(
    order: Int[Array, " n"],
    start: Int[Array, "b s"],
    end: Int[Array, "b s"],
    own_index: Int[Array, " b"],
    capacity: int,
) -> tuple[Int[Array, "b m"], Int[Array, " b"]]:
    """Points that may be within the radius of b given points, themselves where there are fewer.

    Args:
        order: Order of all points by cell.
        start: First positions of the ranges.
        end: Positions after the ranges.
        own_index: Numbers of the given points.
        capacity: Points of a range for which there is room.

    Returns:
        Candidates (b, m) of each point, and how many were left out (b,).
    """
    position = start[:, :, None] + jnp.arange(capacity, dtype=start.dtype)[None, None, :]
    points = order[jnp.minimum(position, len(order) - 1)]
    points = jnp.where(position < end[:, :, None], points, own_index[:, None, None])
    left_out = jnp.sum(jnp.maximum(end - start - capacity, 0), axis=1, dtype=jnp.int32)
    return points.reshape(len(own_index), -1), left_out
