"""Tangent vectors of the sphere as (east, north) components, and as vectors of R^3."""

from __future__ import annotations

import jax.numpy as jnp

from geomndp._types import Array, Float
from geomndp.geometry.geodesy import east_and_north

Components = Float[Array, "*n 2"]
SpherePositions = Float[Array, "*n 3"]


def to_ambient(x: SpherePositions, y: Components) -> Float[Array, "*n 3"]:
    """Tangent vectors of R^3 from components.

    Args:
        x: Unit vectors, shape (..., 3).
        y: East and north components in the frames of `geodesy.east_and_north`, shape (..., 2).

    Returns:
        Vectors at right angles to x, shape (..., 3).
    """
    return jnp.einsum("...a,...ad->...d", y, east_and_north(x), precision="highest")


def from_ambient(x: SpherePositions, v: Float[Array, "*n 3"]) -> Components:
    """Components of the tangent part of vectors of R^3.

    Args:
        x: Unit vectors, shape (..., 3).
        v: Vectors, shape (..., 3); what is parallel to x does not count.

    Returns:
        East and north components, shape (..., 2).
    """
    return jnp.einsum("...d,...ad->...a", v, east_and_north(x), precision="highest")


def rotate_field(
    rotation: Float[Array, "3 3"], x: SpherePositions, y: Components
) -> tuple[SpherePositions, Components]:
    """Move a tangent field by a rotation or reflection of the sphere, its vectors with it.

    Args:
        rotation: Orthogonal matrix, shape (3, 3).
        x: Unit vectors, shape (..., 3).
        y: East and north components there, shape (..., 2).

    Returns:
        The moved points, and the components in the frames there.
    """
    turn = rotation.astype(x.dtype)
    moved = jnp.einsum("ij,...j->...i", turn, x, precision="highest")
    vectors = jnp.einsum("ij,...j->...i", turn, to_ambient(x, y), precision="highest")
    return moved, from_ambient(moved, vectors)
