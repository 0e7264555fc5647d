"""Bi-dimensional attention over points and over input dimensions (Dutordoir et al., 2022)."""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Times
from geomndp.linalg import zero_masked
from geomndp.nets.attention import SelfAttention
from geomndp.nets.base import AbstractNet, check_compute, clean, float_name
from geomndp.nets.embeddings import TimeEmbedding, centred
from geomndp.nets.layers import linear, rms_norm, zeroed
from geomndp.nets.relative_position_bias import Scales


class BiDimensionalBlock(eqx.Module):
    r"""Attention over points plus attention over dimensions, split into residual and skip.

    $[r, q] = Att_n(s + W t) + Att_d(s + W t)$, $s' = (s + gelu(r)) / \sqrt 2$, skip gelu(q);
    `normalised` tokens s + W t have mean square one.
    One dimension attends to itself only, which is a linear map: for d = 1 it is just that.
    """

    time: eqx.nn.Linear
    over_points: SelfAttention
    over_dims: SelfAttention | eqx.nn.Linear
    normalised: bool = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        width: int,
        heads: int,
        normalised: bool = False,
        *,
        dtype: str,
        key: PRNGKeyArray,
    ):
        time_key, points_key, dims_key = jr.split(key, 3)
        sizes = (width, 2 * width)
        self.normalised = normalised
        self.time = eqx.nn.Linear(width, width, dtype=dtype, key=time_key)
        self.over_points = SelfAttention(*sizes, heads, dtype=dtype, key=points_key)
        if dim == 1:
            self.over_dims = eqx.nn.Linear(*sizes, use_bias=False, dtype=dtype, key=dims_key)
        else:
            self.over_dims = SelfAttention(*sizes, heads, dtype=dtype, key=dims_key)

    def __call__(
        self,
        s: Float[Array, "n d c"],
        t: Float[Array, "n c"],
        mask: Mask | None,
        dtype: jnp.dtype,
        implementation: str | None,
    ) -> tuple[Float[Array, "n d c"], Float[Array, "n d c"]]:
        """Return the new state and the skip connection."""
        tokens = s + linear(self.time, t)[:, None, :]
        tokens = (rms_norm(tokens) if self.normalised else tokens).astype(dtype)
        per_dim = jnp.swapaxes(tokens, 0, 1)
        over_points = self.over_points(per_dim, mask=mask, implementation=implementation)
        if isinstance(self.over_dims, SelfAttention):
            over_dims = self.over_dims(tokens)
        else:
            over_dims = linear(self.over_dims, tokens)
        mixed = jnp.swapaxes(over_points, 0, 1) + over_dims
        residual, skip = jnp.split(jax.nn.gelu(mixed).astype(s.dtype), 2, axis=-1)
        return (s + residual) / math.sqrt(2.0), skip


class BiDimensionalAttention(AbstractNet):
    """Tokens (x_ia, y_i), one a point and input dimension, averaged over dimensions at the end.

    So the order of the input dimensions does not matter, which is wrong where outputs have
    directions or inputs differ in kind: `tokens` "points" makes one token (x_i, y_i) a point, as in
    the code of Mathieu et al. (2023) for vector fields. `inputs` is "absolute" (NDP*), or
    "centred": relative to the centre of mass of the real points, so that translations change
    nothing.
    """

    embed: eqx.nn.Linear
    time: TimeEmbedding
    blocks: list[BiDimensionalBlock]
    gather: eqx.nn.Linear
    head: eqx.nn.Linear
    input_dim: int = eqx.field(static=True)
    output_dim: int = eqx.field(static=True)
    inputs: str = eqx.field(static=True)
    tokens: str = eqx.field(static=True)
    num_frequencies: int = eqx.field(static=True)
    min_wavelength: float = eqx.field(static=True)
    max_wavelength: float = eqx.field(static=True)
    width: int = eqx.field(static=True)
    num_layers: int = eqx.field(static=True)
    num_heads: int = eqx.field(static=True)
    normalised: bool = eqx.field(static=True)
    compute_dtype: str | None = eqx.field(static=True)
    implementation: str | None = eqx.field(static=True)
    dtype: str = eqx.field(static=True)
    kind: ClassVar[str] = "bidimensional"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        inputs: str = "absolute",
        tokens: str = "dims",
        num_frequencies: int = 0,
        min_wavelength: float = 0.1,
        max_wavelength: float = 16.0,
        width: int = 64,
        num_layers: int = 5,
        num_heads: int = 8,
        normalised: bool = False,
        compute_dtype: str | None = None,
        implementation: str | None = None,
        dtype: str | None = None,
        key: PRNGKeyArray,
    ):
        """Make a network; `normalised` tokens before attention bear a higher rate of learning.

        With `num_frequencies` tokens carry sines and cosines of so many wavelengths instead of x.
        `compute_dtype` "bfloat16" keeps float32 parameters and residuals; None follows y.
        `implementation` is that of jax.nn.dot_product_attention over points; "cudnn" has no
        forward-mode derivative.
        """
        _validation.at_least(1, input_dim=input_dim, output_dim=output_dim, num_layers=num_layers)
        _validation.at_least(1, width=width)
        _validation.at_least(0, num_frequencies=num_frequencies)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.inputs, self.tokens, self.num_frequencies = inputs, tokens, num_frequencies
        self.min_wavelength, self.max_wavelength = min_wavelength, max_wavelength
        self.width, self.num_layers, self.num_heads = width, num_layers, num_heads
        self.normalised = normalised
        self.compute_dtype, self.implementation = compute_dtype, implementation
        self.dtype = dtype = float_name(dtype)

        embed_key, time_key, block_key, gather_key, head_key = jr.split(key, 5)
        dims, per_token = (input_dim, 1) if tokens == "dims" else (1, input_dim)
        token_size = per_token * (2 * num_frequencies or 1) + output_dim
        self.embed = eqx.nn.Linear(token_size, width, dtype=dtype, key=embed_key)
        self.time = TimeEmbedding(width, dtype=dtype, key=time_key)
        self.blocks = [
            BiDimensionalBlock(dims, width, num_heads, normalised, dtype=dtype, key=key)
            for key in jr.split(block_key, num_layers)
        ]
        self.gather = eqx.nn.Linear(width, width, dtype=dtype, key=gather_key)
        self.head = zeroed(eqx.nn.Linear(width, output_dim, dtype=dtype, key=head_key))

    def __check_init__(self):
        _validation.one_of("inputs", self.inputs, ("absolute", "centred"))
        _validation.one_of("tokens", self.tokens, ("dims", "points"))
        check_compute(self.compute_dtype, self.implementation)
        if self.num_frequencies:
            self._scales()  # refuses wavelengths that are none

    @property
    def num_relative_inputs(self) -> int:
        """All inputs where they are centred, none where they are absolute."""
        return self.input_dim if self.inputs == "centred" else 0

    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        """Return the outputs at the points, in the dtype of y."""
        masked = mask is not None
        t, x, y, mask = clean(self, t, x, y, mask)
        if self.inputs == "centred":
            x = centred(x, mask)
        places = self._places(x)
        everywhere = jnp.broadcast_to(y[:, None, :], (*places.shape[:2], self.output_dim))
        s = jax.nn.gelu(linear(self.embed, jnp.concatenate([places, everywhere], axis=2)))
        time, dtype = self.time(t), jnp.dtype(self.compute_dtype or y.dtype)
        total = jnp.zeros_like(s)
        for block in self.blocks:
            s, skip = block(s, time, mask if masked else None, dtype, self.implementation)
            total = total + skip
        features = jnp.mean(total, axis=1) / math.sqrt(self.num_layers)
        return zero_masked(linear(self.head, jax.nn.gelu(linear(self.gather, features))), mask)

    def _scales(self) -> Scales:
        return Scales(self.num_frequencies, self.min_wavelength, self.max_wavelength)

    def _places(self, x: Inputs) -> Float[Array, "n m f"]:
        """What the tokens of a point know of its place."""
        features = x[None]
        if self.num_frequencies:
            angles = self._scales().angles(features)
            features = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)])
        places = jnp.moveaxis(features, 0, 2)
        return places if self.tokens == "dims" else places.reshape(len(x), 1, -1)
