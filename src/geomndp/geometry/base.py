"""The interface of manifolds, and flat space.

A manifold is a subset of R^p with the metric of R^p: points and tangent vectors are arrays
(..., p), inner products are those of R^p, gradients and divergences come from derivatives there.
"""

import abc
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _model_files, _validation
from geomndp._arrays import bucket, put
from geomndp._deprecated import RenamedMethods, renamed_attribute
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.geometry.heat.kernel import AbstractHeatKernel, Flat, Lengths, ManifoldPoints
from geomndp.linalg import norm

Coordinates = Float[Array, "*n k"]
"""Vectors in an orthonormal basis of the tangent space."""


class AbstractManifold(RenamedMethods, eqx.Module):
    """Smooth subset of R^p, p = `ambient_dim`, of dimension `dim`, with the metric of R^p.

    Subclass it for a manifold of your own: the abstract methods are needed, `heat_kernel` makes
    training exact where there is one in closed form, and `geomndp.register` names the class in
    model files.
    """

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
    def exp(self, y: ManifoldPoints, v: ManifoldPoints) -> ManifoldPoints:
        """End (..., p) of the geodesic that leaves y with velocity v, after unit time.

        Args:
            y: Points, shape (..., p).
            v: Tangent vectors there, shape (..., p).
        """

    @abc.abstractmethod
    def log(self, y: ManifoldPoints, z: ManifoldPoints) -> ManifoldPoints:
        """Velocity (..., p) at y of the shortest geodesic to z; of one of them at the cut locus.

        Args:
            y: Points, shape (..., p).
            z: Points, shape (..., p).
        """

    @abc.abstractmethod
    def distance(self, y: ManifoldPoints, z: ManifoldPoints) -> Lengths:
        """Length (...) of the shortest geodesic; radians on the unit sphere.

        Args:
            y: Points, shape (..., p).
            z: Points, shape (..., p).
        """

    @abc.abstractmethod
    def project(self, y: ManifoldPoints, v: ManifoldPoints) -> ManifoldPoints:
        """Orthogonal projection of v onto the tangent space at y, shape (..., p).

        Args:
            y: Points, shape (..., p).
            v: Vectors of R^p, shape (..., p).
        """

    @abc.abstractmethod
    def retract(self, y: ManifoldPoints) -> ManifoldPoints:
        """Map vectors to points (..., p), smoothly; the identity on the manifold itself.

        White noise in R^p becomes a uniform draw; zero becomes some point.

        Args:
            y: Vectors of R^p, shape (..., p).
        """

    @abc.abstractmethod
    def from_tangent_coords(self, y: ManifoldPoints, c: Coordinates) -> ManifoldPoints:
        """Tangent vector (..., p) of given coordinates in an orthonormal basis at y.

        Args:
            y: Points, shape (..., p).
            c: Coordinates, shape (..., dim).
        """

    @abc.abstractmethod
    def to_tangent_coords(self, y: ManifoldPoints, v: ManifoldPoints) -> Coordinates:
        """Coordinates (..., dim) of the tangent part of v in that basis.

        Args:
            y: Points, shape (..., p).
            v: Vectors of R^p, shape (..., p).
        """

    def basis(self, y: ManifoldPoints) -> Float[Array, "*n k p"]:
        """Orthonormal basis of the tangent space at y, as rows: shape (..., dim, p).

        Args:
            y: Points, shape (..., p).
        """
        c = jnp.broadcast_to(jnp.eye(self.dim, dtype=y.dtype), (*y.shape[:-1], self.dim, self.dim))
        points = jnp.broadcast_to(y[..., None, :], (*c.shape[:-1], y.shape[-1]))
        return self.from_tangent_coords(points, c)

    def uniform(self, n: int, *, key: PRNGKeyArray, dtype=None) -> Float[Array, "n p"]:
        """Draw points from the uniform law of a compact manifold, shape (n, p).

        Args:
            n: Number of points.
            key: Random key.
            dtype: Floating-point type, JAX's default without.
        """
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
        """Raise ValueError unless points lie on the manifold, up to the rounding of float32.

        Args:
            name: What the points are called in the message.
            y: Points, shape (n, p); nothing is checked while JAX traces them.
            mask: 1 for rows that count, shape (n,).

        Raises:
            ValueError: With the rows that are off the manifold.
        """
        if self.flat or not (_validation.concrete(y) and _validation.concrete(mask)):
            return
        rows = np.asarray(y)[np.minimum(np.arange(bucket(len(y))), len(y) - 1)]  # few shapes
        with jax.ensure_compile_time_eval():  # other values may be traced
            near = np.asarray(self.retract(put(rows)))
        away = np.linalg.norm(rows - near, axis=-1)[: len(y)]
        # What float32 data keep, times a hundred: as data are stored, so are they near.
        wrong = ~(away < 1e-5)
        bad = np.flatnonzero(wrong if mask is None else wrong & (np.asarray(mask) > 0))
        if bad.size:
            rows = ", ".join(map(str, bad[:8])) + (", ..." if bad.size > 8 else "")
            manifold = type(self).__name__
            raise ValueError(f"expected {name} on {manifold}, got points off it in rows {rows}")


class AbstractFamily(AbstractManifold):
    """Manifolds that exist in every dimension d = 1, 2, ...

    Args:
        d: Dimension.
    """

    d: int = eqx.field(static=True)

    def __check_init__(self):
        _validation.at_least(1, d=self.d)

    @property
    def dim(self) -> int:
        return self.d


@_model_files.tagged("manifold/euclidean")
class Euclidean(AbstractFamily):
    """Flat space R^d.

    Args:
        d: Dimension.
    """

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
