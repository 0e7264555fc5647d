"""Neural processes on a grid, whose size is part of their configuration."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from geomndp.baselines.neural_processes.network_process import (
    AbstractNetworkProcess,
    Extent,
    ProcessConfig,
)
from geomndp.nets.changed_config import with_config

MOST_CELLS = 2**22


class AbstractGridProcess(AbstractNetworkProcess[ProcessConfig]):
    """A neural process on a grid.

    Its configuration has an `extent`, in units of the inputs, and `points_per_unit`.
    """

    @property
    def num_relative_inputs(self) -> int:
        """All inputs are relative."""
        return self.input_dim

    @property
    def grid_dim(self) -> int:
        """Axes of the largest grid, which say what a function costs: by default one per input."""
        return self.input_dim

    @property
    def shift_step(self) -> float:
        """The spacing of the grid."""
        return 1 / self.config.to_dict()["points_per_unit"]

    @property
    def most_extent(self) -> float:
        """Widest extent whose grid has at most `MOST_CELLS`."""
        return MOST_CELLS ** (1 / self.input_dim) / self.config.to_dict()["points_per_unit"]

    def with_room(self, *point_sets: Any) -> Any:
        """The process with the same parameters on a larger grid, where inputs range wider.

        Args:
            *point_sets: Inputs (n, d) of one function in the model's units, in one or more sets
                such as context and targets; concrete, without padding.

        Returns:
            Itself where the extent is wide enough.

        Raises:
            ValueError: If the grid would have too many cells.
        """
        points = np.concatenate(
            [np.asarray(x, float).reshape(-1, self.input_dim) for x in point_sets]
        )
        widest = float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0
        options = self.config.to_dict()
        extent: float = options["extent"]
        if widest <= extent:
            return self
        # Few sizes: every one is a program of its own.
        extent = extent * 2 ** math.ceil(math.log2(widest / extent))
        if extent > (most := self.most_extent):
            raise ValueError(
                f"expected inputs that range over at most {most:.4g}, got {widest:.4g}"
            )
        return with_config(self, extent=extent)


def widest_range(extent: Extent) -> float:
    """Widest range of an input, one where no input varies.

    Args:
        extent: Lowest and highest value of every input.
    """
    return max((high - low for low, high in extent), default=0.0) or 1.0


__all__ = ["MOST_CELLS", "AbstractGridProcess", "widest_range"]
