"""Products of manifolds, their coordinates side by side; the flat torus."""

import math

import jax.numpy as jnp
import numpy as np

from geomndp import _model_files
from geomndp.geometry.base import AbstractFamily, AbstractManifold, Array
from geomndp.geometry.heat.kernel import Independent
from geomndp.geometry.sphere import Sphere
from geomndp.linalg import safe_sqrt

CIRCLE = Sphere(1)


@_model_files.tagged("manifold/product")
class ProductManifold(AbstractManifold):
    """Product of manifolds; a point is the points of the factors one after the other.

    Args:
        factors: The manifolds, at least one.

    Example:
        `ProductManifold((Sphere(2), Euclidean(1)))`: locations on the Earth with a height.
    """

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
        """Coordinates of every factor.

        Args:
            y: Points or vectors, shape (..., p).

        Returns:
            One array per factor, each with the factor's own last axis.
        """
        sizes = [factor.ambient_dim for factor in self.factors]
        return jnp.split(y, np.cumsum(sizes)[:-1], axis=-1)

    def _each(self, method: str, *arrays: Array) -> Array:
        by_factor = zip(self.factors, *map(self.split, arrays), strict=True)
        return jnp.concatenate([getattr(f, method)(*rest) for f, *rest in by_factor], axis=-1)

    def exp(self, y, v):
        return self._each("exp", y, v)

    def log(self, y, z):
        return self._each("log", y, z)

    def distance(self, y, z):
        by_factor = zip(self.factors, self.split(y), self.split(z), strict=True)
        square = sum(factor.distance(a, b) ** 2 for factor, a, b in by_factor)
        return safe_sqrt(jnp.asarray(square))

    def project(self, y, v):
        return self._each("project", y, v)

    def retract(self, y):
        return self._each("retract", y)

    def from_tangent_coords(self, y, c):
        ends = np.cumsum([factor.dim for factor in self.factors])[:-1]
        by_factor = zip(self.factors, self.split(y), jnp.split(c, ends, axis=-1), strict=True)
        return jnp.concatenate([f.from_tangent_coords(a, b) for f, a, b in by_factor], axis=-1)

    def to_tangent_coords(self, y, v):
        return self._each("to_tangent_coords", y, v)

    def heat_kernel(self):
        kernels = [factor.heat_kernel() for factor in self.factors]
        known = tuple(kernel for kernel in kernels if kernel is not None)
        sizes = tuple(factor.ambient_dim for factor in self.factors)
        return Independent(known, sizes) if len(known) == len(kernels) else None


@_model_files.tagged("manifold/torus")
class Torus(AbstractFamily):
    """Flat torus T^d, points (..., 2 d): cosine and sine of the first angle, then of the second...

    Args:
        d: Number of angles.
    """

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
        return safe_sqrt(square)

    def project(self, y, v):
        return joined(CIRCLE.project(circles(y), circles(v)))

    def retract(self, y):
        return joined(CIRCLE.retract(circles(y)))

    def from_tangent_coords(self, y, c):
        return joined(CIRCLE.from_tangent_coords(circles(y), c[..., None]))

    def to_tangent_coords(self, y, v):
        return CIRCLE.to_tangent_coords(circles(y), circles(v))[..., 0]

    def heat_kernel(self):
        return ProductManifold((CIRCLE,) * self.d).heat_kernel()


def circles(y: Array) -> Array:
    """One row per circle."""
    return y.reshape(*y.shape[:-1], -1, 2)


def joined(y: Array) -> Array:
    """All circles in one row."""
    return y.reshape(*y.shape[:-2], -1)
