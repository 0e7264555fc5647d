"""The flat torus, a product of unit circles."""

import math

import jax.numpy as jnp

from geomndp.geometry.base import AbstractFamily, Array
from geomndp.geometry.sphere import Sphere

CIRCLE = Sphere(1)


class Torus(AbstractFamily):
    """T^d, points (..., 2 d): cosine and sine of the first angle, of the second, and so on."""

    @property
    def ambient_dim(self) -> int:
        return 2 * self.d

    @property
    def log_volume(self) -> float:
        return self.d * math.log(2 * math.pi)

    def exp(self, y, v):
        return joined(CIRCLE.exp(circles(y), circles(v)))

    def log(self, y, z):
        return joined(CIRCLE.log(circles(y), circles(z)))

    def distance(self, y, z):
        angles = CIRCLE.distance(circles(y), circles(z))
        square = jnp.sum(angles**2, axis=-1)
        return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)

    def project(self, y, v):
        return joined(CIRCLE.project(circles(y), circles(v)))

    def retract(self, y):
        return joined(CIRCLE.retract(circles(y)))

    def from_tangent_coords(self, y, c):
        return joined(CIRCLE.from_tangent_coords(circles(y), c[..., None]))

    def to_tangent_coords(self, y, v):
        return CIRCLE.to_tangent_coords(circles(y), circles(v))[..., 0]


def circles(y: Array) -> Array:
    """One row a circle."""
    return y.reshape(*y.shape[:-1], -1, 2)


def joined(y: Array) -> Array:
    """All circles in one row."""
    return y.reshape(*y.shape[:-2], -1)
