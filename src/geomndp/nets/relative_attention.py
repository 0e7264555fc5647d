"""Translation-invariant transformer: attention whose bias sees relative inputs only."""

from __future__ import annotations

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
from geomndp.nets.embeddings import TimeEmbedding
from geomndp.nets.layers import linear, rms_norm, zeroed
from geomndp.nets.relative_position_bias import RelativeBias, Scales


class TransformerBlock(eqx.Module):
    """Pre-norm transformer block; the residual stream keeps its dtype."""

    attention: SelfAttention
    widen: eqx.nn.Linear
    narrow: eqx.nn.Linear

    def __init__(self, width: int, heads: int, expansion: int, *, dtype: str, key: PRNGKeyArray):
        attention_key, widen_key, narrow_key = jr.split(key, 3)
        options = {"use_bias": False, "dtype": dtype}
        self.attention = SelfAttention(width, width, heads, dtype=dtype, key=attention_key)
        self.widen = eqx.nn.Linear(width, expansion * width, **options, key=widen_key)
        self.narrow = eqx.nn.Linear(expansion * width, width, **options, key=narrow_key)

    def __call__(
        self,
        h: Float[Array, "n c"],
        bias: Float[Array, "h n n"],
        mask: Mask,
        dtype: jnp.dtype,
        implementation: str | None,
    ) -> Float[Array, "n c"]:
        """Attend, then transform each token, with matrix products in `dtype`."""
        tokens = rms_norm(h).astype(dtype)[None]
        mixed = self.attention(tokens, bias=bias, mask=mask, implementation=implementation)
        h = h + mixed[0].astype(h.dtype)
        inner = jax.nn.gelu(linear(self.widen, rms_norm(h).astype(dtype)))
        return h + linear(self.narrow, inner).astype(h.dtype)


class RelativeAttention(AbstractNet):
    """Tokens of outputs and times; inputs enter through a bias of x_i - x_j in each layer and head.

    Unlike inputs relative to the centre of mass, nothing moves when points are added or masked.
    """

    embed: eqx.nn.Linear
    time: TimeEmbedding
    bias: RelativeBias
    blocks: list[TransformerBlock]
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
    compute_dtype: str | None = eqx.field(static=True)
    implementation: str | None = eqx.field(static=True)
    dtype: str = eqx.field(static=True)
    kind: ClassVar[str] = "relative"

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        *,
        width: int = 64,
        num_layers: int = 5,
        num_heads: int = 8,
        expansion: int = 2,
        bias_width: int = 32,
        num_frequencies: int = 16,
        min_wavelength: float = 0.1,
        max_wavelength: float = 16.0,
        compute_dtype: str | None = None,
        implementation: str | None = None,
        dtype: str | None = None,
        key: PRNGKeyArray,
    ):
        """Make a network; wavelengths are in units of the inputs.

        `compute_dtype` "bfloat16" keeps float32 parameters and residuals; None follows y.
        `implementation` is that of jax.nn.dot_product_attention; "cudnn" has no forward-mode
        derivative.
        """
        _validation.at_least(1, input_dim=input_dim, output_dim=output_dim)
        _validation.at_least(1, num_layers=num_layers, expansion=expansion, width=width)
        check_compute(compute_dtype, implementation)
        self.input_dim, self.output_dim = input_dim, output_dim
        self.width, self.num_layers, self.num_heads = width, num_layers, num_heads
        self.expansion, self.bias_width = expansion, bias_width
        self.num_frequencies = num_frequencies
        self.min_wavelength, self.max_wavelength = min_wavelength, max_wavelength
        self.compute_dtype, self.implementation = compute_dtype, implementation
        self.dtype = dtype = float_name(dtype)

        embed_key, time_key, bias_key, block_key, head_key = jr.split(key, 5)
        self.embed = eqx.nn.Linear(output_dim, width, dtype=dtype, key=embed_key)
        self.time = TimeEmbedding(width, dtype=dtype, key=time_key)
        self.blocks = [
            TransformerBlock(width, num_heads, expansion, dtype=dtype, key=key)
            for key in jr.split(block_key, num_layers)
        ]
        scales = Scales(num_frequencies, min_wavelength, max_wavelength)
        sizes = (input_dim, num_layers, num_heads, bias_width)
        self.bias = RelativeBias(*sizes, scales, dtype=dtype, key=bias_key)
        self.head = zeroed(eqx.nn.Linear(width, output_dim, dtype=dtype, key=head_key))

    @property
    def num_relative_inputs(self) -> int:
        """All inputs are relative."""
        return self.input_dim

    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        """Return the outputs at the points, in the dtype of y."""
        t, x, y, mask = clean(self, t, x, y, mask)
        dtype = jnp.dtype(self.compute_dtype or y.dtype)
        h = linear(self.embed, y) + self.time(t)
        biases = self.bias(x, dtype)
        for block, bias in zip(self.blocks, biases, strict=True):
            h = block(h, bias, mask, dtype, self.implementation)
        return zero_masked(linear(self.head, rms_norm(h)), mask)
