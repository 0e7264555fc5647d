"""The patches of one field: their boxes, their colours, and how far each sees."""

from __future__ import annotations

import dataclasses
import functools
import itertools

import numpy as np
from scipy.spatial import KDTree

from geomndp.patches.locations import Locations, Slices

SEPARATION = 0.5
"""Distance, over the width of a patch, that patches of one colour have at least between them."""
ROUNDING, LONGER = 1e-9, 1.001
"""Of comparisons with the halo, and with the spacing of points."""


@dataclasses.dataclass(frozen=True)
class Level:
    """The patches of one field.

    Attributes:
        locations: Where the field is.
        chunks: Points of a patch along every dimension.
        width: Wanted width of a patch, per column of the positions.
        halo: How far its points are seen, likewise.
    """

    locations: Locations
    chunks: tuple[int, ...]
    width: np.ndarray
    halo: np.ndarray

    @functools.cached_property
    def slices(self) -> list[Slices]:
        """Parts of the locations, the last dimension fastest."""
        sizes = zip(self.locations.shape, self.chunks, strict=True)
        ranges = [
            [slice(start, min(start + step, size)) for start in range(0, size, step)]
            for size, step in sizes
        ]
        return list(itertools.product(*ranges))

    @functools.cached_property
    def boxes(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest position of every patch, shapes (patches, e)."""
        ends = [_ends(self.positions(slices)) for slices in self.slices]
        return np.stack([low for low, _ in ends]), np.stack([high for _, high in ends])

    def positions(self, slices: Slices) -> np.ndarray:
        """Positions (n, e) of a patch."""
        return self.locations.positions(self.locations.inputs(slices))

    @functools.cached_property
    def separations(self) -> np.ndarray:
        """Distance in widths within which no other patch may have a patch's colour, (patches,).

        Direct neighbours never have one colour: the gap between them is one step of a grid, and
        about the spacing of scattered points. What is beyond the halo is not seen anyway.
        """
        low, high = self.boxes
        if self.locations.rows is None:
            steps = [
                self.locations.step(dim, self.width, np.max) for dim in range(len(self.chunks))
            ]
            spacing = np.full(len(low), np.linalg.norm(steps))
        else:
            lengths = np.linalg.norm((high - low) / self.width, axis=1)
            spacing = lengths / self.chunks[0] ** (1 / low.shape[1])
        most = max(float(np.max(self.halo / self.width)), SEPARATION)
        return np.clip(LONGER * spacing, SEPARATION, most)

    @functools.cached_property
    def colours(self) -> np.ndarray:
        """Colour of every patch: the first that no patch nearer than the separation has.

        On a grid of patches a checkerboard of 2^d colours.
        """
        low, high = (ends / self.width for ends in self.boxes)
        centres, radius = (low + high) / 2, np.linalg.norm(high - low, axis=1) / 2
        reach = radius + radius.max() + self.separations.max()
        near = KDTree(centres).query_ball_point(centres, reach)
        colours = np.full(len(low), -1)
        for i, others in enumerate(near):
            others = np.asarray([j for j in others if j < i], int)
            gap = np.maximum(np.maximum(low[others] - high[i], low[i] - high[others]), 0)
            apart = np.maximum(self.separations[others], self.separations[i])
            close = np.linalg.norm(gap, axis=1) < apart
            taken = set(colours[others[close]].tolist())
            colours[i] = next(c for c in itertools.count() if c not in taken)
        return colours

    def near(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Numbers of the patches of which a box may see points."""
        own_low, own_high = self.boxes
        gap = np.maximum(np.maximum(own_low - high, low - own_high), 0) / self.halo
        return np.flatnonzero(np.linalg.norm(gap, axis=1) <= 1 + ROUNDING)

    def seen(self, positions: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Which positions (n, e) are within the halo of a box."""
        return distance_to_box(positions, low, high, self.halo) <= 1 + ROUNDING


def distance_to_box(
    positions: np.ndarray, low: np.ndarray, high: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """Distances (n,) of positions (n, e) from a box, in multiples of a scale per column."""
    outside = np.maximum(np.maximum(low - positions, positions - high), 0)
    return np.linalg.norm(outside / scale, axis=1)


def _ends(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return positions.min(axis=0), positions.max(axis=0)
