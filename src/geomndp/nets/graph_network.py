"""What networks on a radius graph have in common."""

from __future__ import annotations

import abc
import dataclasses
from typing import TypeVar

from geomndp import _validation
from geomndp._types import Inputs, Mask
from geomndp.equivariance import FieldType
from geomndp.nets.base import AbstractNet, NetConfig
from geomndp.nets.graph import Graph, radius_graph


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphNetConfig(NetConfig, abc.ABC):
    """Hyperparameters of a network on a radius graph; inputs and outputs follow from the field.

    Args:
        representations: What the values are, such as ("scalar", "vector"): see
            `equivariance.FieldType`.
        width: Width of the MLPs.
        num_layers: Number of message-passing layers.
        radius: Points nearer than this are neighbours, in units of the inputs.
        max_neighbours: Neighbours per point for which there is room.
        num_radial: Number of radial basis functions.
        dtype: Dtype of the parameters.
    """

    input_dim: int = dataclasses.field(init=False)
    output_dim: int = dataclasses.field(init=False)
    representations: tuple[str, ...] = dataclasses.field(default=("vector",), kw_only=False)
    width: int = 64
    num_layers: int = 5
    radius: float = 2.0
    max_neighbours: int = 24
    num_radial: int = 12

    def __post_init__(self):
        self._set("input_dim", self.field_type.dim + self.num_other_inputs)
        self._set("output_dim", self.field_type.size)
        super().__post_init__()
        _validation.at_least(1, width=self.width, num_layers=self.num_layers)
        _validation.at_least(1, max_neighbours=self.max_neighbours)
        _validation.at_least(2, num_radial=self.num_radial)
        _validation.positive(radius=self.radius)

    @property
    @abc.abstractmethod
    def field_type(self) -> FieldType:
        """Space of the inputs, and how values transform with it."""

    @property
    def num_other_inputs(self) -> int:
        """Columns of x after those of the location."""
        return 0


GraphConfig = TypeVar("GraphConfig", bound=GraphNetConfig)


class AbstractGraphNet(AbstractNet[GraphConfig]):
    """Message passing between points within a radius, equivariant under rigid transforms."""

    @property
    def field_type(self) -> FieldType:
        """Space of the inputs, and how values transform with it."""
        return self.config.field_type

    @property
    def num_relative_inputs(self) -> int:
        """The location; other inputs are absolute."""
        return self.field_type.dim

    def graph(self, x: Inputs, mask: Mask) -> Graph:
        """Neighbours of every point."""
        location = x[:, : self.field_type.dim]
        return radius_graph(location, mask, self.config.radius, self.config.max_neighbours)
