"""A latent variable on a grid: independent normal numbers at every cell and channel."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, PRNGKeyArray, Scalar


class LatentField(NamedTuple):
    """Independent normal numbers at every cell and channel of a grid."""

    mean: Float[Array, "k ..."]
    std: Float[Array, "k ..."]

    def sample(self, *, key: PRNGKeyArray) -> Float[Array, "k ..."]:
        """Draw one field."""
        return self.mean + self.std * jr.normal(key, self.mean.shape, self.mean.dtype)

    def log_prob(self, z: Float[Array, "k ..."]) -> Scalar:
        """Log-density of a field, without the constant that all fields share."""
        return -jnp.sum(0.5 * ((z - self.mean) / self.std) ** 2 + jnp.log(self.std))

    def kl(self, other: LatentField) -> Scalar:
        """Kullback-Leibler divergence of this field from another, in nats."""
        ratio = self.std / other.std
        shift = (self.mean - other.mean) / other.std
        return jnp.sum(0.5 * (ratio**2 + shift**2 - 1) - jnp.log(ratio))
