"""What convolutional neural processes share: grids for the data at hand."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import numpy as np

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.baselines.neural_processes.conv_features import ConvConfig
from geomndp.baselines.neural_processes.network_process import AbstractNetworkProcess, Extent
from geomndp.nets.changed_config import with_config

ConvConfigT = TypeVar("ConvConfigT", bound=ConvConfig)
CELLS = {1: 128, 2: 32}
"""Cells over the widest range of the inputs, by number of axes, where nothing else is said."""
PLANE = {"width": 32, "num_layers": 6}
PLANE_MARGIN = 0.25
"""Over that range: a margin of half the receptive field would be most of the grid."""
MOST_CELLS = 2**22


class AbstractConvProcess(AbstractNetworkProcess[ConvConfigT]):
    """A neural process on a grid, whose size is part of its configuration."""

    @property
    def num_relative_inputs(self) -> int:
        """All inputs are relative."""
        return self.input_dim

    @classmethod
    def for_data(
        cls, input_dim: int, output_dim: int, extent: Extent, *, key: PRNGKeyArray, **options: Any
    ) -> Any:
        """A process whose grid covers the inputs of the data, whatever their units.

        The receptive field is as wide as the widest range, which has 128 cells for one input and 32
        for two.

        Args:
            input_dim: Number of input coordinates d, one or two.
            output_dim: Number of outputs p.
            extent: Lowest and highest value of every input, in the model's units.
            key: Random key of the parameters.
            **options: Further arguments of the configuration, which go first.

        Returns:
            The untrained process.

        Raises:
            ValueError: If there are more than two inputs.
        """
        _validation.one_of("input_dim", input_dim, tuple(CELLS))
        widest = max((high - low for low, high in extent), default=0.0) or 1.0
        make: Any = cls
        return make(input_dim, output_dim, key=key, **cls.sizes_for(input_dim, widest) | options)

    @classmethod
    def sizes_for(cls, input_dim: int, widest: float) -> dict[str, Any]:
        """Arguments of the configuration for data of a range.

        Args:
            input_dim: Number of input coordinates, one or two.
            widest: Widest range of an input, in the model's units.

        Returns:
            Arguments that depend on the units of the inputs, and sizes of the network.
        """
        sizes = {
            "extent": widest,
            "points_per_unit": CELLS[input_dim] / widest,
            "receptive_field": widest,
        }
        return sizes if input_dim == 1 else sizes | PLANE | {"margin": PLANE_MARGIN * widest}

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
        if widest <= self.config.extent:
            return self
        # Few sizes: every one is a program of its own.
        extent = self.config.extent * 2 ** math.ceil(math.log2(widest / self.config.extent))
        most = MOST_CELLS ** (1 / self.input_dim) / self.config.points_per_unit
        if extent > most:
            raise ValueError(
                f"expected inputs that range over at most {most:.4g}, got {widest:.4g}"
            )
        return with_config(self, extent=extent)
