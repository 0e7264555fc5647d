"""O(3)-equivariant message passing with e3nn (Geiger and Smidt 2022), for fields over R^3.

Also the paper's network for the plane, embedded in space: `space=2` pads places and vectors with a
zero. That is the baseline of `Steerable2`, which needs no third dimension.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Times
from geomndp.equivariance import FieldType, irreps_of, spherical_basis
from geomndp.linalg import zero_masked
from geomndp.nets.base import AbstractNet, clean, float_name
from geomndp.nets.embeddings import TimeEmbedding
from geomndp.nets.graph import Graph, radius_graph
from geomndp.nets.layers import zeroed
from geomndp.nets.steerable_3d.layer import (
    IrrepsLinear,
    SteerableLayer3D,
    edge_features,
    require_e3nn,
    standard,
)

MAX_ORDER, MAX_FEATURES = 6, 10_000
"""Beyond these, products of harmonics take minutes to make, and gigabytes."""


def _features(hidden: str) -> str:
    """Irreps in e3nn's own writing, refused where they could not be computed with."""
    irreps = require_e3nn().Irreps(hidden)
    order = max((irrep.l for _, irrep in irreps), default=MAX_ORDER + 1)
    if order > MAX_ORDER or sum(count * irrep.dim for count, irrep in irreps) > MAX_FEATURES:
        most = f"orders up to {MAX_ORDER} and {MAX_FEATURES} features"
        raise ValueError(f"expected hidden irreps of {most}, got {hidden!r:.80}")
    return str(irreps)


class Steerable3(AbstractNet):
    """Irreps `hidden` on a radius graph; tensor products with spherical harmonics up to order 2.

    Radial weights see the distance and the times of both ends.
    """

    embed: IrrepsLinear
    time: TimeEmbedding
    layers: list[SteerableLayer3D]
    head: IrrepsLinear
    kinds: tuple[str, ...] = eqx.field(static=True)
    space: int = eqx.field(static=True)
    hidden: str = eqx.field(static=True)
    width: int = eqx.field(static=True)
    num_layers: int = eqx.field(static=True)
    radius: float = eqx.field(static=True)
    max_neighbours: int = eqx.field(static=True)
    num_radial: int = eqx.field(static=True)
    dtype: str = eqx.field(static=True)
    kind: ClassVar[str] = "steerable3"

    def __init__(
        self,
        kinds=("vector",),
        *,
        space: int = 3,
        hidden: str = "12x0e+12x0o+4x1e+4x1o",
        width: int = 64,
        num_layers: int = 5,
        radius: float = 2.0,
        max_neighbours: int = 24,
        num_radial: int = 12,
        dtype: str | None = None,
        key: PRNGKeyArray,
    ):
        """Make a network; `radius` in units of the inputs, `width` of edges' and times' MLPs."""
        e3nn = require_e3nn()
        _validation.one_of("space", space, (2, 3))
        _validation.at_least(1, width=width, num_layers=num_layers, max_neighbours=max_neighbours)
        _validation.at_least(2, num_radial=num_radial)
        _validation.positive(radius=radius)
        self.kinds, self.space, self.hidden = tuple(kinds), space, _features(hidden)
        if space == 2 and not set(self.kinds) <= {"scalar", "vector"}:
            raise ValueError(f"expected scalars and vectors in an embedded plane, got {self.kinds}")
        self.width, self.num_layers, self.radius = width, num_layers, radius
        self.max_neighbours, self.num_radial = max_neighbours, num_radial
        self.dtype = float_name(dtype)
        keys = jr.split(key, 4)
        values = irreps_of(FieldType(3, *self.kinds))
        self.time = TimeEmbedding(width, dtype=self.dtype, key=keys[0])
        first = e3nn.Irreps(f"{width}x0e") + e3nn.Irreps(values)
        self.embed = IrrepsLinear(first, self.hidden, dtype=self.dtype, key=keys[1])
        self.layers = [
            SteerableLayer3D(self.hidden, width, num_radial, dtype=self.dtype, key=k)
            for k in jr.split(keys[2], num_layers)
        ]
        self.head = zeroed(IrrepsLinear(self.hidden, values, dtype=self.dtype, key=keys[3]))

    @property
    def codomain(self) -> FieldType:
        """What the values are."""
        return FieldType(self.space, *self.kinds)

    @property
    def input_dim(self) -> int:
        return self.space

    @property
    def local(self) -> bool:
        return True

    @property
    def output_dim(self) -> int:
        return self.codomain.size

    def graph(self, x: Inputs, mask: Mask) -> Graph:
        """Neighbours of every point."""
        return radius_graph(x, mask, self.radius, self.max_neighbours)

    def _basis(self, dtype) -> Float[Array, "q p"]:
        """From components to irreps, by way of vectors with a third component."""
        inside = FieldType(3, *self.kinds)
        basis = spherical_basis(inside)
        if self.space == 2:
            kept, start = [], 0
            for size in inside.sizes:
                kept += range(start, start + (2 if size == 3 else size))
                start += size
            basis = basis[:, np.asarray(kept)]
        return jnp.asarray(basis, dtype)

    @property
    def num_relative_inputs(self) -> int:
        """The place in space."""
        return self.input_dim

    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        """Return the outputs at the points, in the dtype of y."""
        e3nn = require_e3nn()
        t, x, y, mask = clean(self, t, x, y, mask)
        with standard(), jax.default_matmul_precision("highest"):
            graph = self.graph(x, mask)
            describe = partial(edge_features, radius=self.radius, num=self.num_radial)
            basis, time = self._basis(y.dtype), self.time(t)
            values = e3nn.IrrepsArray(irreps_of(FieldType(3, *self.kinds)), y @ basis.T)
            scalars = e3nn.IrrepsArray(f"{self.width}x0e", time)
            h = self.embed(e3nn.concatenate([scalars, values]))
            for layer in self.layers:
                h = h + layer(h, time, describe, graph)
            return zero_masked(self.head(h).array @ basis, mask)
