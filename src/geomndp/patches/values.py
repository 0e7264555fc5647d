"""Where drawn patches are kept: in memory, or (`zarr_values`) in a store on the disk."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np

from geomndp.patches.layout import Layout, Patch


class AbstractValues(abc.ABC):
    """Values of the patches that are drawn."""

    @abc.abstractmethod
    def read(self, patch: Patch) -> np.ndarray:
        """Values (s, n, p) of a patch that is done."""

    @abc.abstractmethod
    def write(self, patch: Patch, values: np.ndarray) -> None:
        """Keep the values (s, n, p) of a patch; it is done when this returns, and not before."""

    @abc.abstractmethod
    def done(self, patch: Patch) -> bool:
        """Whether a patch is done."""


class MemoryValues(AbstractValues):
    """Values in memory."""

    def __init__(self) -> None:
        """Nothing is drawn yet."""
        self._values: dict[int, np.ndarray] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Refuse to be sent to another process: what that writes would be lost."""
        raise ValueError("expected a store (out=...) for patches of other processes, got memory")

    def read(self, patch: Patch) -> np.ndarray:
        return self._values[patch.index]

    def write(self, patch: Patch, values: np.ndarray) -> None:
        self._values[patch.index] = values

    def done(self, patch: Patch) -> bool:
        return patch.index in self._values

    def field(self, layout: Layout) -> np.ndarray:
        """The whole field (s, n, p): in the order of a grid's dimensions, or of the rows of x."""
        locations = layout.levels[-1].locations
        last = [patch for patch in layout.patches if patch.level == len(layout.levels) - 1]
        first = self.read(last[0])
        samples, outputs = first.shape[0], first.shape[2]
        whole = np.empty((samples, *locations.shape, outputs), first.dtype)
        for patch in last:
            part = whole[(slice(None), *patch.slices)]
            part[:] = self.read(patch).reshape(part.shape)
        flat = whole.reshape(samples, -1, outputs)
        if locations.rows is None:
            return flat
        ordered = np.empty_like(flat)
        ordered[:, locations.rows] = flat
        return ordered
