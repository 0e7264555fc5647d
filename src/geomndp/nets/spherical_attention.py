"""Transformer for functions with values on the sphere S^2, in the local frames of its points.

A point sees where the others are as displacements towards east and north of itself: each head's
weighted mean of the positions, less its own, in units of its own noise. Nothing then depends on
longitude or on the origin of the inputs, and a track of a few kilometres' roughness on a sphere of
radius one is told as precisely as a track across an ocean. Displacements are float32 (or float64)
whatever the rest is computed in.
"""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Bool, Float, Inputs, Mask, Outputs, PRNGKeyArray, Times
from geomndp.linalg import zero_masked
from geomndp.nets.base import AbstractNet, check_compute, clean, float_name
from geomndp.nets.embeddings import TimeEmbedding, fourier_angles
from geomndp.nets.layers import linear, rms_norm, same_function, zeroed
from geomndp.nets.relative_position_bias import RelativeBias, Scales

_PLACE_FREQUENCIES = 6


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

    def local(self, place: Float[Array, "n h 3"]) -> Float[Array, "n k"]:
        """East, north and up of `place` as seen from each point; long vectors on a log scale."""
        away = place - self.y[:, None, :]
        vector = jnp.einsum("nac,nhc->nha", self.axes, away, precision="highest")
        vector = vector / self.unit[:, None, None]
        length = jnp.sqrt(jnp.sum(vector**2, axis=2, keepdims=True) + 1e-12)
        return (vector * (jnp.arcsinh(length) / length)).reshape(len(self.y), -1)

    def tangent(self, components: Float[Array, "n 2"]) -> Float[Array, "n 3"]:
        """Tangent vectors with these components towards east and north."""
        return jnp.einsum("na,nac->nc", components, self.axes[:, :2], precision="highest")


class SphericalBlock(eqx.Module):
    """Attention over points, whose weights also average their places; then an MLP a point."""

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
        parts = jnp.split(linear(self.project, rms_norm(h).astype(dtype)), 3, axis=-1)
        query, key, value = (part.reshape(len(h), self.num_heads, -1) for part in parts)
        logits = jnp.einsum("ihc,jhc->hij", query, key) / math.sqrt(query.shape[-1])
        logits = (logits + bias).astype(h.dtype)
        lowest = 0.5 * jnp.finfo(h.dtype).min
        weights = jax.nn.softmax(jnp.where(keep[None], logits, lowest), axis=-1)
        mixed = jnp.einsum("hij,jhc->ihc", weights.astype(dtype), value).reshape(len(h), -1)
        places = jnp.einsum("hij,jc->ihc", weights, frames.y, precision="highest")
        seen = jnp.concatenate([mixed, frames.local(places).astype(dtype)], axis=1)
        h = h + linear(self.merge, seen).astype(h.dtype)
        inner = jax.nn.gelu(linear(self.widen, rms_norm(h).astype(dtype)))
        return h + linear(self.narrow, inner).astype(h.dtype)


class SphericalAttention(AbstractNet):
    """Tangent vectors at points of S^2, turning with rotations about the axis.

    `noise_rate` times t is about the noise's standard deviation, `resolution` the smallest length
    that matters: a point's unit of length is their hypotenuse. `absolute` features of longitude and
    of the input (wavelengths from `absolute`) soften the symmetry; zero keeps it.
    """

    embed: eqx.nn.Linear
    time: TimeEmbedding
    bias: RelativeBias
    blocks: list[SphericalBlock]
    head: eqx.nn.Linear
    input_dim: int = eqx.field(static=True)
    output_dim: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    num_layers: int = eqx.field(static=True)
    num_heads: int = eqx.field(static=True)
    expansion: int = eqx.field(static=True)
    bias_width: int = eqx.field(static=True)
    num_frequencies: int = eqx.field(static=True)
    min_wavelength: float = eqx.field(static=True)
    max_wavelength: float = eqx.field(static=True)
    noise_rate: float = eqx.field(static=True)
    resolution: float = eqx.field(static=True)
    absolute: float = eqx.field(static=True)
    compute_dtype: str | None = eqx.field(static=True)
    dtype: str = eqx.field(static=True)
    kind: ClassVar[str] = "tracks"

    def __init__(
        self,
        input_dim: int = 1,
        output_dim: int = 3,
        *,
        width: int = 128,
        num_layers: int = 6,
        num_heads: int = 8,
        expansion: int = 4,
        bias_width: int = 32,
        num_frequencies: int = 16,
        min_wavelength: float = 0.25,
        max_wavelength: float = 24.0,
        noise_rate: float = 2.7,
        resolution: float = 3e-3,
        absolute: float = 0.0,
        compute_dtype: str | None = None,
        dtype: str | None = None,
        key: PRNGKeyArray,
    ):
        """Make a network; wavelengths are in units of the inputs."""
        _validation.at_least(1, input_dim=input_dim, num_layers=num_layers, expansion=expansion)
        _validation.one_of("output_dim", output_dim, (3,))
        _validation.positive(noise_rate=noise_rate, resolution=resolution)
        _validation.not_negative(absolute=absolute)
        check_compute(compute_dtype, None)
        if width % num_heads:
            raise ValueError(f"expected a width divisible by num_heads={num_heads}, got {width}")
        self.input_dim, self.output_dim = input_dim, output_dim
        self.width, self.num_layers, self.num_heads = width, num_layers, num_heads
        self.expansion, self.bias_width = expansion, bias_width
        self.num_frequencies = num_frequencies
        self.min_wavelength, self.max_wavelength = min_wavelength, max_wavelength
        self.noise_rate, self.resolution, self.absolute = noise_rate, resolution, absolute
        self.compute_dtype, self.dtype = compute_dtype, float_name(dtype)
        dtype = self.dtype
        embed_key, time_key, bias_key, block_key, head_key = jr.split(key, 5)
        size = 2 * _PLACE_FREQUENCIES * (4 + input_dim if absolute else 1)
        self.embed = eqx.nn.Linear(size, width, dtype=dtype, key=embed_key)
        self.time = TimeEmbedding(width, dtype=dtype, key=time_key)
        scales = Scales(num_frequencies, min_wavelength, max_wavelength)
        sizes = (input_dim, num_layers, num_heads, bias_width)
        self.bias = RelativeBias(*sizes, scales, dtype=dtype, key=bias_key)
        self.blocks = [
            SphericalBlock(width, num_heads, expansion, dtype=dtype, key=key)
            for key in jr.split(block_key, num_layers)
        ]
        self.head = zeroed(eqx.nn.Linear(width, 2, dtype=dtype, key=head_key))

    def _places(self, x: Inputs, y: Outputs) -> Float[Array, "n f"]:
        """Sinusoids of the height above the equator and, if asked for, of place and input."""
        angles = fourier_angles(y[:, 2:].T, _PLACE_FREQUENCIES, 0.25, 4.0)
        if self.absolute:
            place = fourier_angles(y.T, _PLACE_FREQUENCIES, self.absolute, 4.0)
            when = fourier_angles(x.T, _PLACE_FREQUENCIES, self.min_wavelength, self.max_wavelength)
            angles = jnp.concatenate([angles, place, when])
        return jnp.concatenate([jnp.cos(angles), jnp.sin(angles)]).T

    @property
    def num_relative_inputs(self) -> int:
        """All inputs unless absolute features are asked for."""
        return 0 if self.absolute else self.input_dim

    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        """Return tangent vectors at the points, in the dtype of y."""
        t, x, y, mask = clean(self, t, x, y, mask)
        dtype = jnp.dtype(self.compute_dtype or y.dtype)
        frames = LocalFrames(y, jnp.hypot(self.noise_rate * t, self.resolution))
        h = linear(self.embed, self._places(x, y)) + self.time(t)
        keep = same_function(mask)
        for block, bias in zip(self.blocks, self.bias(x, dtype), strict=True):
            h = block(h, frames, bias, keep, dtype)
        components = linear(self.head, rms_norm(h))
        return zero_masked(frames.tangent(components), mask)
