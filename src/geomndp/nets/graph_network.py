"""Networks on a radius graph, and their capacity for concrete points: no neighbour is dropped.

The number of slots per point is part of a compiled program. It is therefore rounded up to one of
few bucket sizes, 24, 32, 40, 48, 56, ..., and never below the network's own.
"""

from __future__ import annotations

import abc
import copy
import dataclasses
import itertools
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import bucket
from geomndp._types import Array, Float, Inputs, Mask
from geomndp.equivariance import FieldType
from geomndp.linalg import zero_masked
from geomndp.nets.base import AbstractNet
from geomndp.nets.cell_list import MARGIN
from geomndp.nets.covariates import CovariateConfig
from geomndp.nets.graph import CANDIDATES, Graph, radius_graph

MOST_TRACED = 1024
ROUNDING = 1e-5  # of the radius: the device compares rounded distances


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphNetConfig(CovariateConfig, abc.ABC):
    """Hyperparameters of a network on a radius graph; inputs and outputs follow from the field.

    Args:
        representations: What the values are, such as ("scalar", "vector"): see
            `equivariance.FieldType`.
        num_invariant_inputs: Further columns of x, after those of the location, that do not rotate
            with it: covariates.
        periods: Period of every column of x, zero where it has none, as those of the location must;
            empty where none has one.
        width: Width of the MLPs.
        num_layers: Number of message-passing layers.
        radius: Points nearer than this are neighbours, in units of the inputs.
        max_neighbours: Neighbours per point for which there is room.
        num_radial: Number of radial basis functions.
        dtype: Dtype of the parameters.
    """

    input_dim: int = dataclasses.field(init=False)
    output_dim: int = dataclasses.field(init=False)
    representations: tuple[str, ...] = dataclasses.field(default=("vector",), kw_only=False)
    width: int = 64
    num_layers: int = 5
    radius: float = 2.0
    max_neighbours: int = 24
    num_radial: int = 12

    def __post_init__(self):
        _validation.at_least(0, num_invariant_inputs=self.num_invariant_inputs)
        self._set("input_dim", self.location_dim + self.num_invariant_inputs)
        self._set("output_dim", self.field_type.size)
        super().__post_init__()
        if any(self.periods[: self.location_dim]):
            got = self.periods
            raise ValueError(f"expected periods of covariates only, not of a location, got {got}")
        _validation.at_least(1, width=self.width, num_layers=self.num_layers)
        _validation.at_least(1, max_neighbours=self.max_neighbours)
        _validation.at_least(2, num_radial=self.num_radial)
        _validation.positive(radius=self.radius)

    @property
    @abc.abstractmethod
    def field_type(self) -> FieldType:
        """Space of the inputs, and how values transform with it."""

    @property
    def location_dim(self) -> int:
        """Columns of a location, the first of x."""
        return self.field_type.dim

    @property
    def search_radius(self) -> float:
        """The radius as a distance of the columns of locations."""
        return self.radius


GraphConfig = TypeVar("GraphConfig", bound=GraphNetConfig)


class AbstractGraphNet(AbstractNet[GraphConfig]):
    """Message passing between points within a radius, equivariant under rigid transforms.

    Its `max_neighbours` grows with the points that it is asked about: see `with_capacity`.
    """

    has_graph = True

    @property
    def field_type(self) -> FieldType:
        """Space of the inputs, and how values transform with it."""
        return self.config.field_type

    @property
    def num_relative_inputs(self) -> int:
        """The location; other inputs are absolute."""
        return self.field_type.dim

    def graph(self, x: Inputs, mask: Mask) -> Graph:
        """Neighbours of every point, of inputs x (n, d) and mask (n,)."""
        config = self.config
        location = x[:, : config.location_dim]
        return radius_graph(location, mask, config.search_radius, config.max_neighbours)

    def with_room(self, point_sets: tuple, masks: tuple) -> AbstractNet:
        """The network with a larger `max_neighbours` if the points need it, else itself.

        Where JAX traces the points, whose values the shape of a program cannot depend on, there is
        room for all points to be neighbours of each other, at most `MOST_TRACED` of them.

        Args:
            point_sets: Sets of points (n, d) of one function.
            masks: One mask (n,) or (n, g) per set, or None.
        """
        if all(map(_validation.concrete, (*point_sets, *masks))):
            pairs = zip(point_sets, masks, strict=True)
            count = _needed(self, [present_rows(x, m) for x, m in pairs])
        else:
            count = sum(map(len, point_sets)) - 1
            if count >= MOST_TRACED:
                raise ValueError(
                    f"expected at most {MOST_TRACED} points of a graph network inside jit or vmap, "
                    f"got {count + 1}: call it outside, where the neighbours can be counted"
                )
        if count <= self.config.max_neighbours:
            return self
        net = copy.copy(self)  # no parameter depends on it, and `with_config` takes a while
        config = self.config.replace(max_neighbours=neighbour_bucket(count))
        object.__setattr__(net, "config", config)
        return net


def present_rows(x: Any, mask: Any) -> np.ndarray:
    """Rows of concrete points (n, d) that are no padding, in float64.

    Args:
        x: Points (n, d).
        mask: (n,), or (n, g) with one column per group of outputs, any of which counts; or None.
    """
    points = np.asarray(x, float)
    if mask is None:
        return points
    present = np.asarray(mask) > 0
    return points[present if present.ndim == 1 else present.any(axis=1)]


def graph_nets(tree: Any) -> list[AbstractGraphNet]:
    """All graph networks inside a tree, such as a score or a model."""
    leaves = jax.tree.leaves(tree, is_leaf=lambda node: isinstance(node, AbstractGraphNet))
    return [leaf for leaf in leaves if isinstance(leaf, AbstractGraphNet)]


def num_dropped_edges(net: AbstractGraphNet, x: Inputs, mask: Mask | None = None) -> Array:
    """Number of pairs within the radius for which `max_neighbours` leaves no room.

    Zero where the graph is exact: then the network is equivariant to rounding.

    Args:
        net: A graph network.
        x: Inputs (n, d).
        mask: (n,), zero where a row is padding.
    """
    mask = jnp.ones(len(x), dtype=x.dtype) if mask is None else mask
    return net.graph(zero_masked(x, mask), mask).num_dropped


def neighbour_counts(x: Float[np.ndarray, "n d"], radius: float) -> np.ndarray:
    """Number of other points within the radius of each point, coincident ones included.

    Args:
        x: Locations (n, d).
        radius: In units of the inputs.
    """
    from scipy.spatial import KDTree

    if len(x) == 0:
        return np.zeros(0, int)
    reach = radius * (1 + ROUNDING)
    return np.asarray(KDTree(x).query_ball_point(x, reach, return_length=True)) - 1


def neighbour_bucket(count: int) -> int:
    """Smallest of 24, 32, 40, 48, 56, 64, 80, ... that is not below the count."""
    return max(24, bucket(count))


def _needed(net: AbstractGraphNet, point_sets: list[np.ndarray]) -> int:
    """Slots with which the network's graph of these points is complete, padded or not.

    Many rows are searched by cells, where a range has room for `CANDIDATES` times the slots. The
    cells start at the least coordinates: those of one set are not those of all.
    """
    d, radius = net.config.location_dim, net.config.search_radius
    together = np.concatenate(point_sets)[:, :d]
    most = int(np.max(neighbour_counts(together, radius), initial=0))
    searched = [together, *(points[:, :d] for points in point_sets if len(point_sets) > 1)]
    longest = max(_longest_range(points, radius) for points in searched)
    return max(most, -(-longest // CANDIDATES))


def _longest_range(points: np.ndarray, radius: float) -> int:
    """Most points in any three cells of `cell_list.candidates` in a row along the last dimension.

    A point that lies on the boundary of cells, to rounding, counts in each of them.
    """
    if len(points) == 0:
        return 0
    position = (points - points.min(axis=0)) / (MARGIN * radius)
    shifts = itertools.product((-ROUNDING, ROUNDING), repeat=position.shape[1])
    touched = np.stack([np.floor(position + np.asarray(shift)) for shift in shifts], axis=1)
    *others, last = np.moveaxis(touched, -1, 0)
    keys = last.astype(np.int64) + 3
    side = int(keys.max()) + 1
    for column in others:
        known, number = np.unique(column, return_inverse=True)
        keys = keys + side * number.reshape(keys.shape)
        side *= len(known)
    keys = np.sort(keys, axis=1)
    first = np.concatenate([np.ones((len(keys), 1), bool), np.diff(keys, axis=1) > 0], axis=1)
    cells = keys[first]
    _, counts = np.unique(np.concatenate([cells, cells - 1, cells - 2]), return_counts=True)
    return int(counts.max())
