"""Message passing for scalar and tangent fields over the sphere, equivariant under O(3)."""

from geomndp.nets.steerable_sphere.network import SteerableSphere, SteerableSphereConfig

__all__ = ["SteerableSphere", "SteerableSphereConfig"]
