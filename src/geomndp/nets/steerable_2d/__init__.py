"""O(2)-equivariant message passing for fields over the plane."""

from geomndp.nets.steerable_2d.network import Steerable2, Steerable2Config

__all__ = ["Steerable2", "Steerable2Config"]
