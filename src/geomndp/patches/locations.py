"""Where a large field is wanted: a grid, rows of a table, or scattered points in blocks' order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from geomndp.data import circle

Slices = tuple[slice, ...]


class Coordinate(NamedTuple):
    """One input over some of the dimensions of the locations.

    Attributes:
        dims: Numbers of its dimensions, in the order of the array's axes.
        values: Its values.
    """

    dims: tuple[int, ...]
    values: np.ndarray


class Locations(NamedTuple):
    """Inputs over a grid of any number of dimensions; scattered points have one.

    Attributes:
        shape: Points along every dimension.
        coordinates: The inputs, columns of x.
        rows: For scattered points the row of x at every position of the one dimension; None for a
            grid.
        num_positions: How many of the inputs, the first ones, say where a point is; the others are
            covariates.
        periods: Period of each of these, zero where it has none; empty where none has one.
    """

    shape: tuple[int, ...]
    coordinates: tuple[Coordinate, ...]
    num_positions: int
    rows: np.ndarray | None = None
    periods: tuple[float, ...] = ()

    @property
    def size(self) -> int:
        """Number of points."""
        return math.prod(self.shape)

    def inputs(self, slices: Slices) -> np.ndarray:
        """Inputs (n, d) of a block in the order of its dimensions."""
        shape = tuple(part.stop - part.start for part in slices)
        columns = []
        for dims, values in self.coordinates:
            part = values[tuple(slices[dim] for dim in dims)]
            missing = tuple(dim for dim in range(len(shape)) if dim not in dims)
            ordered = np.transpose(part, np.argsort(dims))
            columns.append(np.broadcast_to(np.expand_dims(ordered, missing), shape).reshape(-1))
        return np.stack(columns, axis=1).astype(np.float64)

    def positions(self, x: np.ndarray) -> np.ndarray:
        """Points (n, e) between which distances are measured: periodic inputs lie on circles."""
        near = np.asarray(x, np.float64)[:, : self.num_positions]
        return np.asarray(circle.embed(near, self.periods)) if any(self.periods) else near

    def per_position(self, lengths: tuple[float, ...]) -> np.ndarray:
        """One length per column of `positions` from one per input, or one for all."""
        if len(lengths) not in (1, self.num_positions):
            got = f"{len(lengths)} for {self.num_positions} inputs"
            raise ValueError(f"expected one length, or one per input, got {got}")
        each = np.broadcast_to(np.asarray(lengths, np.float64), (self.num_positions,))
        if not any(self.periods):
            return each
        # The columns of `circle.embed`: a row that is one at an input's own columns says which.
        doubled = [2 if period else 1 for period in self.periods]
        return np.repeat(each, doubled)

    def step(self, dim: int, scale: np.ndarray, summary: Callable = np.median) -> float:
        """Distance of neighbours along a dimension of a grid, through the middle of the others.

        Args:
            dim: Number of the dimension.
            scale: Unit of the distances, per column of `positions`.
            summary: Which of the distances, the typical one or the largest.

        Returns:
            Zero where there are no neighbours.
        """
        n = self.shape[dim]
        if n < 2:
            return 0.0
        middle = tuple(
            slice(0, n) if i == dim else slice(size // 2, size // 2 + 1)
            for i, size in enumerate(self.shape)
        )
        positions = self.positions(self.inputs(middle)) / scale
        return float(summary(np.linalg.norm(np.diff(positions, axis=0), axis=1)))


def grid(
    axes: tuple[Any, ...], num_positions: int | None = None, periods: tuple[float, ...] = ()
) -> Locations:
    """All combinations of the values of some axes.

    Args:
        axes: Values of every input, sorted, shape (n_i,) each.
        num_positions: As in `Locations`; all inputs by default.
        periods: As in `Locations`.

    Returns:
        Locations of shape (n_1, n_2, ...).

    Raises:
        ValueError: If an axis is not sorted, or repeats a value.
    """
    arrays = [np.asarray(axis) for axis in axes]
    for i, values in enumerate(arrays):
        check_axis(f"axis {i}", values)
    parts = tuple(Coordinate((i,), values) for i, values in enumerate(arrays))
    count = len(arrays) if num_positions is None else num_positions
    return Locations(tuple(map(len, arrays)), parts, count, None, periods)


def check_axis(name: str, values: np.ndarray) -> None:
    """Refuse an axis of a grid that is not one sorted list of numbers.

    Args:
        name: Its name.
        values: Its values.

    Raises:
        ValueError: If it has another shape, is empty or is not strictly monotone.
    """
    if values.ndim != 1 or not len(values):
        raise ValueError(f"expected {name} of shape (n,), n > 0, got shape {values.shape}")
    steps = np.diff(values.astype(np.float64))
    if not np.all(np.isfinite(values.astype(np.float64))):
        raise ValueError(f"expected finite numbers along {name}, got others")
    if len(steps) and not (np.all(steps > 0) or np.all(steps < 0)):
        raise ValueError(f"expected sorted, distinct values along {name}, got others")


def check_points(x: Any) -> np.ndarray:
    """Points (n, d) as an array; refuses others than finite numbers of this shape."""
    points = np.asarray(x)
    if points.ndim != 2 or not points.size:
        raise ValueError(f"expected x of shape (n, d), n > 0, got shape {points.shape}")
    if not np.all(np.isfinite(points)):
        raise ValueError("expected finite numbers in x, got others")
    return points


def scattered(
    x: Any,
    block_points: int,
    num_positions: int | None = None,
    periods: tuple[float, ...] = (),
    scale: tuple[float, ...] = (1.0,),
) -> Locations:
    """Points in an order in which every `block_points` neighbours in the list are near each other.

    A k-d tree: the points are halved across their widest side until `block_points` are left, in
    whole numbers of blocks, so that all but one block are full.

    Args:
        x: Inputs, shape (n, d).
        block_points: Points of a block.
        num_positions: As in `Locations`; all inputs by default.
        periods: As in `Locations`.
        scale: Length along each input, or one for all, that the widths of the k-d cells are
            compared by.

    Returns:
        Locations of one dimension; `rows` says which row of x stands where.
    """
    x = check_points(x)
    count = x.shape[1] if num_positions is None else num_positions
    flat = Locations((len(x),), (), count, None, periods)
    positions = flat.positions(x) / flat.per_position(scale)
    rows = np.concatenate(_cells(positions, np.arange(len(x)), block_points))
    parts = tuple(Coordinate((0,), column) for column in x[rows].T)
    return Locations((len(x),), parts, count, rows, periods)


def _cells(positions: np.ndarray, rows: np.ndarray, size: int) -> list[np.ndarray]:
    """Rows of the cells of a k-d tree, each but the last of `size` points."""
    if len(rows) <= size:
        return [rows]
    near = positions[rows]
    order = np.argsort(near[:, np.argmax(np.ptp(near, axis=0))], kind="stable")
    left = size * max(1, round(len(rows) / size / 2))
    parts = rows[order[:left]], rows[order[left:]]
    return [cell for part in parts for cell in _cells(positions, part, size)]
