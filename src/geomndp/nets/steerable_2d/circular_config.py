"""Hyperparameters of networks of circular channels."""

from __future__ import annotations

import abc
import dataclasses
from typing import TypeVar

from geomndp import _validation
from geomndp.equivariance import FieldType
from geomndp.nets.base import check_compute
from geomndp.nets.graph_network import GraphNetConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class CircularNetConfig(GraphNetConfig, abc.ABC):
    """Hyperparameters of networks of circular channels; those of a surface are a subclass.

    Args:
        representations: What the values are, such as ("scalar", "vector"): see
            `equivariance.FieldType`.
        num_invariant_inputs: Further columns of x, after those of the location: covariates.
        periods: Period of every column of x, zero where it has none; empty where none has one.
        channels: Channels of every angular order.
        width: Width of the MLPs of times and non-linearities.
        num_layers: Number of message-passing layers.
        radius: Points nearer than this are neighbours.
        max_neighbours: Neighbours per point for which there is room.
        num_radial: Number of radial basis functions.
        num_pooling_widths: Widths of Gaussian averages over all points; zero for none.
        angular_pooling: Whether these averages have angular moments too.
        density_features: Whether every layer sees how many points are near each.
        odd: Whether to take the odd part in y.
        num_input_fields: Fields of the outputs' type that enter.
        compute_dtype: "bfloat16" for matrix products in it; None follows y.
        target_times: Whether points have a second time (see `geomndp.nets.target_times`).
        dtype: Dtype of the parameters.
    """

    channels: int = 24
    num_pooling_widths: int = 0
    odd: bool = False
    compute_dtype: str | None = None
    num_input_fields: int = 1
    density_features: bool = False
    angular_pooling: bool = False
    target_times: bool = False

    def __post_init__(self):
        _validation.at_least(1, channels=self.channels, num_input_fields=self.num_input_fields)
        super().__post_init__()
        self._divides_channels("num_pooling_widths")
        for name in ("density_features", "angular_pooling"):
            if getattr(self, name) and not self.num_pooling_widths:
                raise ValueError(f"expected num_pooling_widths > 0 with {name}, got 0")
        check_compute(self.compute_dtype)

    def _divides_channels(self, name: str) -> None:
        number = getattr(self, name)
        _validation.at_least(0, **{name: number})
        if number and self.channels % number:
            got = self.channels
            raise ValueError(f"expected channels divisible by {name}={number}, got {got}")

    @property
    def field_type(self) -> FieldType:
        """Values in the plane, or in tangent planes."""
        return FieldType(2, *self.representations)


CircularConfig = TypeVar("CircularConfig", bound=CircularNetConfig)
