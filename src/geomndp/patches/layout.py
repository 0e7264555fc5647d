"""Patches of a field, the order in which they are drawn, and what each of them sees."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from geomndp.patches.locations import Locations, Slices
from geomndp.patches.scheme import Patches

SEPARATION = 0.5
"""Distance, over the width of a patch, that patches of one colour have at least between them."""
ROUNDING = 1e-9


@dataclasses.dataclass(frozen=True)
class Patch:
    """One block of a field that is drawn at once.

    Attributes:
        index: Its number among all patches, by which its random numbers are drawn.
        stage: It sees patches of earlier stages; those of its own are drawn independently of it.
        level: 0 for patches of the coarse field, or of the only one.
        slices: Its part of the locations of its level.
    """

    index: int
    stage: int
    level: int
    slices: Slices


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
    def colours(self) -> np.ndarray:
        """Colour of every patch: the first that no patch nearer than the separation has.

        On a grid of patches a checkerboard of 2^d colours.
        """
        low, high = (ends / self.width for ends in self.boxes)
        centres, radius = (low + high) / 2, np.linalg.norm(high - low, axis=1) / 2
        near = KDTree(centres).query_ball_point(centres, radius + radius.max() + SEPARATION)
        colours = np.full(len(low), -1)
        for i, others in enumerate(near):
            others = np.asarray([j for j in others if j < i], int)
            gap = np.maximum(np.maximum(low[others] - high[i], low[i] - high[others]), 0)
            close = np.linalg.norm(gap, axis=1) < SEPARATION
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


class Kept(NamedTuple):
    """Points drawn before that a patch sees.

    Attributes:
        patches: Numbers of the patches in which they are, one per group.
        rows: Their rows in these patches, one array per group.
        x: All their inputs, shape (m, d), in the order of the groups.
    """

    patches: tuple[int, ...]
    rows: tuple[np.ndarray, ...]
    x: np.ndarray


@dataclasses.dataclass(frozen=True)
class Layout:
    """All patches of a field, coarse ones first.

    Attributes:
        levels: The field, or a coarse field and the field.
        coarse: For every point of the field its number in the coarse one, -1 where it is not there;
            None without a coarse field.
        scheme: The scheme that it follows.
    """

    levels: tuple[Level, ...]
    coarse: np.ndarray | None
    scheme: Patches

    @functools.cached_property
    def patches(self) -> list[Patch]:
        """All patches in the order of their numbers."""
        found: list[Patch] = []
        first = 0
        for number, level in enumerate(self.levels):
            stages = (first + level.colours).tolist()
            parts = zip(itertools.count(len(found)), stages, level.slices, strict=False)
            found += [Patch(i, stage, number, slices) for i, stage, slices in parts]
            first = max(stages) + 1
        return found

    @functools.cached_property
    def stages(self) -> list[list[int]]:
        """Numbers of the patches of every stage, in the order in which stages are drawn."""
        by_stage: list[list[int]] = [
            [] for _ in range(1 + max(patch.stage for patch in self.patches))
        ]
        for patch in self.patches:
            by_stage[patch.stage].append(patch.index)
        return by_stage

    def inputs(self, patch: Patch) -> np.ndarray:
        """Inputs (n, d) of all points of a patch."""
        return self.levels[patch.level].locations.inputs(patch.slices)

    def box(self, patch: Patch) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest position of a patch."""
        first = self._first(patch.level)
        low, high = self.levels[patch.level].boxes
        return low[patch.index - first], high[patch.index - first]

    def rows(self, patch: Patch) -> np.ndarray:
        """Rows of x of all points of a patch; those of a grid in the order of its dimensions."""
        locations = self.levels[patch.level].locations
        numbers = np.arange(locations.size).reshape(locations.shape)[patch.slices].reshape(-1)
        last = self.levels[-1].locations
        if patch.level < len(self.levels) - 1:
            assert self.coarse is not None
            numbers = np.flatnonzero(self.coarse >= 0)[numbers]
        return numbers if last.rows is None else last.rows[numbers]

    def targets(self, patch: Patch) -> np.ndarray:
        """Rows of a patch that it draws: all that are not of the coarse field."""
        numbers = self.coarse_numbers(patch)
        return np.arange(self._size(patch)) if numbers is None else np.flatnonzero(numbers < 0)

    def coarse_numbers(self, patch: Patch) -> np.ndarray | None:
        """For every row of a patch of the field its number in the coarse one; None without one."""
        if self.coarse is None or patch.level == 0:
            return None
        shape = self.levels[patch.level].locations.shape
        return self.coarse.reshape(shape)[patch.slices].reshape(-1)

    def kept(self, patch: Patch) -> Kept:
        """What a patch sees of the patches of earlier stages, all within the halo."""
        low, high = self.box(patch)
        numbers, rows, inputs = [], [], []
        for level_number, level in enumerate(self.levels[: patch.level + 1]):
            for i in self._first(level_number) + level.near(low, high):
                other = self.patches[i]
                if other.stage >= patch.stage:
                    continue
                x = self.inputs(other)
                seen = level.seen(level.locations.positions(x), low, high)
                if level_number and self.coarse is not None:
                    seen &= np.isin(np.arange(len(x)), self.targets(other))
                if seen.any():
                    numbers.append(int(i))
                    rows.append(np.flatnonzero(seen))
                    inputs.append(x[seen])
        dim = len(self.levels[0].locations.coordinates)
        return Kept(tuple(numbers), tuple(rows), np.concatenate([np.zeros((0, dim)), *inputs]))

    def coarse_patches(self, numbers: np.ndarray) -> Iterator[tuple[Patch, np.ndarray, np.ndarray]]:
        """Patches of the coarse field that hold points of it.

        Args:
            numbers: Numbers of points in the coarse field, shape (k,).

        Yields:
            A patch, rows of it, and which of the k points these are.
        """
        shape, chunks = self.levels[0].locations.shape, self.levels[0].chunks
        index = np.stack(np.unravel_index(numbers, shape), axis=1)
        counts = tuple(-(-n // size) for n, size in zip(shape, chunks, strict=True))
        owners = np.ravel_multi_index(tuple((index // chunks).T), counts)
        for owner in np.unique(owners):
            patch, found = self.patches[owner], np.flatnonzero(owners == owner)
            starts = [part.start for part in patch.slices]
            sizes = tuple(part.stop - part.start for part in patch.slices)
            rows = np.ravel_multi_index(tuple((index[found] - starts).T), sizes)
            yield patch, np.asarray(rows), found

    def _first(self, level: int) -> int:
        return sum(len(other.slices) for other in self.levels[:level])

    @staticmethod
    def _size(patch: Patch) -> int:
        return int(np.prod([part.stop - part.start for part in patch.slices]))
