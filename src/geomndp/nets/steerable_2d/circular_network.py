"""Networks of complex channels of angular orders 0, 1, 2, on the plane or a curved surface.

All parameters are independent of the surface, of which the layers see offsets in the frame of a
point, and parallel transport where it is curved.
"""

from __future__ import annotations

import abc
import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Times, Values
from geomndp.equivariance import FieldType, circular_basis
from geomndp.linalg import zero_masked
from geomndp.nets.covariates import covariate_features, num_covariate_features
from geomndp.nets.graph import Graph
from geomndp.nets.graph_network import AbstractGraphNet
from geomndp.nets.layers import (
    TimeEmbedding,
    clean,
    clean_inputs,
    embed_times,
    linear,
    rms_norm,
    zeroed,
)
from geomndp.nets.steerable_2d.circular_config import CircularConfig
from geomndp.nets.steerable_2d.gaussian_pooling import Pairs, Pool, gaussian_pooling
from geomndp.nets.steerable_2d.global_pooling import DensityEmbedding, GlobalPooling
from geomndp.nets.steerable_2d.message_passing import (
    EdgeEmbedding,
    Neighbourhood,
    neighbourhood,
    sender,
)
from geomndp.nets.steerable_2d.o2_layers import (
    NUM_TYPES,
    Attention,
    EquivariantLinear,
    Features,
    SteerableLayer2D,
    add_scalars,
    per_part,
)
from geomndp.nets.steerable_2d.pooling_layouts import PoolingLayouts
from geomndp.nets.target_times import target_embedding


class Surface(NamedTuple):
    """What the network sees of the locations of one function."""

    graph: Graph
    points: Any
    """All that `pairs` takes of the points."""
    pairs: Callable[[Any, Any], Pairs]
    """Geometry of any rows of `points` and all of them."""
    fields: Float[Array, "n q"] | None = None
    """Fields that are known at every point beside the values."""
    layouts: PoolingLayouts = ()
    """How pooling sums over many points, none for a comparison of all pairs."""


class Prepared(NamedTuple):
    """What all evaluations at the same locations share."""

    near: Neighbourhood
    counts: Float[Array, "n h"] | None
    """Sums of the pooling weights of every point; None without pooling."""
    pool: Pool | None
    fields: Float[Array, "n q"] | None
    """Those of the surface."""


class AbstractCircularNet(AbstractGraphNet[CircularConfig]):
    """Message passing and pooling of circular channels; a subclass knows its surface.

    Everything that depends on the inputs alone (graph, angles, radial weights) is computed once for
    all functions that share them under `vmap`.
    """

    embed: EquivariantLinear
    side: eqx.nn.Linear
    time: TimeEmbedding
    gate: eqx.nn.Linear
    edge: EdgeEmbedding
    layers: list[SteerableLayer2D]
    attentions: list[Attention]
    smoothings: list[GlobalPooling]  # the name of its tensors in model files
    density: DensityEmbedding | None
    head: EquivariantLinear
    target_time: TimeEmbedding | None

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        config = cast(CircularConfig, self.config_type(*args, **options))
        self.config = config
        c, w, half = config.channels, config.width, max(config.width // 2, 1)
        keys, dtype = jr.split(key, 8), config.dtype
        input_channels = circular_basis(self.input_type).shape[2]
        output_channels = circular_basis(self.field_type).shape[2]
        self.embed = EquivariantLinear(input_channels, c, dtype=dtype, key=keys[0])
        side_size = 1 + w
        if config.num_invariant_inputs:
            side_size += num_covariate_features(config.covariate_periods)
        self.side = eqx.nn.Linear(side_size, c, dtype=dtype, key=keys[1])
        self.time = TimeEmbedding(w, dtype=dtype, key=keys[2])
        self.gate = eqx.nn.Linear(w, NUM_TYPES * c, dtype=dtype, key=keys[3])
        self.edge = EdgeEmbedding(config.radius, config.num_radial, half, dtype=dtype, key=keys[4])
        layer_keys, attention_keys = (jr.split(k, config.num_layers) for k in keys[5:7])
        self.layers = [SteerableLayer2D(c, w, half, dtype=dtype, key=k) for k in layer_keys]
        heads = getattr(config, "num_heads", 0)
        self.attentions = [Attention(c, heads, dtype=dtype, key=k) for k in attention_keys if heads]
        pooling_keys = jr.split(jr.fold_in(key, 8), config.num_layers)
        widths = config.num_pooling_widths
        pooling = functools.partial(GlobalPooling, angular=config.angular_pooling, dtype=dtype)
        self.smoothings = [pooling(c, w, widths, key=k) for k in pooling_keys if widths]
        self.density = None
        if config.density_features:
            density_key = jr.fold_in(key, 9)
            self.density = DensityEmbedding(w, widths, dtype=dtype, key=density_key)
        self.head = zeroed(EquivariantLinear(c, output_channels, dtype=dtype, key=keys[7]))
        self.target_time = target_embedding(config, key=key)

    @abc.abstractmethod
    def _surface(self, x: Inputs, mask: Mask) -> Surface:
        """What the network sees of the locations."""

    @property
    def input_type(self) -> FieldType:
        """All fields that enter."""
        return FieldType(2, *(self.config.representations * self.config.num_input_fields))

    @property
    def local(self) -> bool:
        """Whether there is neither attention nor pooling over all points."""
        return not (self.attentions or self.smoothings)

    @property
    def attends(self) -> bool:
        """Whether there is attention: pooling averages, however many points there are."""
        return bool(self.attentions)

    def __call__(self, t: Times, x: Inputs, y: Values, mask: Mask | None = None) -> Outputs:
        return self.call_prepared(None, t, x, y, mask)

    def prepare(self, x: Inputs, mask: Mask | None = None) -> Prepared:
        """Neighbours, what is known of their edges, and the weights of the pooling."""
        x, mask = clean_inputs(self, x, mask)
        return self._prepared(self._surface(x, mask), mask, x.dtype)

    def call_prepared(self, prepared, t, x, y, mask=None) -> Outputs:
        t, x, y, mask = clean(self, t, x, y, mask)
        if prepared is None:
            prepared = self._prepared(self._surface(x, mask), mask, y.dtype)
        with self._precision(y.dtype) as dtype:
            return zero_masked(self._odd_part(prepared, t, x, y, mask, dtype), mask)

    @contextlib.contextmanager
    def _precision(self, dtype: Any) -> Iterator[jnp.dtype]:
        """The dtype of matrix products for values of a dtype, exact unless it is a short one."""
        dtype = jnp.dtype(self.config.compute_dtype or dtype)
        exact = jax.default_matmul_precision("highest")
        with exact if dtype != jnp.bfloat16 else contextlib.nullcontext():
            yield dtype

    def _prepared(self, surface: Surface, mask: Mask, value_dtype: Any) -> Prepared:
        config, counts, pool = self.config, None, None
        with self._precision(value_dtype) as dtype:
            if self.smoothings:
                widths = config.radius, config.num_pooling_widths
                geometry = config.angular_pooling, surface.layouts, surface.pairs
                counts, pool = gaussian_pooling(surface.points, mask, *widths, dtype, *geometry)
            near = neighbourhood(self.edge, surface.graph, dtype)
            return Prepared(near, counts, pool, surface.fields)

    def _odd_part(self, prepared: Prepared, t, x, y, mask, dtype) -> Outputs:
        if not self.config.odd:
            return self._outputs(prepared, t, x, y, mask, dtype)
        both = jax.vmap(lambda y: self._outputs(prepared, t, x, y, mask, dtype))(jnp.stack([y, -y]))
        return 0.5 * (both[0] - both[1])

    def _outputs(self, prepared: Prepared, t, x, y, mask, dtype) -> Outputs:
        config, near = self.config, prepared.near
        share, send = jnp.log1p(near.weight).astype(x.dtype), sender(self.edge, near)
        if prepared.fields is not None:
            y = jnp.concatenate([y, prepared.fields], axis=1)
        values = jnp.asarray(circular_basis(self.input_type).reshape(-1, y.shape[1]), y.dtype)
        outputs = jnp.asarray(circular_basis(self.field_type).reshape(-1, self.output_dim), y.dtype)
        time = embed_times(self, t)
        h = self.embed(jnp.matmul(y, values.T)) * (1 + per_part(linear(self.gate, time)))
        sides = [share, time]
        if config.num_invariant_inputs:
            covariates = x[:, config.location_dim :]
            sides.insert(1, covariate_features(covariates, config.covariate_periods))
        h = add_scalars(h, linear(self.side, jnp.concatenate(sides, axis=1)))
        if self.density is not None:
            assert prepared.counts is not None
            time = time + self.density(prepared.counts, share)
        h = self._updated(h, time.astype(dtype), x, mask, send, prepared.pool)
        return jnp.matmul(self.head(rms_norm(h)), outputs)

    def _updated(self, h, time, x, mask, send, pool) -> Features:
        """Features after all layers: one program, since only their parameters differ."""
        config, dtype = self.config, time.dtype
        location = x[:, : config.location_dim]

        def update(h, parts):
            layer, pooling, attention = parts
            h = h + layer(rms_norm(h).astype(dtype), time, send).astype(h.dtype)
            if pooling is not None:
                h = h + pooling(rms_norm(h).astype(dtype), time, pool).astype(h.dtype)
            if attention is not None:
                backend = getattr(config, "attention_backend", None)
                tokens = rms_norm(h).astype(dtype)
                h = h + attention(tokens, location, config.radius, mask, backend).astype(h.dtype)
            return h, None

        per_layer = itertools.zip_longest(self.layers, self.smoothings, self.attentions)
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *per_layer)
        return jax.lax.scan(update, h, stacked)[0]
