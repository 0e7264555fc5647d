r"""Attention biases from relative inputs: one per layer and head, invariant to translations.

Each is a learnt bounded function of $x_i - x_j$ minus $s_h |x_i - x_j|$ with fixed slopes $s_h$,
one per head (Press et al., 2022, ALiBi): heads start at different ranges, and pairs further apart
than any seen in training get no weight.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, PRNGKeyArray
from geomndp.nets.embeddings import FourierFeatures
from geomndp.nets.layers import linear_first


def relative_inputs(x: Inputs) -> Float[Array, "d n n"]:
    """Differences x_i - x_j, coordinates first."""
    return x.T[:, :, None] - x.T[:, None, :]


def distance_decay(
    x: Inputs, num_heads: int, min_length: float, max_length: float
) -> Float[Array, "h n n"]:
    """Distances times one slope per head: each rises by 1 over a length of its own.

    Args:
        x: Inputs (n, d).
        num_heads: Number of slopes, in geometric progression.
        min_length: Length of the steepest, in units of the inputs.
        max_length: Length of the flattest.
    """
    square = jnp.sum(relative_inputs(x) ** 2, axis=0)
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
        self.inner = eqx.nn.Linear(2 * features.num * dim, hidden, **options, key=inner_key)
        self.outer = eqx.nn.Linear(hidden, layers * heads, **options, key=outer_key)
        self.features = features
        self.num_layers = layers

    def __call__(self, x: Inputs, dtype: np.dtype) -> list[Float[Array, "h n n"]]:
        """Biases of each layer in `dtype`; attention never reads those of masked pairs."""
        angles = self.features.angles(relative_inputs(x))
        features = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)]).astype(dtype)
        hidden = jax.nn.relu(linear_first(self.inner, features))
        learnt = jnp.split(linear_first(self.outer, hidden), self.num_layers)
        lengths = (self.features.min_wavelength, self.features.max_wavelength)
        decay = distance_decay(x, len(learnt[0]), *lengths).astype(dtype)
        return [bias - decay for bias in learnt]
