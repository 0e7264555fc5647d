"""Transformer for functions with values on the sphere S^2, in the local frames of its points.

A point sees where the others are as displacements towards east and north of itself: each head's
weighted mean of the positions, minus its own, in units of its own noise. Nothing then depends on
longitude or on the origin of the inputs, and a track that is rough over a few kilometres is
resolved as precisely as one across an ocean. Displacements are float32 (or float64) whatever the
rest is computed in.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Bool, Float, Inputs, Outputs, PRNGKeyArray
from geomndp.linalg import zero_masked
from geomndp.nets.covariates import CovariateEmbedding, covariate_embedding
from geomndp.nets.layers import (
    FourierFeatures,
    TimeEmbedding,
    clean,
    embed_times,
    linear,
    rms_norm,
    same_function,
    zeroed,
)
from geomndp.nets.relative_position_bias import (
    AbstractTransformer,
    RelativeBias,
    TransformerConfig,
)
from geomndp.nets.target_times import target_embedding

NUM_POSITION_FREQUENCIES = 6


@renamed_arguments(absolute="absolute_min_wavelength")
@dataclasses.dataclass(frozen=True, kw_only=True)
class SphericalAttentionConfig(TransformerConfig):
    """Hyperparameters of `SphericalAttention`: those of `TransformerConfig`, and some of its own.

    Args:
        output_dim: 3, the coordinates of R^3.
        noise_rate: Times t, about the noise's standard deviation on the unit sphere.
        resolution: The smallest length that matters, in radians. A point's unit of length is the
            hypotenuse of the two.
        absolute_min_wavelength: Shortest wavelength of Fourier features of position (longitude
            included) and input, which break the symmetry; zero for none, which keeps it.
        target_times: Whether points have a second time, that to which a flow map leads (see
            `geomndp.nets.target_times`).
    """

    input_dim: int = dataclasses.field(default=1, kw_only=False)
    output_dim: int = dataclasses.field(default=3, kw_only=False)
    width: int = 128
    num_layers: int = 6
    expansion: int = 4
    min_wavelength: float = 0.25
    max_wavelength: float = 24.0
    noise_rate: float = 2.7
    resolution: float = 3e-3
    absolute_min_wavelength: float = 0.0
    target_times: bool = False

    def __post_init__(self):
        super().__post_init__()
        _validation.one_of("output_dim", self.output_dim, (3,))
        _validation.positive(noise_rate=self.noise_rate, resolution=self.resolution)
        _validation.not_negative(absolute_min_wavelength=self.absolute_min_wavelength)
        if self.absolute_min_wavelength:
            self.position_features(self.absolute_min_wavelength)

    @staticmethod
    def position_features(min_wavelength: float) -> FourierFeatures:
        """Fourier features of a coordinate on the unit sphere."""
        return FourierFeatures(NUM_POSITION_FREQUENCIES, min_wavelength, 4.0)

    @property
    def input_features(self) -> FourierFeatures:
        """Absolute Fourier features of the inputs."""
        wavelengths = (self.min_wavelength, self.max_wavelength)
        return FourierFeatures(NUM_POSITION_FREQUENCIES, *wavelengths, self.input_periods)


class LocalFrames(eqx.Module):
    """Points of the sphere with their directions east and north, and the unit of length at each."""

    y: Float[Array, "n 3"]
    axes: Float[Array, "n 3 3"]
    unit: Float[Array, " n"]

    def __init__(self, y: Float[Array, "n 3"], unit: Float[Array, " n"]):
        east = jnp.stack([-y[:, 1], y[:, 0], jnp.zeros_like(y[:, 0])], axis=1)
        length = jnp.sqrt(jnp.sum(east**2, axis=1, keepdims=True) + 1e-12)
        east = east / length
        self.y, self.unit = y, unit
        self.axes = jnp.stack([east, jnp.cross(y, east), y], axis=1)

    def local(self, position: Float[Array, "n h 3"]) -> Float[Array, "n k"]:
        """East, north and up of positions as seen from each point; long vectors on a log scale."""
        offset = position - self.y[:, None, :]
        vector = jnp.einsum("nac,nhc->nha", self.axes, offset, precision="highest")
        vector = vector / self.unit[:, None, None]
        length = jnp.sqrt(jnp.sum(vector**2, axis=2, keepdims=True) + 1e-12)
        return (vector * (jnp.arcsinh(length) / length)).reshape(len(self.y), -1)

    def tangent(self, components: Float[Array, "n 2"]) -> Float[Array, "n 3"]:
        """Tangent vectors with these components towards east and north."""
        return jnp.einsum("na,nac->nc", components, self.axes[:, :2], precision="highest")


class SphericalBlock(eqx.Module):
    """Attention over points, whose weights also average their positions; then an MLP per point."""

    project: eqx.nn.Linear
    merge: eqx.nn.Linear
    widen: eqx.nn.Linear
    narrow: eqx.nn.Linear
    num_heads: int = eqx.field(static=True)

    def __init__(self, width: int, heads: int, expansion: int, *, dtype: str, key: PRNGKeyArray):
        keys = jr.split(key, 4)
        options = {"use_bias": False, "dtype": dtype}
        self.project = eqx.nn.Linear(width, 3 * width, **options, key=keys[0])
        self.merge = eqx.nn.Linear(width + 3 * heads, width, **options, key=keys[1])
        self.widen = eqx.nn.Linear(width, expansion * width, **options, key=keys[2])
        self.narrow = eqx.nn.Linear(expansion * width, width, **options, key=keys[3])
        self.num_heads = heads

    def __call__(
        self,
        h: Float[Array, "n c"],
        frames: LocalFrames,
        bias: Float[Array, "h n n"],
        keep: Bool[Array, "n n"],
        dtype: jnp.dtype,
    ) -> Float[Array, "n c"]:
        """Attend, then transform each token, with matrix products in `dtype`."""
        split = jnp.split(linear(self.project, rms_norm(h).astype(dtype)), 3, axis=-1)
        query, key, value = (part.reshape(len(h), self.num_heads, -1) for part in split)
        logits = jnp.einsum("ihc,jhc->hij", query, key) / math.sqrt(query.shape[-1])
        logits = (logits + bias).astype(h.dtype)
        lowest = 0.5 * jnp.finfo(h.dtype).min
        weights = jax.nn.softmax(jnp.where(keep[None], logits, lowest), axis=-1)
        mixed = jnp.einsum("hij,jhc->ihc", weights.astype(dtype), value).reshape(len(h), -1)
        positions = jnp.einsum("hij,jc->ihc", weights, frames.y, precision="highest")
        message = jnp.concatenate([mixed, frames.local(positions).astype(dtype)], axis=1)
        h = h + linear(self.merge, message).astype(h.dtype)
        inner = jax.nn.gelu(linear(self.widen, rms_norm(h).astype(dtype)))
        return h + linear(self.narrow, inner).astype(h.dtype)


class SphericalAttention(AbstractTransformer[SphericalAttentionConfig], tag="net/track-attention"):
    """Tangent vectors at points of S^2, equivariant under rotations about the axis.

    Arguments are those of `SphericalAttentionConfig`.
    """

    embed: eqx.nn.Linear
    time: TimeEmbedding
    bias: RelativeBias
    blocks: list[SphericalBlock]
    head: eqx.nn.Linear
    covariates: CovariateEmbedding | None
    target_time: TimeEmbedding | None

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = SphericalAttentionConfig(*args, **options)
        embed_key, time_key, bias_key, block_key, head_key = jr.split(key, 5)
        size = 2 * NUM_POSITION_FREQUENCIES
        if c.absolute_min_wavelength:
            size += 2 * (3 * NUM_POSITION_FREQUENCIES + c.input_features.count(c.num_inputs))
        self.embed = eqx.nn.Linear(size, c.width, dtype=c.dtype, key=embed_key)
        self.time = TimeEmbedding(c.width, dtype=c.dtype, key=time_key)
        self.bias = RelativeBias(c, key=bias_key)
        self.blocks = [
            SphericalBlock(c.width, c.num_heads, c.expansion, dtype=c.dtype, key=key)
            for key in jr.split(block_key, c.num_layers)
        ]
        self.head = zeroed(eqx.nn.Linear(c.width, 2, dtype=c.dtype, key=head_key))
        self.covariates = covariate_embedding(c, key=key)
        self.target_time = target_embedding(c, key=key)

    def _position_features(self, x: Inputs, y: Outputs) -> Float[Array, "n f"]:
        """Fourier features of the height above the equator, with absolute ones if asked for."""
        c = self.config
        angles = c.position_features(0.25).angles(y[:, 2:].T)
        if c.absolute_min_wavelength:
            position = c.position_features(c.absolute_min_wavelength).angles(y.T)
            angles = jnp.concatenate([angles, position, c.input_features.angles(x.T)])
        return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)]).T

    @property
    def num_relative_inputs(self) -> int:
        """All inputs unless absolute features are asked for; covariates are not relative."""
        return 0 if self.config.absolute_min_wavelength else self.config.num_inputs

    def call_prepared(self, prepared, t, x, y, mask=None) -> Outputs:
        c = self.config
        t, x, y, mask = clean(self, t, x, y, mask)
        biases = self._biases(x, y.dtype) if prepared is None else prepared
        dtype = jnp.dtype(c.compute_dtype or y.dtype)
        frames = LocalFrames(y, jnp.hypot(c.noise_rate * t, c.resolution))
        x, covariates = jnp.split(x, [c.num_inputs], axis=1)
        h = linear(self.embed, self._position_features(x, y)) + embed_times(self, t)
        h = h if self.covariates is None else h + self.covariates(covariates)
        keep = same_function(mask)
        for block, bias in zip(self.blocks, biases, strict=True):
            h = block(h, frames, bias, keep, dtype)
        components = linear(self.head, rms_norm(h))
        return zero_masked(frames.tangent(components), mask)
