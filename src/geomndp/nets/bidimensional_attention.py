"""Bi-dimensional attention over points and over input dimensions (Dutordoir et al., 2022)."""

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
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Times, Values
from geomndp.linalg import zero_masked
from geomndp.nets.attention import centred, check_heads
from geomndp.nets.base import AbstractNet
from geomndp.nets.covariates import CovariateConfig, CovariateEmbedding, covariate_embedding
from geomndp.nets.layers import (
    FourierFeatures,
    TimeEmbedding,
    check_groups,
    clean,
    embed_times,
    linear,
    rms_norm,
    zeroed,
)
from geomndp.nets.relative_attention import SelfAttention, check_backend
from geomndp.nets.target_times import target_embedding


@renamed_arguments(tokens="token_axis", normalised="pre_norm", implementation="attention_backend")
@dataclasses.dataclass(frozen=True, kw_only=True)
class BiDimensionalAttentionConfig(CovariateConfig):
    """Hyperparameters of `BiDimensionalAttention`.

    Args:
        input_dim: Number of columns of x, covariates included.
        output_dim: Number of output components p.
        num_invariant_inputs: How many columns of x, the last ones, are covariates.
        periods: Period of every column of x, zero where it has none; empty where none has one.
            Periodic inputs need Fourier features, absolute inputs and one token per point.
        inputs: "absolute" (NDP*), or "centred": relative to the centre of mass of the real points,
            so that translations change nothing.
        token_axis: "dims" for one token (x_ia, y_i) per point and input dimension; "points" for one
            token (x_i, y_i) per point, as in the code of Mathieu et al. (2023) for vector fields.
        num_frequencies: Number of Fourier features that replace each coordinate in a token; zero
            keeps the coordinate.
        min_wavelength: The shortest wavelength, in units of the inputs.
        max_wavelength: The longest wavelength.
        width: Channels of a token, divisible by `num_heads`.
        num_layers: Number of blocks.
        num_heads: Number of attention heads.
        pre_norm: Whether tokens are normalised before attention, which allows a higher learning
            rate.
        num_input_fields: Fields of the outputs' type that enter: 1 for the noised values, 2 with
            the score of a Gaussian process beside them (see `NetworkScore.base`).
        compute_dtype: "bfloat16" for matrix products with float32 parameters and residuals; None
            follows y.
        attention_backend: `implementation` of jax.nn.dot_product_attention over points; "cudnn" has
            no forward-mode derivative.
        num_groups: Groups of neighbouring outputs, of one size, with times and masks of their own.
        target_times: Whether points have a second time, that to which a flow map leads (see
            `geomndp.nets.target_times`).
        dtype: Dtype of the parameters.
    """

    inputs: str = "absolute"
    token_axis: str = "dims"
    num_frequencies: int = 0
    min_wavelength: float = 0.1
    max_wavelength: float = 16.0
    width: int = 64
    num_layers: int = 5
    num_heads: int = 8
    pre_norm: bool = False
    compute_dtype: str | None = None
    attention_backend: str | None = None
    num_groups: int = 1
    num_input_fields: int = 1
    target_times: bool = False

    def __post_init__(self):
        super().__post_init__()
        _validation.at_least(1, num_layers=self.num_layers, num_input_fields=self.num_input_fields)
        _validation.at_least(0, num_frequencies=self.num_frequencies)
        _validation.one_of("inputs", self.inputs, ("absolute", "centred"))
        _validation.one_of("token_axis", self.token_axis, ("dims", "points"))
        check_heads(self.width, self.num_heads)
        check_backend(self.compute_dtype, self.attention_backend)
        check_groups(self.num_groups, self.output_dim)
        _ = self.features  # refuses wavelengths that are none
        plain = self.inputs == "centred" or self.token_axis == "dims" or not self.num_frequencies
        if any(self.input_periods) and plain:
            needed = "inputs='absolute', token_axis='points' and num_frequencies >= 1"
            got = f"{self.inputs!r}, {self.token_axis!r} and {self.num_frequencies}"
            raise ValueError(f"expected {needed} for periodic inputs, got {got}")

    @property
    def features(self) -> FourierFeatures | None:
        """Fourier features of the inputs, None where tokens hold the coordinates themselves."""
        if not self.num_frequencies:
            return None
        wavelengths = (self.min_wavelength, self.max_wavelength)
        return FourierFeatures(self.num_frequencies, *wavelengths, self.input_periods)

    @property
    def token_inputs(self) -> int:
        """Numbers in a token that describe the inputs."""
        per_token = 1 if self.token_axis == "dims" else self.num_inputs
        return per_token if self.features is None else 2 * self.features.count(per_token)


class BiDimensionalBlock(eqx.Module):
    r"""Attention over points plus attention over dimensions, split into residual and skip.

    $[r, q] = Att_n(s + W t) + Att_d(s + W t)$, $s' = (s + gelu(r)) / \sqrt 2$, skip gelu(q);
    with `pre_norm` tokens s + W t have mean square one.
    One dimension attends to itself only, which is a linear map: for d = 1 it is just that.
    """

    time: eqx.nn.Linear
    over_points: SelfAttention
    over_dims: SelfAttention | eqx.nn.Linear
    pre_norm: bool = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        width: int,
        heads: int,
        pre_norm: bool = False,
        *,
        dtype: str,
        key: PRNGKeyArray,
    ):
        time_key, points_key, dims_key = jr.split(key, 3)
        sizes = (width, 2 * width)
        self.pre_norm = pre_norm
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
        backend: str | None,
    ) -> tuple[Float[Array, "n d c"], Float[Array, "n d c"]]:
        """Return the new state and the skip connection."""
        tokens = s + linear(self.time, t)[:, None, :]
        tokens = (rms_norm(tokens) if self.pre_norm else tokens).astype(dtype)
        per_dim = jnp.swapaxes(tokens, 0, 1)
        over_points = self.over_points(per_dim, mask=mask, backend=backend)
        if isinstance(self.over_dims, SelfAttention):
            over_dims = self.over_dims(tokens)
        else:
            over_dims = linear(self.over_dims, tokens)
        mixed = jnp.swapaxes(over_points, 0, 1) + over_dims
        residual, skip = jnp.split(jax.nn.gelu(mixed).astype(s.dtype), 2, axis=-1)
        return (s + residual) / math.sqrt(2.0), skip


class BiDimensionalAttention(
    AbstractNet[BiDimensionalAttentionConfig], tag="net/bidimensional-attention"
):
    """Tokens (x_ia, y_i), one per point and input dimension, averaged over dimensions at the end.

    So the order of the input dimensions does not matter, which is wrong where outputs have
    directions or inputs differ in type: `token_axis="points"` makes one token (x_i, y_i) per point.
    Arguments are those of `BiDimensionalAttentionConfig`.
    """

    embed: eqx.nn.Linear
    time: TimeEmbedding
    blocks: list[BiDimensionalBlock]
    gather: eqx.nn.Linear
    head: eqx.nn.Linear
    covariates: CovariateEmbedding | None
    target_time: TimeEmbedding | None

    def __init__(self, *args: Any, key: PRNGKeyArray, **options: Any):
        self.config = c = BiDimensionalAttentionConfig(*args, **options)
        embed_key, time_key, block_key, gather_key, head_key = jr.split(key, 5)
        dims = c.num_inputs if c.token_axis == "dims" else 1
        token_size = c.token_inputs + self.value_dim
        self.embed = eqx.nn.Linear(token_size, c.width, dtype=c.dtype, key=embed_key)
        self.time = TimeEmbedding(c.width, c.num_groups, dtype=c.dtype, key=time_key)
        self.blocks = [
            BiDimensionalBlock(dims, c.width, c.num_heads, c.pre_norm, dtype=c.dtype, key=key)
            for key in jr.split(block_key, c.num_layers)
        ]
        self.gather = eqx.nn.Linear(c.width, c.width, dtype=c.dtype, key=gather_key)
        self.head = zeroed(eqx.nn.Linear(c.width, c.output_dim, dtype=c.dtype, key=head_key))
        self.covariates = covariate_embedding(c, key=key)
        self.target_time = target_embedding(c, c.num_groups, key=key)

    @property
    def num_relative_inputs(self) -> int:
        """All inputs where they are centred, none where they are absolute."""
        return self.config.num_inputs if self.config.inputs == "centred" else 0

    @property
    def num_groups(self) -> int:
        return self.config.num_groups

    def __call__(self, t: Times, x: Inputs, y: Values, mask: Mask | None = None) -> Outputs:
        c, masked = self.config, mask is not None
        t, x, y, mask = points = clean(self, t, x, y, mask)
        x, covariates = jnp.split(x, [c.num_inputs], axis=1)
        if c.inputs == "centred":
            x = centred(x, points.rows)
        inputs = self._input_features(x)
        values = jnp.broadcast_to(y[:, None, :], (*inputs.shape[:2], self.value_dim))
        s = jax.nn.gelu(linear(self.embed, jnp.concatenate([inputs, values], axis=2)))
        s = s if self.covariates is None else s + self.covariates(covariates)[:, None, :]
        time, dtype = embed_times(self, t, mask), jnp.dtype(c.compute_dtype or y.dtype)
        total = jnp.zeros_like(s)
        for block in self.blocks:
            s, skip = block(s, time, points.rows if masked else None, dtype, c.attention_backend)
            total = total + skip
        features = jnp.mean(total, axis=1) / math.sqrt(c.num_layers)
        return zero_masked(linear(self.head, jax.nn.gelu(linear(self.gather, features))), mask)

    def _input_features(self, x: Inputs) -> Float[Array, "n m f"]:
        """What each of the m tokens of a point holds of its input."""
        fourier = self.config.features
        if any(self.config.input_periods) and fourier is not None:
            angles = fourier.angles(x.T)
            return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)]).T[:, None, :]
        features = x[None]
        if fourier is not None:
            angles = fourier.angles(features)
            features = jnp.concatenate([jnp.sin(angles), jnp.cos(angles)])
        features = jnp.moveaxis(features, 0, 2)
        return features if self.config.token_axis == "dims" else features.reshape(len(x), 1, -1)
