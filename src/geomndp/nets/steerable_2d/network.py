r"""O(2)-equivariant message passing for fields over the plane, native in circular harmonics."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Inputs, Mask, Outputs, PRNGKeyArray, Times
from geomndp.equivariance import FieldType, circular_basis
from geomndp.linalg import zero_masked
from geomndp.nets.base import AbstractNet, check_compute, clean, float_name
from geomndp.nets.embeddings import TimeEmbedding
from geomndp.nets.graph import Graph, radius_graph
from geomndp.nets.layers import linear, rms_norm, zeroed
from geomndp.nets.steerable_2d.edges import EdgeEmbedding
from geomndp.nets.steerable_2d.global_pooling import GlobalPooling, gaussian_pooling
from geomndp.nets.steerable_2d.layer import Attention, SteerableLayer2D, message_passing
from geomndp.nets.steerable_2d.o2_layers import KINDS, EquivariantLinear, add_scalars, per_part


class Steerable2(AbstractNet):
    r"""Complex channels of angular orders 0, 1, 2 on a radius graph, for values of any `kinds`.

    Rotations multiply channels of order m by a phase, reflections conjugate them, and every layer
    commutes with both. Inputs are a place in the plane and, with `side_dim`, further columns that
    do not turn with it (height, land or sea, or the place itself): invariant side information,
    which softens the symmetry. Everything that depends on the inputs alone (graph, angles, radial
    weights) is computed once for all functions that share them under `vmap`.
    """

    embed: EquivariantLinear
    side: eqx.nn.Linear
    time: TimeEmbedding
    gate: eqx.nn.Linear
    edge: EdgeEmbedding
    layers: list[SteerableLayer2D]
    attentions: list[Attention]
    smoothings: list[GlobalPooling]
    head: EquivariantLinear
    kinds: tuple[str, ...] = eqx.field(static=True)
    side_dim: int = eqx.field(static=True)
    channels: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    num_layers: int = eqx.field(static=True)
    radius: float = eqx.field(static=True)
    max_neighbours: int = eqx.field(static=True)
    num_radial: int = eqx.field(static=True)
    num_heads: int = eqx.field(static=True)
    num_scales: int = eqx.field(static=True)
    odd: bool = eqx.field(static=True)
    compute_dtype: str | None = eqx.field(static=True)
    implementation: str | None = eqx.field(static=True)
    dtype: str = eqx.field(static=True)
    kind: ClassVar[str] = "steerable2"

    def __init__(
        self,
        kinds=("vector",),
        *,
        side_dim: int = 0,
        channels: int = 24,
        width: int = 64,
        num_layers: int = 5,
        radius: float = 2.0,
        max_neighbours: int = 24,
        num_radial: int = 12,
        num_heads: int = 0,
        num_scales: int = 0,
        odd: bool = False,
        compute_dtype: str | None = None,
        implementation: str | None = None,
        dtype: str | None = None,
        key: PRNGKeyArray,
    ):
        """Make a network; `radius` in units of the inputs.

        `channels` of every order; `width` of the times' and the non-linearities' MLPs. Two ways to
        see beyond the radius, both in time quadratic in the points: `num_scales` adds averages over
        all points of so many widths to every layer, `num_heads` attention (memory quadratic too).
        `odd` takes the odd part in y, (f(y) - f(-y)) / 2, in twice the time: for laws that are
        those of their negatives, whose scores are odd. Vectors and pseudo-vectors are then one.
        `compute_dtype` "bfloat16" keeps float32 parameters and residuals; None follows y.
        """
        _validation.at_least(0, side_dim=side_dim, num_heads=num_heads, num_scales=num_scales)
        _validation.at_least(1, channels=channels, width=width, num_layers=num_layers)
        _validation.at_least(1, max_neighbours=max_neighbours)
        _validation.at_least(2, num_radial=num_radial)
        _validation.positive(radius=radius)
        check_compute(compute_dtype, implementation)
        for name, number in (("num_heads", num_heads), ("num_scales", num_scales)):
            if number and channels % number:
                raise ValueError(f"expected channels divisible by {name}={number}, got {channels}")
        self.kinds, self.side_dim = tuple(kinds), side_dim
        self.channels, self.width, self.num_layers = channels, width, num_layers
        self.radius, self.max_neighbours, self.num_radial = radius, max_neighbours, num_radial
        self.num_heads, self.num_scales, self.dtype = num_heads, num_scales, float_name(dtype)
        self.odd = bool(odd)
        self.compute_dtype, self.implementation = compute_dtype, implementation
        self._make(key)

    def _make(self, key: PRNGKeyArray) -> None:
        keys = jr.split(key, 8)
        c, w, half = self.channels, self.width, max(self.width // 2, 1)
        options: dict[str, Any] = {"dtype": self.dtype}
        own = circular_basis(self.codomain).shape[2]
        self.embed = EquivariantLinear(own, c, **options, key=keys[0])
        self.side = eqx.nn.Linear(1 + self.side_dim + w, c, **options, key=keys[1])
        self.time = TimeEmbedding(w, **options, key=keys[2])
        self.gate = eqx.nn.Linear(w, KINDS * c, **options, key=keys[3])
        self.edge = EdgeEmbedding(self.radius, self.num_radial, half, **options, key=keys[4])
        layer_keys, attention_keys = (jr.split(k, self.num_layers) for k in keys[5:7])
        self.layers = [SteerableLayer2D(c, w, half, **options, key=k) for k in layer_keys]
        heads = self.num_heads
        self.attentions = [Attention(c, heads, **options, key=k) for k in attention_keys if heads]
        far, scales = jr.split(jr.fold_in(key, 8), self.num_layers), self.num_scales
        self.smoothings = [GlobalPooling(c, w, scales, **options, key=k) for k in far if scales]
        self.head = zeroed(EquivariantLinear(c, own, **options, key=keys[7]))

    @property
    def codomain(self) -> FieldType:
        """What the values are."""
        return FieldType(2, *self.kinds)

    @property
    def input_dim(self) -> int:
        return 2 + self.side_dim

    @property
    def local(self) -> bool:
        return not (self.num_heads or self.num_scales)

    @property
    def output_dim(self) -> int:
        return self.codomain.size

    def graph(self, x: Inputs, mask: Mask) -> Graph:
        """Neighbours of every point."""
        return radius_graph(x[:, :2], mask, self.radius, self.max_neighbours)

    @property
    def num_relative_inputs(self) -> int:
        """The place in the plane; side information is absolute."""
        return 2

    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        """Return the outputs at the points, in the dtype of y."""
        t, x, y, mask = clean(self, t, x, y, mask)
        dtype = jnp.dtype(self.compute_dtype or y.dtype)
        exact = jax.default_matmul_precision("highest")
        with exact if dtype != jnp.bfloat16 else contextlib.nullcontext():
            return zero_masked(self._odd_part(t, x, y, mask, dtype), mask)

    def _odd_part(self, t, x, y, mask, dtype) -> Outputs:
        if not self.odd:
            return self._outputs(t, x, y, mask, dtype)
        both = jax.vmap(lambda y: self._outputs(t, x, y, mask, dtype))(jnp.stack([y, -y]))
        return 0.5 * (both[0] - both[1])

    def _outputs(self, t, x, y, mask, dtype) -> Outputs:
        graph = self.graph(x, mask)
        share, send = message_passing(self.edge, graph, dtype)
        basis = jnp.asarray(circular_basis(self.codomain).reshape(-1, self.output_dim), y.dtype)
        time = self.time(t)
        h = self.embed(jnp.matmul(y, basis.T)) * (1 + per_part(linear(self.gate, time)))
        h = add_scalars(h, linear(self.side, jnp.concatenate([share, x[:, 2:], time], axis=1)))
        time = time.astype(dtype)
        scales = (self.radius, self.num_scales, dtype)
        smooth = gaussian_pooling(x[:, :2], mask, *scales) if self.smoothings else None
        for i, layer in enumerate(self.layers):
            h = h + layer(rms_norm(h).astype(dtype), time, send).astype(h.dtype)
            if smooth is not None:
                seen = self.smoothings[i](rms_norm(h).astype(dtype), time, smooth)
                h = h + seen.astype(h.dtype)
            if self.attentions:
                tokens = rms_norm(h).astype(dtype)
                seen = self.attentions[i](tokens, x[:, :2], self.radius, mask, self.implementation)
                h = h + seen.astype(h.dtype)
        return jnp.matmul(self.head(rms_norm(h)), basis)
