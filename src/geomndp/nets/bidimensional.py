"""Bi-dimensional attention over points and over input dimensions (Dutordoir et al., 2022)."""

from __future__ import annotations

import math
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _checks
from geomndp._linalg import zero_masked
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Times
from geomndp.nets.attention import SelfAttention
from geomndp.nets.base import AbstractNet, check_compute, clean, float_name
from geomndp.nets.embeddings import TimeEmbedding, centred
from geomndp.nets.layers import linear, zeroed


class Block(eqx.Module):
    r"""Attention over points plus attention over dimensions, split into residual and skip.

    $[r, q] = Att_n(s + W t) + Att_d(s + W t)$, $s' = (s + gelu(r)) / \sqrt 2$, skip gelu(q).
    One dimension attends to itself only, which is a linear map: for d = 1 it is just that.
    """

    time: eqx.nn.Linear
    over_points: SelfAttention
    over_dims: SelfAttention | eqx.nn.Linear

    def __init__(self, dim: int, width: int, heads: int, *, dtype: str, key: PRNGKeyArray):
        time_key, points_key, dims_key = jr.split(key, 3)
        sizes = (width, 2 * width)
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
        mask: Mask,
        dtype: jnp.dtype,
        implementation: str | None,
    ) -> tuple[Float[Array, "n d c"], Float[Array, "n d c"]]:
        """Return the new state and the skip connection."""
        tokens = (s + linear(self.time, t)[:, None, :]).astype(dtype)
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

    The order of the input dimensions does not matter. `inputs` is "absolute" (NDP*), or "centred":
    relative to the centre of mass of the real points, so that translations change nothing.
    """

    embed: eqx.nn.Linear
    time: TimeEmbedding
    blocks: list[Block]
    gather: eqx.nn.Linear
    head: eqx.nn.Linear
    input_dim: int = eqx.field(static=True)
    output_dim: int = eqx.field(static=True)
    inputs: str = eqx.field(static=True)
    width: int = eqx.field(static=True)
    num_layers: int = eqx.field(static=True)
    num_heads: int = eqx.field(static=True)
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
        width: int = 64,
        num_layers: int = 5,
        num_heads: int = 8,
        compute_dtype: str | None = None,
        implementation: str | None = None,
        dtype: str | None = None,
        key: PRNGKeyArray,
    ):
        """Make a network.

        `compute_dtype` "bfloat16" keeps float32 parameters and residuals; None follows y.
        `implementation` is that of jax.nn.dot_product_attention over points; "cudnn" has no
        forward-mode derivative.
        """
        _checks.at_least(1, input_dim=input_dim, output_dim=output_dim, num_layers=num_layers)
        _checks.one_of("inputs", inputs, ("absolute", "centred"))
        check_compute(compute_dtype, implementation)
        self.input_dim, self.output_dim, self.inputs = input_dim, output_dim, inputs
        self.width, self.num_layers, self.num_heads = width, num_layers, num_heads
        self.compute_dtype, self.implementation = compute_dtype, implementation
        self.dtype = dtype = float_name(dtype)

        embed_key, time_key, block_key, gather_key, head_key = jr.split(key, 5)
        self.embed = eqx.nn.Linear(1 + output_dim, width, dtype=dtype, key=embed_key)
        self.time = TimeEmbedding(width, dtype=dtype, key=time_key)
        self.blocks = [
            Block(input_dim, width, num_heads, dtype=dtype, key=key)
            for key in jr.split(block_key, num_layers)
        ]
        self.gather = eqx.nn.Linear(width, width, dtype=dtype, key=gather_key)
        self.head = zeroed(eqx.nn.Linear(width, output_dim, dtype=dtype, key=head_key))

    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        """Return the outputs at the points, in the dtype of y."""
        t, x, y, mask = clean(self, t, x, y, mask)
        if self.inputs == "centred":
            x = centred(x, mask)
        n, d = x.shape
        everywhere = jnp.broadcast_to(y[:, None, :], (n, d, self.output_dim))
        s = jax.nn.gelu(linear(self.embed, jnp.concatenate([x[:, :, None], everywhere], axis=2)))
        time, dtype = self.time(t), jnp.dtype(self.compute_dtype or y.dtype)
        total = jnp.zeros_like(s)
        for block in self.blocks:
            s, skip = block(s, time, mask, dtype, self.implementation)
            total = total + skip
        features = jnp.mean(total, axis=1) / math.sqrt(self.num_layers)
        return zero_masked(linear(self.head, jax.nn.gelu(linear(self.gather, features))), mask)
