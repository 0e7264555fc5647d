"""What convolutional neural processes share: grids for the data at hand."""

from __future__ import annotations

from typing import Any, TypeVar

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.baselines.neural_processes.conv_features import ConvConfig
from geomndp.baselines.neural_processes.grid_process import AbstractGridProcess, widest_range
from geomndp.baselines.neural_processes.network_process import Extent

ConvConfigT = TypeVar("ConvConfigT", bound=ConvConfig)
CELLS = {1: 128, 2: 32}
"""Cells over the widest range of the inputs, by number of axes, where nothing else is said."""
PLANE = {"width": 32, "num_layers": 6}
PLANE_MARGIN = 0.25
"""Over that range: a margin of half the receptive field would be most of the grid."""


class AbstractConvProcess(AbstractGridProcess[ConvConfigT]):
    """A neural process of set convolutions and a network on a grid."""

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
            extent: Lowest and highest value of every input of a function, in the model's units.
            key: Random key of the parameters.
            **options: Further arguments of the configuration, which go first.

        Returns:
            The untrained process.

        Raises:
            ValueError: If there are more than two inputs.
        """
        _validation.one_of("input_dim", input_dim, tuple(CELLS))
        widest = widest_range(extent)
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
