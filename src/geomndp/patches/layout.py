"""Patches of a field, the order in which they are drawn, and what each of them sees."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from geomndp.patches.levels import Level
from geomndp.patches.locations import Slices
from geomndp.patches.scheme import Patches


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
