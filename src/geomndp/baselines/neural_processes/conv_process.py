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
CELLS = {1: 256, 2: 40}
"""Cells over the widest range of the inputs, by number of axes, where nothing else is said."""
ROOM = 2.0
"""Extent over that range."""


class AbstractConvProcess(AbstractNetworkProcess[ConvConfigT]):
    """A neural process on a grid, whose size is part of its configuration."""

    @classmethod
    def for_data(
        cls, input_dim: int, output_dim: int, extent: Extent, *, key: PRNGKeyArray, **options: Any
    ) -> Any:
        """A process whose grid has room for twice the widest range of the inputs.

        The receptive field is as wide as that range, which has 256 cells for one input and 40 for
        two.

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
        chosen = {
            "extent": ROOM * widest,
            "points_per_unit": CELLS[input_dim] / widest,
            "receptive_field": widest,
        }
        make: Any = cls
        return make(input_dim, output_dim, key=key, **chosen | options)

    def with_room(self, *point_sets: Any) -> Any:
        """The process with the same parameters on a larger grid, where inputs range wider.

        Args:
            *point_sets: Inputs (n, d) of one function in the model's units, in one or more sets
                such as context and targets; concrete, without padding.

        Returns:
            Itself where the extent is wide enough.
        """
        points = np.concatenate(
            [np.asarray(x, float).reshape(-1, self.input_dim) for x in point_sets]
        )
        widest = float(np.max(np.ptp(points, axis=0))) if len(points) else 0.0
        if widest <= self.config.extent:
            return self
        # Few sizes: every one is a program of its own.
        doublings = math.ceil(math.log2(widest / self.config.extent))
        return with_config(self, extent=self.config.extent * 2**doublings)
