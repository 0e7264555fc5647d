"""Networks that see one function at a time: net(t, x, y, mask) -> (n, p)."""

from geomndp.nets.base import AbstractNet
from geomndp.nets.bidimensional import BiDimensionalAttention
from geomndp.nets.build import build, grown, reconfigure
from geomndp.nets.capacity import graph_nets, neighbour_counts, with_capacity
from geomndp.nets.relative import RelativeAttention
from geomndp.nets.steerable2 import Steerable2, missed_neighbours
from geomndp.nets.steerable3 import Steerable3
from geomndp.nets.tracks import TrackAttention

__all__ = [
    "AbstractNet",
    "BiDimensionalAttention",
    "RelativeAttention",
    "Steerable2",
    "Steerable3",
    "TrackAttention",
    "build",
    "graph_nets",
    "grown",
    "missed_neighbours",
    "neighbour_counts",
    "reconfigure",
    "with_capacity",
]
