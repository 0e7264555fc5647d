"""O(3)-equivariant message passing with e3nn, for fields over space."""

from geomndp.nets.steerable_3d.network import Steerable3, Steerable3Config

__all__ = ["Steerable3", "Steerable3Config"]
