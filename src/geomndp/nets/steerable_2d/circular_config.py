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
    """Hyperparameters of networks of circular channels: those of `GraphNetConfig`, and others.

    Args:
        channels: Channels of every angular order, divisible by `num_pooling_widths` where this is
            not zero.
        num_pooling_widths: Widths of Gaussian averages over all points in every layer, in time
            quadratic in the points; zero for none.
        angular_pooling: Whether these averages have angular moments too, for fields of gradients.
        density_features: Whether every layer sees how many points are near each, for irregular
            points; needs `num_pooling_widths`.
        odd: Whether to take the odd part in y, (f(y) - f(-y)) / 2, in twice the time: for laws that
            are symmetric under y -> -y, whose scores are odd. Vectors and pseudo-vectors are then
            one.
        num_input_fields: Fields of the outputs' type that enter: 1 for the noised values, 2 with
            the score of a Gaussian process beside them (see `NetworkScore.base`).
        compute_dtype: "bfloat16" for matrix products with float32 parameters and residuals; None
            follows y.
        target_times: Whether points have a second time, that to which a flow map leads (see
            `geomndp.nets.target_times`).
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
