r"""Azimuthal equidistant maps of the sphere: distances and directions from the centre are true.

With $\theta$ the angle to the centre, areas on the sphere are those of the map times
$\sin\theta / \theta$.
"""

from __future__ import annotations

import jax.numpy as jnp

from geomndp._types import Array, Float, Mask
from geomndp.geometry.geodesy import east_and_north
from geomndp.geometry.sphere import Sphere
from geomndp.linalg import zero_masked

SPHERE = Sphere(2)
UnitVector = Float[Array, " 3"]
SpherePoints = Float[Array, "n 3"]
MapPoints = Float[Array, "n 2"]


def centre_of(y: SpherePoints, mask: Mask | None) -> UnitVector:
    """Direction of the mean of unit vectors.

    Args:
        y: Unit vectors, shape (n, 3).
        mask: 1 for real rows, shape (n,), or None.

    Returns:
        A unit vector, shape (3,).
    """
    return SPHERE.retract(jnp.sum(zero_masked(y, mask), axis=0))


def to_map(centre: UnitVector, y: SpherePoints) -> MapPoints:
    """Coordinates about a point.

    Args:
        centre: Unit vector of the centre, shape (3,).
        y: Unit vectors, shape (n, 3).

    Returns:
        East and north in radians, shape (n, 2).
    """
    return SPHERE.log(jnp.broadcast_to(centre, y.shape), y) @ east_and_north(centre).T


def from_map(centre: UnitVector, q: MapPoints) -> SpherePoints:
    """Points of the sphere from their coordinates about a centre.

    Args:
        centre: Unit vector of the centre, shape (3,).
        q: East and north in radians, shape (n, 2).

    Returns:
        Unit vectors, shape (n, 3).
    """
    return SPHERE.exp(jnp.broadcast_to(centre, (len(q), 3)), q @ east_and_north(centre))


def log_map_area(q: MapPoints) -> Float[Array, " n"]:
    r"""Log of the map's area per area of the sphere, $-\log(\sin\theta / \theta)$.

    Args:
        q: East and north in radians, shape (n, 2).

    Returns:
        Nats to add to a log-density of the map to have that of the sphere, shape (n,).
    """
    angle = jnp.sqrt(jnp.sum(q**2, axis=1))
    return -jnp.log(jnp.sinc(angle / jnp.pi))
