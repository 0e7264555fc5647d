"""From a scheme and locations to a layout: how many points a patch has, and which are coarse."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geomndp.patches.layout import Layout
from geomndp.patches.levels import Level
from geomndp.patches.locations import Coordinate, Locations, check_points, scattered
from geomndp.patches.scheme import Patches

MIN_POINTS = 16  # of a patch of scattered points: fewer cost more calls than they save work


def plan(locations: Locations, patches: Patches) -> Layout:
    """Cut locations into patches.

    Args:
        locations: A grid, or points in the order of blocks (`plan_points` finds that order).
        patches: Width, halo and bounds.

    Returns:
        The patches with their order.
    """
    chunks = _grid_chunks(locations, patches.width, patches.max_points)
    return _levels(locations, chunks, patches)


def plan_points(
    x: Any, patches: Patches, num_positions: int | None = None, periods: tuple[float, ...] = ()
) -> Layout:
    """Cut scattered points into patches: cells of a k-d tree of as many points as a patch holds.

    Args:
        x: Inputs, shape (n, d).
        patches: Width, halo and bounds.
        num_positions: How many of the inputs, the first ones, say where a point is; all by default.
        periods: Period of each of these, zero where it has none.

    Returns:
        The patches; `locations.rows` of the last level says which row of x stands where.
    """
    x = check_points(x)
    count = x.shape[-1] if num_positions is None else num_positions
    flat = Locations((len(x),), (), count, None, periods)
    cells = np.floor(flat.positions(x) / flat.per_position(patches.width))
    _, cell, counts = np.unique(cells, axis=0, return_inverse=True, return_counts=True)
    typical = int(np.median(counts[cell.reshape(-1)]))
    size = min(max(typical, MIN_POINTS), patches.max_points)
    locations = scattered(x, size, num_positions, periods, patches.width)
    return _levels(locations, (size,), patches)


def _levels(locations: Locations, chunks: tuple[int, ...], patches: Patches) -> Layout:
    halo, fine_halo = (locations.per_position(v) for v in (patches.halo, patches.fine_halo))
    width = locations.per_position(patches.width)
    if patches.stride == 1:
        level = Level(locations, chunks, width, halo)
        return Layout((level,), None, patches)
    coarse, numbers = _coarse(locations, patches.stride)
    levels = (
        Level(coarse, tuple(map(min, chunks, coarse.shape)), width, halo),
        Level(locations, chunks, width, fine_halo),
    )
    return Layout(levels, numbers, patches)


def _grid_chunks(
    locations: Locations, width: tuple[float, ...], max_points: int
) -> tuple[int, ...]:
    """Points of a patch along every dimension: as many as its width holds, within the bound."""
    wanted = locations.per_position(width)
    sizes = [
        min(n, max(1, round(1 / step))) if (step := locations.step(dim, wanted)) else n
        for dim, n in enumerate(locations.shape)
    ]
    while math.prod(sizes) > max_points:
        widest = int(np.argmax(sizes))
        sizes[widest] = -(-sizes[widest] * 15 // 16) if sizes[widest] > 16 else sizes[widest] - 1
    return tuple(sizes)


def _coarse(locations: Locations, stride: int) -> tuple[Locations, np.ndarray]:
    """Every `stride`-th point along each dimension, or one of each small cell of a k-d tree."""
    if locations.rows is not None:
        return _coarse_points(locations, stride)
    parts = tuple(
        Coordinate(dims, values[(slice(None, None, stride),) * len(dims)])
        for dims, values in locations.coordinates
    )
    shape = tuple(-(-n // stride) for n in locations.shape)
    numbers = np.full(locations.shape, -1)
    numbers[(slice(None, None, stride),) * len(shape)] = np.arange(math.prod(shape)).reshape(shape)
    coarse = Locations(shape, parts, locations.num_positions, None, locations.periods)
    return coarse, numbers.reshape(-1)


def _coarse_points(locations: Locations, stride: int) -> tuple[Locations, np.ndarray]:
    """The first point of each cell of stride^d points, in the order of the blocks."""
    cell = stride ** min(locations.num_positions, 3)
    x = locations.inputs((slice(0, locations.size),))
    rows = scattered(x, cell, locations.num_positions, locations.periods).rows
    assert rows is not None
    chosen = np.sort(rows[::cell])
    numbers = np.full(locations.size, -1)
    numbers[chosen] = np.arange(len(chosen))
    parts = tuple(Coordinate((0,), values[chosen]) for _, values in locations.coordinates)
    coarse = Locations((len(chosen),), parts, locations.num_positions, chosen, locations.periods)
    return coarse, numbers
