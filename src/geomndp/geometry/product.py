"""Products of manifolds: coordinates side by side."""

import jax.numpy as jnp
import numpy as np

from geomndp.geometry.base import AbstractManifold, Array


class Product(AbstractManifold):
    """Points of the factors one after the other."""

    factors: tuple[AbstractManifold, ...]

    def __check_init__(self):
        if not self.factors:
            raise ValueError("expected at least one factor, got none")

    @property
    def dim(self) -> int:
        return sum(factor.dim for factor in self.factors)

    @property
    def ambient_dim(self) -> int:
        return sum(factor.ambient_dim for factor in self.factors)

    @property
    def flat(self) -> bool:
        return all(factor.flat for factor in self.factors)

    @property
    def log_volume(self) -> float:
        return sum(factor.log_volume for factor in self.factors)

    def split(self, y: Array) -> list[Array]:
        """Coordinates of every factor."""
        sizes = [factor.ambient_dim for factor in self.factors]
        return jnp.split(y, np.cumsum(sizes)[:-1], axis=-1)

    def _each(self, method: str, *arrays: Array) -> Array:
        parts = zip(self.factors, *map(self.split, arrays), strict=True)
        return jnp.concatenate([getattr(f, method)(*rest) for f, *rest in parts], axis=-1)

    def exp(self, y, v):
        return self._each("exp", y, v)

    def log(self, y, z):
        return self._each("log", y, z)

    def distance(self, y, z):
        parts = zip(self.factors, self.split(y), self.split(z), strict=True)
        square = sum(factor.distance(a, b) ** 2 for factor, a, b in parts)
        return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)

    def project(self, y, v):
        return self._each("project", y, v)

    def retract(self, y):
        return self._each("retract", y)

    def from_tangent_coords(self, y, c):
        ends = np.cumsum([factor.dim for factor in self.factors])[:-1]
        parts = zip(self.factors, self.split(y), jnp.split(c, ends, axis=-1), strict=True)
        return jnp.concatenate([f.from_tangent_coords(a, b) for f, a, b in parts], axis=-1)

    def to_tangent_coords(self, y, v):
        return self._each("to_tangent_coords", y, v)
