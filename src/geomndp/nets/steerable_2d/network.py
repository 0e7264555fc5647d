r"""O(2)-equivariant message passing for fields over the plane, native in circular harmonics."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import functools
import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Inputs, Mask, Outputs, PRNGKeyArray, Times, Values
from geomndp.equivariance import FieldType, circular_basis
from geomndp.linalg import zero_masked
from geomndp.nets.base import check_compute
from geomndp.nets.covariates import covariate_features, num_covariate_features
from geomndp.nets.graph_network import AbstractGraphNet, GraphNetConfig
from geomndp.nets.layers import TimeEmbedding, clean, linear, rms_norm, zeroed
from geomndp.nets.steerable_2d.cell_layout import CellLayout, pooling_layouts
from geomndp.nets.steerable_2d.global_pooling import (
    DensityEmbedding,
    GlobalPooling,
    gaussian_pooling,
)
from geomndp.nets.steerable_2d.message_passing import EdgeEmbedding, message_passing
from geomndp.nets.steerable_2d.o2_layers import (
    NUM_TYPES,
    Attention,
    EquivariantLinear,
    Features,
    SteerableLayer2D,
    add_scalars,
    per_part,
)
from geomndp.nets.target_times import embed_times, target_embedding


@renamed_arguments(
    kinds="representations",
    side_dim="num_invariant_inputs",
    num_scales="num_pooling_widths",
    implementation="attention_backend",
)
@dataclasses.dataclass(frozen=True, kw_only=True)
class Steerable2Config(GraphNetConfig):
    """Hyperparameters of `Steerable2`.

    Args:
        representations: What the values are, such as ("scalar", "vector"): see
            `equivariance.FieldType`.
        num_invariant_inputs: Further columns of x, after the two of the plane, that do not rotate
            with it: covariates (height, land or sea, or the location itself, which breaks the
            symmetry softly).
        periods: Period of every column of x, zero where it has none, as the first two must; empty
            where none has one.
        channels: Channels of every angular order, divisible by `num_heads` and
            `num_pooling_widths` where these are not zero.
        width: Width of the MLPs of times and non-linearities.
        num_layers: Number of message-passing layers.
        radius: Points nearer than this are neighbours, in units of the inputs.
        max_neighbours: Neighbours per point for which there is room.
        num_radial: Number of radial basis functions.
        num_heads: Attention heads over all points, in time and memory quadratic in the points; zero
            for none.
        num_pooling_widths: Widths of Gaussian averages over all points in every layer, in time
            quadratic in the points; zero for none.
        angular_pooling: Whether these averages have angular moments too, for fields of gradients.
        density_features: Whether every layer sees how many points are near each, for irregular
            points; needs `num_pooling_widths`.
        odd: Whether to take the odd part in y, (f(y) - f(-y)) / 2, in twice the time: for laws that
            are symmetric under y -> -y, whose scores are odd. Vectors and pseudo-vectors are then
            one.
        num_input_fields: Fields of the outputs' type that enter: 1 for the noised values, 2 with
            the score of a Gaussian process beside them (see `NetworkScore.base`).
        compute_dtype: "bfloat16" for matrix products with float32 parameters and residuals; None
            follows y.
        attention_backend: `implementation` of jax.nn.dot_product_attention.
        target_times: Whether points have a second time, that to which a flow map leads (see
            `geomndp.nets.target_times`).
        dtype: Dtype of the parameters.
    """

    channels: int = 24
    num_heads: int = 0
    num_pooling_widths: int = 0
    odd: bool = False
    compute_dtype: str | None = None
    attention_backend: str | None = None
    num_input_fields: int = 1
    density_features: bool = False
    angular_pooling: bool = False
    target_times: bool = False

    def __post_init__(self):
        _validation.at_least(1, channels=self.channels, num_input_fields=self.num_input_fields)
        super().__post_init__()
        for name in ("num_heads", "num_pooling_widths"):
            number = getattr(self, name)
            _validation.at_least(0, **{name: number})
            if number and self.channels % number:
                got = self.channels
                raise ValueError(f"expected channels divisible by {name}={number}, got {got}")
        for name in ("density_features", "angular_pooling"):
            if getattr(self, name) and not self.num_pooling_widths:
                raise ValueError(f"expected num_pooling_widths > 0 with {name}, got 0")
        check_compute(self.compute_dtype, self.attention_backend)

    @property
    def field_type(self) -> FieldType:
        """Values over the plane."""
        return FieldType(2, *self.representations)


class Steerable2(AbstractGraphNet[Steerable2Config], tag="net/steerable-2d"):
    r"""Complex channels of angular orders 0, 1, 2 on a radius graph, for values of any type.

    Rotations multiply channels of order m by a phase, reflections conjugate them, and every layer
    commutes with both. Everything that depends on the inputs alone (graph, angles, radial weights)
    is computed once for all functions that share them under `vmap`. Arguments are those of
    `Steerable2Config`.

    Example:
        `net = gn.nets.Steerable2(("scalar", "vector"), radius=2.0, key=jr.key(0))`
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
    layouts: tuple[CellLayout, ...] = eqx.field(static=True)
    """How pooling sums over many points in linear cost, none for few: see `with_room`."""

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = config = Steerable2Config(*args, **options)
        c, w, half = config.channels, config.width, max(config.width // 2, 1)
        keys, dtype = jr.split(key, 8), config.dtype
        input_channels = circular_basis(self.input_type).shape[2]
        output_channels = circular_basis(self.field_type).shape[2]
        self.embed = EquivariantLinear(input_channels, c, dtype=dtype, key=keys[0])
        side_size = 1 + num_covariate_features(config.covariate_periods) + w
        self.side = eqx.nn.Linear(side_size, c, dtype=dtype, key=keys[1])
        self.time = TimeEmbedding(w, dtype=dtype, key=keys[2])
        self.gate = eqx.nn.Linear(w, NUM_TYPES * c, dtype=dtype, key=keys[3])
        self.edge = EdgeEmbedding(config.radius, config.num_radial, half, dtype=dtype, key=keys[4])
        layer_keys, attention_keys = (jr.split(k, config.num_layers) for k in keys[5:7])
        self.layers = [SteerableLayer2D(c, w, half, dtype=dtype, key=k) for k in layer_keys]
        heads = config.num_heads
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
        self.target_time = target_embedding(config.target_times, w, dtype=dtype, key=key)
        self.layouts = ()

    @property
    def input_type(self) -> FieldType:
        """All fields that enter."""
        return FieldType(2, *(self.config.representations * self.config.num_input_fields))

    @property
    def local(self) -> bool:
        """Whether there is neither attention nor pooling over all points."""
        return not (self.config.num_heads or self.config.num_pooling_widths)

    def with_room(self, point_sets: tuple, masks: tuple) -> Steerable2:
        """The network with room for these points: see `AbstractGraphNet.with_room`.

        Pooling over more than `cell_layout.MOST_COMPARED` concrete points takes cost linear in
        their number, and errs by at most `cell_layout.TOLERANCE` of the largest feature.
        """
        net = super().with_room(point_sets, masks)
        assert isinstance(net, Steerable2)
        config = self.config
        widths = config.radius, config.num_pooling_widths, config.angular_pooling
        layouts = pooling_layouts(point_sets, masks, *widths)
        if layouts == net.layouts:
            return net
        net = copy.copy(net)
        object.__setattr__(net, "layouts", layouts)
        return net

    def __call__(self, t: Times, x: Inputs, y: Values, mask: Mask | None = None) -> Outputs:
        t, x, y, mask = clean(self, t, x, y, mask)
        dtype = jnp.dtype(self.config.compute_dtype or y.dtype)
        exact = jax.default_matmul_precision("highest")
        with exact if dtype != jnp.bfloat16 else contextlib.nullcontext():
            return zero_masked(self._odd_part(t, x, y, mask, dtype), mask)

    def _odd_part(self, t, x, y, mask, dtype) -> Outputs:
        if not self.config.odd:
            return self._outputs(t, x, y, mask, dtype)
        both = jax.vmap(lambda y: self._outputs(t, x, y, mask, dtype))(jnp.stack([y, -y]))
        return 0.5 * (both[0] - both[1])

    def _outputs(self, t, x, y, mask, dtype) -> Outputs:
        config, graph = self.config, self.graph(x, mask)
        share, send = message_passing(self.edge, graph, dtype)
        values = jnp.asarray(circular_basis(self.input_type).reshape(-1, self.value_dim), y.dtype)
        outputs = jnp.asarray(circular_basis(self.field_type).reshape(-1, self.output_dim), y.dtype)
        time = embed_times(self, t)
        h = self.embed(jnp.matmul(y, values.T)) * (1 + per_part(linear(self.gate, time)))
        covariates = covariate_features(x[:, 2:], config.covariate_periods)
        h = add_scalars(h, linear(self.side, jnp.concatenate([share, covariates, time], axis=1)))
        pool = None
        if self.smoothings:
            widths = config.radius, config.num_pooling_widths
            options = config.angular_pooling, self.layouts
            counts, pool = gaussian_pooling(x[:, :2], mask, *widths, dtype, *options)
            time = time if self.density is None else time + self.density(counts, share)
        h = self._updated(h, time.astype(dtype), x[:, :2], mask, send, pool)
        return jnp.matmul(self.head(rms_norm(h)), outputs)

    def _updated(self, h, time, x, mask, send, pool) -> Features:
        """Features after all layers: one program, since only their parameters differ."""
        config, dtype = self.config, time.dtype

        def update(h, parts):
            layer, pooling, attention = parts
            h = h + layer(rms_norm(h).astype(dtype), time, send).astype(h.dtype)
            if pooling is not None:
                h = h + pooling(rms_norm(h).astype(dtype), time, pool).astype(h.dtype)
            if attention is not None:
                tokens, backend = rms_norm(h).astype(dtype), config.attention_backend
                h = h + attention(tokens, x, config.radius, mask, backend).astype(h.dtype)
            return h, None

        per_layer = itertools.zip_longest(self.layers, self.smoothings, self.attentions)
        stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *per_layer)
        return jax.lax.scan(update, h, stacked)[0]
