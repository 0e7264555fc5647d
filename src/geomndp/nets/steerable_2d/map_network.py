"""The planar network in a map of the sphere, to compare with: what a projection loses."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Inputs, Mask, PRNGKeyArray
from geomndp.nets.base import AbstractNet
from geomndp.nets.graph import Graph, radius_graph
from geomndp.nets.steerable_2d.circular_config import CircularNetConfig
from geomndp.nets.steerable_2d.circular_network import AbstractCircularNet, Surface
from geomndp.nets.steerable_2d.gaussian_pooling import planar_pairs


def plate_carree(x: Any) -> Any:
    """Longitudes and latitudes in radians, (n, 2), of unit vectors (n, 3)."""
    xp = jnp if isinstance(x, Array) else np
    latitude = xp.arctan2(x[:, 2], xp.hypot(x[:, 0], x[:, 1]))
    return xp.stack([xp.arctan2(x[:, 1], x[:, 0]), latitude], axis=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SteerableMapConfig(CircularNetConfig):
    """Hyperparameters of `SteerableMap`: those of `CircularNetConfig`, with radii on the map.

    Args:
        representations: What the values are, such as ("vector",), in the order east, north.
        num_invariant_inputs: Further columns of x, after the three of a unit vector: covariates.
        radius: Points nearer than this on the map are neighbours, in radians.
    """

    radius: float = 0.4

    @property
    def location_dim(self) -> int:
        """Columns of a unit vector."""
        return 3


class SteerableMap(AbstractCircularNet[SteerableMapConfig], tag="net/steerable-map"):
    """`Steerable2` on the map of longitudes and latitudes, for unit vectors (n, 3).

    It is equivariant under rigid transforms of the map, which the sphere does not have: distances
    are wrong away from the equator, and the map is torn at the poles and at 180 degrees. Arguments
    are those of `SteerableMapConfig`.
    """

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        super().__init__(*args, key=key, **options)

    @property
    def num_relative_inputs(self) -> int:
        """None: unit vectors are not shifted."""
        return 0

    def graph(self, x: Inputs, mask: Mask) -> Graph:
        """Neighbours of every point on the map, of inputs x (n, d) and mask (n,)."""
        config = self.config
        return radius_graph(plate_carree(x[:, :3]), mask, config.radius, config.max_neighbours)

    def with_room(self, point_sets: tuple, masks: tuple) -> AbstractNet:
        """The network with room for these points: see `AbstractGraphNet.with_room`."""
        if all(map(_validation.concrete, point_sets)):
            point_sets = tuple(plate_carree(np.asarray(x, float)) for x in point_sets)
        return super().with_room(point_sets, masks)

    def _surface(self, x: Inputs, mask: Mask) -> Surface:
        return Surface(self.graph(x, mask), plate_carree(x[:, :3]), planar_pairs)
