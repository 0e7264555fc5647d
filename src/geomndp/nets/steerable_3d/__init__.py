"""O(3)-equivariant message passing with e3nn, for fields over space."""

from geomndp.nets.steerable_3d.network import Steerable3

__all__ = ["Steerable3"]
