"""Networks that see one function at a time: net(t, x, y, mask) -> (n, p)."""

from geomndp.nets.base import AbstractNet
from geomndp.nets.bidimensional import BiDimensionalAttention
from geomndp.nets.build import build, reconfigure
from geomndp.nets.relative import RelativeAttention
from geomndp.nets.tracks import TrackAttention

__all__ = [
    "AbstractNet",
    "BiDimensionalAttention",
    "RelativeAttention",
    "TrackAttention",
    "build",
    "reconfigure",
]
