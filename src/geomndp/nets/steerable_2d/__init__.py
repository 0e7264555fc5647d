"""O(2)-equivariant message passing for fields over the plane."""

from geomndp.nets.steerable_2d.network import Steerable2

__all__ = ["Steerable2"]
