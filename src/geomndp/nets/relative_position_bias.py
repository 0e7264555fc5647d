r"""Attention biases from relative inputs: one per layer and head, invariant to translations.

Each is a learnt bounded function of $x_i - x_j$ less $s_h |x_i - x_j|$ with fixed slopes $s_h$, one
a head (Press et al., 2022, ALiBi): heads start at different ranges, and pairs further apart than
any seen in training are forgotten rather than guessed.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, Inputs, PRNGKeyArray
from geomndp.nets.embeddings import fourier_angles
from geomndp.nets.layers import linear_first


class Scales(eqx.Module):
    """Fourier features: how many, and between which wavelengths (in units of the inputs)."""

    num: int = eqx.field(static=True)
    shortest: float = eqx.field(static=True)
    longest: float = eqx.field(static=True)

    def __check_init__(self):
        _validation.at_least(1, num_frequencies=self.num)
        if not 0 < self.shortest < self.longest:
            got = f"{self.shortest}, {self.longest}"
            raise ValueError(f"expected 0 < min_wavelength < max_wavelength, got {got}")

    def angles(self, x: Float[Array, "d *m"]) -> Float[Array, "k *m"]:
        """Angles of each coordinate at each wavelength."""
        return fourier_angles(x, self.num, self.shortest, self.longest)

    def decay(self, x: Inputs, num_heads: int) -> Float[Array, "h n n"]:
        """Distances times a slope a head, rising by 1 over lengths between the wavelengths."""
        distance = jnp.sqrt(jnp.sum(differences(x) ** 2, axis=0) + (0.1 * self.shortest) ** 2)
        slopes = jnp.asarray(1 / np.geomspace(self.longest, self.shortest, num_heads), x.dtype)
        return slopes[:, None, None] * distance[None]

    def per_layer(self, biases: Float[Array, "lh n n"], x: Inputs, layers: int) -> list[Array]:
        """Part the learnt biases by layer, and let each fall off with the distance."""
        parts = jnp.split(biases, layers)
        decay = self.decay(x, len(parts[0])).astype(biases.dtype)
        return [part - decay for part in parts]


def differences(x: Inputs) -> Float[Array, "d n n"]:
    """Relative inputs x_i - x_j, coordinates first."""
    return x.T[:, :, None] - x.T[:, None, :]


class RelativeBias(eqx.Module):
    r"""One MLP of Fourier features of $x_i - x_j$, with an output for every layer and head.

    The biases of all layers come at once, since they depend on the inputs alone.
    """

    inner: eqx.nn.Linear
    outer: eqx.nn.Linear
    scales: Scales
    num_layers: int = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        layers: int,
        heads: int,
        hidden: int,
        scales: Scales,
        *,
        dtype: str,
        key: PRNGKeyArray,
    ):
        _validation.at_least(1, bias_width=hidden)
        inner_key, outer_key = jr.split(key)
        options = {"use_bias": False, "dtype": dtype}
        self.inner = eqx.nn.Linear(2 * scales.num * dim, hidden, **options, key=inner_key)
        self.outer = eqx.nn.Linear(hidden, layers * heads, **options, key=outer_key)
        self.scales = scales
        self.num_layers = layers

    def __call__(self, x: Inputs, dtype: np.dtype) -> list[Float[Array, "h n n"]]:
        """Return one array a layer in `dtype`; attention never reads those of masked pairs."""
        angles = self.scales.angles(differences(x))
        features = jnp.concatenate([jnp.cos(angles), jnp.sin(angles)]).astype(dtype)
        hidden = jax.nn.relu(linear_first(self.inner, features))
        return self.scales.per_layer(linear_first(self.outer, hidden), x, self.num_layers)
