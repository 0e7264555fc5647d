"""The interface of manifolds, and flat space.

A manifold is a subset of R^p with the metric of R^p: points and tangent vectors are arrays
(..., p), inner products are those of R^p, gradients and divergences come from derivatives there.
"""

import abc
import math

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _registry, _validation
from geomndp._arrays import bucket, put
from geomndp._deprecated import RenamedMethods, renamed_attribute
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.geometry.heat.kernel import AbstractHeatKernel, Flat, Lengths, Points
from geomndp.linalg import norm

Coordinates = Float[Array, "*n k"]
"""Vectors in an orthonormal basis of the tangent space."""


class AbstractManifold(RenamedMethods, eqx.Module):
    """Smooth subset of R^p, p = `ambient_dim`, of dimension `dim`."""

    onto = renamed_attribute("retract")
    embed = renamed_attribute("from_tangent_coords")
    coordinates = renamed_attribute("to_tangent_coords")

    @property
    @abc.abstractmethod
    def dim(self) -> int:
        """Dimension of the tangent spaces."""

    @property
    @abc.abstractmethod
    def ambient_dim(self) -> int:
        """Number of coordinates of a point."""

    @property
    def flat(self) -> bool:
        """Whether this is R^p itself."""
        return False

    @property
    @abc.abstractmethod
    def log_volume(self) -> float:
        """Logarithm of the volume, infinite for R^p."""

    @property
    def volume(self) -> float:
        """Volume with respect to the metric."""
        return math.exp(self.log_volume)

    @abc.abstractmethod
    def exp(self, y: Points, v: Points) -> Points:
        """End of the geodesic that leaves y with velocity v, after unit time."""

    @abc.abstractmethod
    def log(self, y: Points, z: Points) -> Points:
        """Velocity at y of the shortest geodesic to z; one of them where there are several."""

    @abc.abstractmethod
    def distance(self, y: Points, z: Points) -> Lengths:
        """Length of the shortest geodesic."""

    @abc.abstractmethod
    def project(self, y: Points, v: Points) -> Points:
        """Tangent part at y of a vector of R^p."""

    @abc.abstractmethod
    def retract(self, y: Points) -> Points:
        """Move a vector of R^p to the manifold: smooth, and the identity on the manifold itself.

        White noise in R^p becomes a uniform draw; zero becomes some point.
        """

    @abc.abstractmethod
    def from_tangent_coords(self, y: Points, c: Coordinates) -> Points:
        """Tangent vector at y with coordinates c in an orthonormal basis."""

    @abc.abstractmethod
    def to_tangent_coords(self, y: Points, v: Points) -> Coordinates:
        """Coordinates of the tangent part of v in that basis."""

    def basis(self, y: Points) -> Float[Array, "*n k p"]:
        """Orthonormal basis of the tangent space at y, one vector a row."""
        c = jnp.broadcast_to(jnp.eye(self.dim, dtype=y.dtype), (*y.shape[:-1], self.dim, self.dim))
        points = jnp.broadcast_to(y[..., None, :], (*c.shape[:-1], y.shape[-1]))
        return self.from_tangent_coords(points, c)

    def uniform(self, n: int, *, key: PRNGKeyArray, dtype=None) -> Float[Array, "n p"]:
        """Draw n points from the uniform law."""
        if not math.isfinite(self.log_volume):
            raise ValueError("expected a compact manifold for a uniform law, got an unbounded one")
        return self.retract(jr.normal(key, (n, self.ambient_dim), dtype=dtype))

    @property
    def negative_type(self) -> bool:
        """Whether the distance is of negative type, so that the energy score is proper."""
        return False

    def heat_kernel(self) -> AbstractHeatKernel | None:
        """Law of Brownian motion in closed form; None where there is none."""
        return None

    def check(self, name: str, y, mask=None) -> None:
        """Refuse points that are off the manifold by more than rounding, naming the rows."""
        if self.flat or not (_validation.concrete(y) and _validation.concrete(mask)):
            return
        rows = np.asarray(y)[np.minimum(np.arange(bucket(len(y))), len(y) - 1)]  # few shapes
        away = np.linalg.norm(rows - np.asarray(self.retract(put(rows))), axis=-1)[: len(y)]
        # What float32 data keep, times a hundred: as data are stored, so are they near.
        wrong = ~(away < 1e-5)
        bad = np.flatnonzero(wrong if mask is None else wrong & (np.asarray(mask) > 0))
        if bad.size:
            rows = ", ".join(map(str, bad[:8])) + (", ..." if bad.size > 8 else "")
            kind = type(self).__name__
            raise ValueError(f"expected {name} on {kind}, got points off it in rows {rows}")


class AbstractFamily(AbstractManifold):
    """A manifold for every d = 1, 2, ..., its dimension."""

    d: int = eqx.field(static=True)

    def __check_init__(self):
        _validation.at_least(1, d=self.d)

    @property
    def dim(self) -> int:
        return self.d


@_registry.tagged("manifold/euclidean")
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

    @property
    def negative_type(self) -> bool:
        return True

    def heat_kernel(self):
        return Flat()


def divide(a: Array, b: Array, otherwise: float) -> Array:
    """a / b, and `otherwise` where b is zero, without NaN in gradients."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), otherwise)


def unit(v: Points, axis: int = 0) -> Points:
    """Direction of v; that of a coordinate axis where v is zero."""
    length = norm(v)
    fallback = jnp.zeros_like(v).at[..., axis].set(1.0)
    return jnp.where(length > 0, v / jnp.where(length > 0, length, 1.0), fallback)


def sinc(x: Array) -> Array:
    """sin(x) / x."""
    return jnp.sinc(x / math.pi)
