r"""Transformers with biases from relative inputs: their hyperparameters, the biases, the network.

The biases, one per layer and head, are invariant to translations: each is a learnt bounded function
of $x_i - x_j$ minus $s_h |x_i - x_j|$ with fixed slopes $s_h$, one per head (ALiBi: Press et al.,
2022). Heads start at different ranges; pairs further apart than any in training get no weight.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Times, Values
from geomndp.nets.attention import check_heads
from geomndp.nets.base import AbstractNet, check_compute
from geomndp.nets.cos_and_sin import cos_and_sin
from geomndp.nets.covariates import CovariateConfig
from geomndp.nets.layers import FourierFeatures, clean_inputs, linear_first


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


def relative_inputs(x: Inputs) -> Float[Array, "d n n"]:
    """Differences x_i - x_j, coordinates first."""
    return x.T[:, :, None] - x.T[:, None, :]


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
        config: Configuration of the transformer.
        key: Random key.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    features: FourierFeatures
    num_layers: int = eqx.field(static=True)

    def __init__(self, config: TransformerConfig, *, key: PRNGKeyArray):
        c, hidden = config, config.bias_width
        _validation.at_least(1, bias_width=hidden)
        wavelengths = (c.min_wavelength, c.max_wavelength)
        self.features = FourierFeatures(c.num_frequencies, *wavelengths, c.input_periods)
        inner_key, outer_key = jr.split(key)
        size, options = 2 * self.features.count(c.num_inputs), {"use_bias": False, "dtype": c.dtype}
        self.inner = eqx.nn.Linear(size, hidden, **options, key=inner_key)
        self.outer = eqx.nn.Linear(hidden, c.num_layers * c.num_heads, **options, key=outer_key)
        self.num_layers = c.num_layers

    def __call__(self, x: Inputs, dtype: np.dtype) -> list[Float[Array, "h n n"]]:
        """Biases of each layer in `dtype`; attention never reads those of masked pairs."""
        angles = self.features.angles(relative_inputs(x))
        features = jnp.concatenate(cos_and_sin(angles)).astype(dtype)
        hidden = jax.nn.relu(linear_first(self.inner, features))
        learnt = jnp.split(linear_first(self.outer, hidden), self.num_layers)
        lengths = (self.features.min_wavelength, self.features.max_wavelength)
        decay = distance_decay(x, len(learnt[0]), *lengths, self.features.periods).astype(dtype)
        return [bias - decay for bias in learnt]


Config = TypeVar("Config", bound=TransformerConfig)


class AbstractTransformer(AbstractNet[Config]):
    """A network whose attention has a `RelativeBias`, which is all that it prepares."""

    if TYPE_CHECKING:  # a field here would stand first: checkpoints hold arrays in order of fields
        bias: RelativeBias

    def prepare(self, x: Inputs, mask: Mask | None = None) -> list[Float[Array, "h n n"]]:
        """Biases of every layer."""
        x, _ = clean_inputs(self, x, mask)
        return self._biases(x, x.dtype)

    def _biases(self, x: Inputs, dtype: Any) -> list[Float[Array, "h n n"]]:
        inputs = x[:, : self.config.num_inputs]
        return self.bias(inputs, jnp.dtype(self.config.compute_dtype or dtype))

    def __call__(self, t: Times, x: Inputs, y: Values, mask: Mask | None = None) -> Outputs:
        return self.call_prepared(None, t, x, y, mask)
