r"""Multi-head attention with a mask over keys, and biases from relative inputs.

The biases, one per layer and head, are invariant to translations: each is a learnt bounded function
of $x_i - x_j$ minus $s_h |x_i - x_j|$ with fixed slopes $s_h$, one per head (ALiBi: Press et al.,
2022). Heads start at different ranges; pairs further apart than any in training get no weight.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Bool, Float, Inputs, Mask, PRNGKeyArray
from geomndp.linalg import zero_masked
from geomndp.nets.base import check_compute
from geomndp.nets.cos_and_sin import cos_and_sin
from geomndp.nets.covariates import CovariateConfig
from geomndp.nets.layers import FourierFeatures, linear_first, same_function


@dataclasses.dataclass(frozen=True, kw_only=True)
class TransformerConfig(CovariateConfig):
    """Hyperparameters of transformers with relative biases, and the checks of these.

    Args:
        input_dim: Number of columns of x, covariates included.
        output_dim: Number of output components p.
        num_invariant_inputs: How many columns of x, the last ones, are covariates: features of
            their point, not relative.
        periods: Period of every column of x, zero where it has none; empty where none has one.
        width: Channels of a token, divisible by `num_heads`.
        num_layers: Number of transformer blocks.
        num_heads: Number of attention heads.
        expansion: Width of a block's MLP over that of a token.
        bias_width: Width of the MLP of the attention bias.
        num_frequencies: Number of Fourier features of each relative coordinate.
        min_wavelength: The shortest wavelength, in units of the inputs.
        max_wavelength: The longest wavelength.
        compute_dtype: "bfloat16" for matrix products with float32 parameters and residuals; None
            follows y.
        dtype: Dtype of the parameters.
    """

    width: int = 64
    num_layers: int = 5
    num_heads: int = 8
    expansion: int = 2
    bias_width: int = 32
    num_frequencies: int = 16
    min_wavelength: float = 0.1
    max_wavelength: float = 16.0
    compute_dtype: str | None = None

    def __post_init__(self):
        super().__post_init__()
        _validation.at_least(1, num_layers=self.num_layers, expansion=self.expansion)
        check_heads(self.width, self.num_heads)
        check_compute(self.compute_dtype)


def check_heads(width: int, num_heads: int) -> None:
    """Raise ValueError unless the width can be divided among the attention heads."""
    _validation.at_least(1, width=width, num_heads=num_heads)
    if width % num_heads:
        raise ValueError(f"expected a width divisible by num_heads={num_heads}, got {width}")


def attend(
    query: Float[Array, "b n h c"],
    key: Float[Array, "b m h c"],
    value: Float[Array, "b m h c"],
    *,
    bias: Float[Array, "h n m"] | None = None,
    mask: Mask | None = None,
    pairs: Bool[Array, "n m"] | None = None,
    backend: str | None = None,
) -> Float[Array, "b n h c"]:
    """Softmax attention; masked keys get no weight (equal weights where all are masked).

    Args:
        query: Queries of b sets of n tokens.
        key: Keys, of the same m = n tokens or of others.
        value: Values of these.
        bias: Added to the logits of all sets.
        mask: (n,). Points whose masks differ belong to different functions and do not see each
            other.
        pairs: Which keys (columns) a query (row) sees, in place of a mask: a directed one.
        backend: `implementation` of jax.nn.dot_product_attention, or "folded"; None for the latter
            on processors. Float64 is always folded.
    """
    pairs = same_function(mask) if pairs is None and mask is not None else pairs
    if _folds(query.dtype, backend):
        return _attend_folded(query, key, value, bias, pairs)
    keep = None if pairs is None else pairs[None, None]
    bias = None if bias is None else bias[None]
    if backend == "cudnn":  # wants full shapes and one dtype
        shape = (query.shape[0], query.shape[2], query.shape[1], key.shape[1])
        keep = None if keep is None else jnp.broadcast_to(keep, shape)
        bias = None if bias is None else jnp.broadcast_to(bias, shape).astype(query.dtype)
    with jax.numpy_dtype_promotion("standard"):  # bfloat16 inputs, float32 logits
        options: Any = {"implementation": backend}
        return jax.nn.dot_product_attention(query, key, value, bias, keep, **options)


def _folds(dtype: np.dtype, backend: str | None) -> bool:
    """Whether attention is folded: where it was chosen, and on processors unless it was not.

    In float64 always: jax.nn.dot_product_attention takes its softmax in float32 whatever comes in.
    """
    if dtype == jnp.float64 or backend == "folded":
        return True
    return backend is None and dtype == jnp.float32 and jax.default_backend() == "cpu"


def _attend_folded(
    query: Float[Array, "b n h c"],
    key: Float[Array, "b m h c"],
    value: Float[Array, "b m h c"],
    bias: Float[Array, "h n m"] | None,
    pairs: Bool[Array, "n m"] | None,
) -> Float[Array, "b n h c"]:
    """Attention for processors: mask and bias folded into one array, normalised at the end.

    Mask and bias do not depend on the values, so that under `vmap` over samples they are one array.
    Weights have their queries last: maxima and sums over the keys then run along contiguous rows.
    The division by the sum of the weights acts on the outputs, which are fewer than the weights.
    """
    logits = jnp.einsum("bjhc,bihc->bhji", key, query / math.sqrt(query.shape[-1]))
    if pairs is not None:
        plain = jnp.zeros((), logits.dtype) if bias is None else bias
        lowest = jnp.asarray(0.5 * jnp.finfo(logits.dtype).min, logits.dtype)
        bias = jnp.where(pairs[None], plain, lowest)
    if bias is not None:
        logits = logits + jnp.swapaxes(bias, 1, 2)[None]
    highest = jax.lax.stop_gradient(jnp.max(logits, axis=2, keepdims=True))
    weights = jnp.exp(logits - highest)
    mixed = jnp.einsum("bhji,bjhc->bhci", weights, value)
    return jnp.transpose(mixed / jnp.sum(weights, axis=2, keepdims=True), (0, 3, 1, 2))


def relative_inputs(x: Inputs) -> Float[Array, "d n n"]:
    """Differences x_i - x_j, coordinates first."""
    return x.T[:, :, None] - x.T[:, None, :]


def centred(x: Inputs, mask: Mask) -> Inputs:
    """Inputs relative to the centre of mass of the real points of their function."""
    # A reference point goes first: differences of nearby floats are exact, far means are not.
    lowest = jnp.finfo(x.dtype).min
    reference = jax.lax.stop_gradient(jnp.max(jnp.where(mask[:, None] > 0, x, lowest), axis=0))
    offsets = zero_masked(x - reference[None, :], mask)
    together = same_function(mask).astype(x.dtype)
    count = jnp.maximum(jnp.sum(together, axis=1), 1.0)
    centre = jnp.matmul(together, offsets, precision="highest") / count[:, None]
    return zero_masked(offsets - centre, mask)


def chords(offsets: Float[Array, "d n n"], periods: tuple[float, ...]) -> Float[Array, "d n n"]:
    r"""Offsets of periodic coordinates as chords of their circles, $P/\pi \sin(\pi d / P)$.

    Args:
        offsets: Differences x_i - x_j, coordinates first.
        periods: Period P of every coordinate, zero where it has none; empty where none has one.
    """
    if not any(periods):
        return offsets
    rows = zip(offsets, periods, strict=True)
    bent = [p / np.pi * jnp.sin(np.pi / p * row) if p else row for row, p in rows]
    return jnp.stack(bent)


def distance_decay(
    x: Inputs,
    num_heads: int,
    min_length: float,
    max_length: float,
    periods: tuple[float, ...] = (),
) -> Float[Array, "h n n"]:
    """Distances times one slope per head: each rises by 1 over a length of its own.

    Args:
        x: Inputs (n, d).
        num_heads: Number of slopes, in geometric progression.
        min_length: Length of the steepest, in units of the inputs.
        max_length: Length of the flattest.
        periods: As those of `chords`.
    """
    square = jnp.sum(chords(relative_inputs(x), periods) ** 2, axis=0)
    distance = jnp.sqrt(square + (0.1 * min_length) ** 2)
    slopes = jnp.asarray(1 / np.geomspace(max_length, min_length, num_heads), x.dtype)
    return slopes[:, None, None] * distance[None]


class RelativeBias(eqx.Module):
    r"""One MLP of Fourier features of $x_i - x_j$, with an output for every layer and head.

    The biases of all layers come at once, since they depend on the inputs alone.

    Args:
        dim: Number of input coordinates.
        layers: Number of layers.
        heads: Number of attention heads per layer.
        hidden: Width of the MLP.
        features: Fourier features of the relative inputs.
        dtype: Dtype of the parameters.
        key: Random key.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    features: FourierFeatures
    num_layers: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        layers: int,
        heads: int,
        hidden: int,
        features: FourierFeatures,
        *,
        dtype: str,
        key: PRNGKeyArray,
    ):
        _validation.at_least(1, bias_width=hidden)
        inner_key, outer_key = jr.split(key)
        options = {"use_bias": False, "dtype": dtype}
        self.inner = eqx.nn.Linear(2 * features.count(dim), hidden, **options, key=inner_key)
        self.outer = eqx.nn.Linear(hidden, layers * heads, **options, key=outer_key)
        self.features = features
        self.num_layers = layers

    def __call__(self, x: Inputs, dtype: np.dtype) -> list[Float[Array, "h n n"]]:
        """Biases of each layer in `dtype`; attention never reads those of masked pairs."""
        angles = self.features.angles(relative_inputs(x))
        features = jnp.concatenate(cos_and_sin(angles)).astype(dtype)
        hidden = jax.nn.relu(linear_first(self.inner, features))
        learnt = jnp.split(linear_first(self.outer, hidden), self.num_layers)
        lengths = (self.features.min_wavelength, self.features.max_wavelength)
        decay = distance_decay(x, len(learnt[0]), *lengths, self.features.periods).astype(dtype)
        return [bias - decay for bias in learnt]
