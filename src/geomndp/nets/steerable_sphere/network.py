r"""SO(3)- and O(3)-equivariant message passing for scalar and tangent fields over the sphere."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Inputs, Mask, PRNGKeyArray
from geomndp.equivariance import FieldType
from geomndp.geometry.geodesy import east_and_north
from geomndp.kernels.sphere.zonal import check_unit_vectors
from geomndp.nets.base import AbstractNet
from geomndp.nets.graph import Graph
from geomndp.nets.steerable_2d.circular_config import CircularNetConfig
from geomndp.nets.steerable_2d.circular_network import AbstractCircularNet, Surface
from geomndp.nets.steerable_sphere.pairs import FramedPoints, all_pairs, neighbour_pairs

AXIS = ("pseudoscalar", "pseudovector")  # the Earth's rotation at a point: across and along it


@dataclasses.dataclass(frozen=True, kw_only=True)
class SteerableSphereConfig(CircularNetConfig):
    """Hyperparameters of `SteerableSphere`: those of `CircularNetConfig`, and some of its own.

    Args:
        representations: What the values are, such as ("scalar", "vector"), the components of
            tangent vectors and tensors in the order east, north: see `equivariance.FieldType`.
        num_invariant_inputs: Further columns of x, after the three of a unit vector, that do not
            turn with it: covariates (height, land or sea, season), which break the symmetry softly.
        radius: Points nearer than this are neighbours, in radians along great circles, at most pi.
        axial: Whether the network knows the Earth's axis and the sense of its rotation. What is
            left of the symmetry are rotations about the axis and the mirror image of the
            hemispheres.
    """

    radius: float = 0.4
    axial: bool = False

    def __post_init__(self):
        super().__post_init__()
        if self.radius > math.pi:
            raise ValueError(f"expected a radius of at most pi radians, got {self.radius}")

    @property
    def location_dim(self) -> int:
        """Columns of a unit vector."""
        return 3

    @property
    def search_radius(self) -> float:
        """Length of the chord of the radius."""
        return 2 * math.sin(self.radius / 2)


class SteerableSphere(AbstractCircularNet[SteerableSphereConfig], tag="net/steerable-sphere"):
    r"""The planar network `Steerable2` on the unit sphere: inputs are unit vectors (n, 3).

    Channels of order m live in the frame (east, north) of their point. The offset to another point
    is its logarithm map in that frame, and features of other points come by parallel transport
    along great circles, times a phase $c^m$. The network commutes with all rotations and
    reflections of the sphere, and does not depend on the choice of frames. Parameters are those of
    `Steerable2`, with which it agrees on a small piece of the sphere. Arguments are those of
    `SteerableSphereConfig`.

    Example:
        `net = gn.nets.SteerableSphere(("scalar", "vector"), radius=0.4, key=jr.key(0))`
    """

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        super().__init__(*args, key=key, **options)

    @property
    def num_relative_inputs(self) -> int:
        """None: unit vectors are not shifted."""
        return 0

    @property
    def input_type(self) -> FieldType:
        """All fields that enter, that of the axis last."""
        fields = super().input_type.representations
        return FieldType(2, *fields, *(AXIS if self.config.axial else ()))

    def with_room(self, point_sets: tuple, masks: tuple) -> AbstractNet:
        """The network with room for these points: see `AbstractGraphNet.with_room`.

        Raises:
            ValueError: If points are no unit vectors.
        """
        for points in point_sets:
            check_unit_vectors(points[:, :3])
        return super().with_room(point_sets, masks)

    def graph(self, x: Inputs, mask: Mask) -> Graph:
        """Neighbours of every point, of inputs x (n, d) and mask (n,)."""
        return self._graph_in(jnp.asarray(east_and_north(x[:, :3])), x, mask)

    def _surface(self, x: Inputs, mask: Mask) -> Surface:
        return self._surface_in(jnp.asarray(east_and_north(x[:, :3])), x, mask)

    def _surface_in(self, frame: Float[Array, "n 2 3"], x: Inputs, mask: Mask) -> Surface:
        """The sphere in any frames: fields come in these, and go out in these."""
        fields = None
        if self.config.axial:
            fields = jnp.concatenate([x[:, 2:3], frame[:, :, 2]], axis=1)
        points = FramedPoints(x[:, :3], frame)
        return Surface(self._graph_in(frame, x, mask), points, all_pairs, fields)

    def _graph_in(self, frame: Float[Array, "n 2 3"], x: Inputs, mask: Mask) -> Graph:
        graph = super().graph(x, mask)
        points = FramedPoints(x[:, :3], frame)
        neighbours: FramedPoints = jax.tree.map(lambda leaf: leaf[graph.index], points)
        pairs = neighbour_pairs(points, neighbours)
        return dataclasses.replace(graph, offset=pairs.offset, transport=pairs.transport)
