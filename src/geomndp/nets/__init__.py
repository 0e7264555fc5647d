"""Networks that see one function at a time: net(t, x, y, mask) -> (n, p)."""

from geomndp._deprecated import deprecated_names
from geomndp.nets.base import AbstractNet, NetConfig, build, with_capacity
from geomndp.nets.bidimensional_attention import (
    BiDimensionalAttention,
    BiDimensionalAttentionConfig,
)
from geomndp.nets.changed_config import extend_network, with_config, with_parameters_of
from geomndp.nets.common_capacity import with_common_capacity
from geomndp.nets.graph_network import (
    AbstractGraphNet,
    GraphNetConfig,
    graph_nets,
    neighbour_counts,
    num_dropped_edges,
)
from geomndp.nets.layers import clean, has_target_times
from geomndp.nets.relative_attention import (
    RelativeAttention,
    RelativeAttentionConfig,
)
from geomndp.nets.relative_position_bias import TransformerConfig
from geomndp.nets.spherical_attention import (
    SphericalAttention,
    SphericalAttentionConfig,
)
from geomndp.nets.steerable_2d import Steerable2, Steerable2Config
from geomndp.nets.steerable_2d.circular_config import CircularNetConfig
from geomndp.nets.steerable_2d.map_network import SteerableMap, SteerableMapConfig
from geomndp.nets.steerable_3d import Steerable3, Steerable3Config
from geomndp.nets.steerable_sphere import SteerableSphere, SteerableSphereConfig
from geomndp.nets.target_times import toward

__all__ = [
    "AbstractGraphNet",
    "AbstractNet",
    "BiDimensionalAttention",
    "BiDimensionalAttentionConfig",
    "CircularNetConfig",
    "GraphNetConfig",
    "NetConfig",
    "RelativeAttention",
    "RelativeAttentionConfig",
    "SphericalAttention",
    "SphericalAttentionConfig",
    "Steerable2",
    "Steerable2Config",
    "Steerable3",
    "Steerable3Config",
    "SteerableMap",
    "SteerableMapConfig",
    "SteerableSphere",
    "SteerableSphereConfig",
    "TransformerConfig",
    "build",
    "clean",
    "extend_network",
    "graph_nets",
    "has_target_times",
    "neighbour_counts",
    "num_dropped_edges",
    "toward",
    "with_capacity",
    "with_common_capacity",
    "with_config",
    "with_parameters_of",
]
deprecated_names(
    __name__,
    {
        "TrackAttention": "SphericalAttention",
        "grown": "extend_network",
        "missed_neighbours": "num_dropped_edges",
        "reconfigure": "with_config",
    },
)
