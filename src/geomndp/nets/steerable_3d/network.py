"""O(3)-equivariant message passing with e3nn (Geiger and Smidt 2022), for fields over R^3.

Also the paper's network for the plane, embedded in space: `space=2` pads locations and vectors with
a zero. That is the baseline of `Steerable2`, which needs no third dimension.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Times
from geomndp.equivariance import FieldType, irreps_of, spherical_basis
from geomndp.linalg import zero_masked
from geomndp.nets.covariates import covariate_features, num_covariate_features
from geomndp.nets.graph import Graph
from geomndp.nets.graph_network import AbstractGraphNet, GraphNetConfig
from geomndp.nets.layers import TimeEmbedding, clean, clean_inputs, zeroed
from geomndp.nets.steerable_3d.layer import (
    IrrepsLinear,
    SteerableLayer3D,
    edge_features,
    require_e3nn,
    standard,
)

MAX_ORDER, MAX_FEATURES = 6, 10_000
"""Beyond these, products of harmonics take minutes to make, and gigabytes."""


@renamed_arguments(kinds="representations")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Steerable3Config(GraphNetConfig):
    """Hyperparameters of `Steerable3`: those of `GraphNetConfig`, and some of its own.

    Args:
        space: Dimension of the inputs, 3, or 2 for a plane embedded in space.
        hidden: Irreps of the features, as e3nn writes them.
        width: Width of the MLPs of edges and times.
    """

    space: int = 3
    hidden: str = "12x0e+12x0o+4x1e+4x1o"

    def __post_init__(self):
        _validation.one_of("space", self.space, (2, 3))
        super().__post_init__()
        self._set("hidden", _checked_irreps(self.hidden))
        if self.space == 2 and not set(self.representations) <= {"scalar", "vector"}:
            got = self.representations
            raise ValueError(f"expected scalars and vectors in an embedded plane, got {got}")

    @property
    def field_type(self) -> FieldType:
        """Values over the plane or over space."""
        return FieldType(self.space, *self.representations)


def _checked_irreps(hidden: str) -> str:
    """Irreps in e3nn's own writing, refused where they could not be computed with."""
    irreps = require_e3nn().Irreps(hidden)
    order = max((irrep.l for _, irrep in irreps), default=MAX_ORDER + 1)
    if order > MAX_ORDER or sum(count * irrep.dim for count, irrep in irreps) > MAX_FEATURES:
        most = f"orders up to {MAX_ORDER} and {MAX_FEATURES} features"
        raise ValueError(f"expected hidden irreps of {most}, got {hidden!r:.80}")
    return str(irreps)


class Steerable3(AbstractGraphNet[Steerable3Config], tag="net/steerable-3d"):
    """Irreps `hidden` on a radius graph; tensor products with spherical harmonics up to order 2.

    Radial weights see the distance and the times of both ends. Arguments are those of
    `Steerable3Config`.
    """

    embed: IrrepsLinear
    time: TimeEmbedding
    layers: list[SteerableLayer3D]
    head: IrrepsLinear

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = Steerable3Config(*args, **options)
        e3nn, keys = require_e3nn(), jr.split(key, 4)
        values = irreps_of(self._embedded_type)
        self.time = TimeEmbedding(c.width, dtype=c.dtype, key=keys[0])
        scalars = c.width + num_covariate_features(c.covariate_periods)
        first = e3nn.Irreps(f"{scalars}x0e") + e3nn.Irreps(values)
        self.embed = IrrepsLinear(first, c.hidden, dtype=c.dtype, key=keys[1])
        self.layers = [
            SteerableLayer3D(c.hidden, c.width, c.num_radial, dtype=c.dtype, key=k)
            for k in jr.split(keys[2], c.num_layers)
        ]
        self.head = zeroed(IrrepsLinear(c.hidden, values, dtype=c.dtype, key=keys[3]))

    @property
    def _embedded_type(self) -> FieldType:
        """What the values are once the plane lies in space."""
        return FieldType(3, *self.config.representations)

    @property
    def local(self) -> bool:
        """Neighbours only."""
        return True

    def _basis(self, dtype) -> Float[Array, "q p"]:
        """From components to irreps, by way of vectors with a third component."""
        inside = self._embedded_type
        basis = spherical_basis(inside)
        if self.config.space == 2:
            kept, start = [], 0
            for size in inside.sizes:
                kept += range(start, start + (2 if size == 3 else size))
                start += size
            basis = basis[:, np.asarray(kept)]
        return jnp.asarray(basis, dtype)

    def prepare(self, x: Inputs, mask: Mask | None = None) -> Graph:
        """Neighbours of every point."""
        return self.graph(*clean_inputs(self, x, mask))

    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        return self.call_prepared(None, t, x, y, mask)

    def call_prepared(self, prepared, t, x, y, mask=None) -> Outputs:
        e3nn, c = require_e3nn(), self.config
        t, x, y, mask = clean(self, t, x, y, mask)
        with standard(), jax.default_matmul_precision("highest"):
            graph = self.graph(x, mask) if prepared is None else prepared
            describe = partial(edge_features, radius=c.radius, num=c.num_radial)
            basis, time = self._basis(y.dtype), self.time(t)
            values = e3nn.IrrepsArray(irreps_of(self._embedded_type), y @ basis.T)
            covariates = covariate_features(x[:, c.space :], c.covariate_periods)
            features = jnp.concatenate([time, covariates], axis=1)
            scalars = e3nn.IrrepsArray(f"{features.shape[1]}x0e", features)
            h = self.embed(e3nn.concatenate([scalars, values]))
            for layer in self.layers:
                h = h + layer(h, time, describe, graph)
            return zero_masked(self.head(h).array @ basis, mask)
