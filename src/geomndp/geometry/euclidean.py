"""Flat space: every map is trivial."""

import math

import jax.numpy as jnp

from geomndp.geometry.base import AbstractFamily, norm


class Euclidean(AbstractFamily):
    """R^d."""

    @property
    def ambient_dim(self) -> int:
        return self.d

    @property
    def flat(self) -> bool:
        return True

    @property
    def log_volume(self) -> float:
        return math.inf

    def exp(self, y, v):
        return y + v

    def log(self, y, z):
        return z - y

    def distance(self, y, z):
        return norm(z - y)[..., 0]

    def project(self, y, v):
        return v

    def retract(self, y):
        return y

    def from_tangent_coords(self, y, c):
        return jnp.asarray(c)

    def to_tangent_coords(self, y, v):
        return jnp.asarray(v)
