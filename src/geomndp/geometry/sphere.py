r"""The unit sphere of R^(d+1).

With $\theta$ the angle between y and z: $\exp_y v = \cos|v| y + \sin|v| v / |v|$ and
$\log_y z = \theta P(z - y) / |P(z - y)|$, P the tangent projection at y. Angles come from
$2 \arctan(|y - z| / |y + z|)$, which loses nothing near 0 nor near $\pi$.
"""

import math

import jax.numpy as jnp
import numpy as np

from geomndp import _model_files
from geomndp._types import Array
from geomndp.geometry.base import AbstractFamily
from geomndp.geometry.heat import densities
from geomndp.geometry.heat.kernel import ManifoldPoints
from geomndp.geometry.heat.radial import Radial
from geomndp.linalg import norm


@_model_files.tagged("manifold/sphere")
class Sphere(AbstractFamily):
    """Unit sphere S^d, points (..., d + 1) of length one; `Sphere(1)` is the circle.

    Distances and tangent vectors are in radians, times of its heat kernel in radians squared.

    Args:
        d: Dimension: 2 for the surface of the Earth.
    """

    @property
    def ambient_dim(self) -> int:
        return self.d + 1

    @property
    def log_volume(self) -> float:
        half = (self.d + 1) / 2
        return math.log(2) + half * math.log(math.pi) - math.lgamma(half)

    def exp(self, y, v):
        length = norm(v)
        # Rounding must not add up over the steps of a walk.
        return self.retract(jnp.cos(length) * y + sinc(length) * v)

    def log(self, y, z):
        angle = self.distance(y, z)[..., None]
        # z - y and z + y have one tangent part: the shorter of the two has it without rounding.
        across = self.project(y, jnp.where(angle > 2, z + y, z - y))
        length = norm(across)
        v = divide(angle, length, 1.0) * across
        # At the antipode every direction is shortest: take the first of the basis.
        first = jnp.zeros_like(y).at[..., 0].set(1.0)[..., : self.d]
        opposite = (length < 2 * jnp.finfo(y.dtype).eps) & (angle > 2)
        return jnp.where(opposite, angle * self.from_tangent_coords(y, first), v)

    def distance(self, y, z):
        near, far = norm(y - z)[..., 0], norm(y + z)[..., 0]
        # Where both vanish (padding of zeros) the angle is zero, and so is its gradient.
        both = near + far > 0
        return jnp.where(both, 2 * jnp.arctan2(near, jnp.where(both, far, 1.0)), 0.0)

    def project(self, y, v):
        return v - jnp.sum(y * v, axis=-1, keepdims=True) * y

    def retract(self, y):
        return unit(y)

    def from_tangent_coords(self, y, c):
        axis, factor, sign = self._mirror(y)
        along = jnp.sum(axis[..., :-1] * c, axis=-1, keepdims=True)
        padded = jnp.concatenate([c, jnp.zeros_like(c[..., :1])], axis=-1)
        return sign * (padded - factor * along * axis)

    def to_tangent_coords(self, y, v):
        axis, factor, sign = self._mirror(y)
        return (sign * (v - factor * jnp.sum(axis * v, axis=-1, keepdims=True) * axis))[..., :-1]

    def _mirror(self, y):
        """Householder reflection between y and the nearer of the two last-axis poles.

        The sign turns it into a rotation that leaves the pole's own basis as it is.
        """
        sign = jnp.where(y[..., -1:] >= 0, 1.0, -1.0).astype(y.dtype)
        axis = y.at[..., -1:].add(sign)
        return axis, 2 / jnp.sum(axis**2, axis=-1, keepdims=True), sign

    @property
    def negative_type(self) -> bool:
        return True

    def heat_kernel(self):
        if self.d == 1:
            return Radial(self, densities.circle, None, math.pi)
        return Radial(self, densities.sphere, circle_area, math.pi) if self.d == 2 else None


def circle_area(r: np.ndarray) -> np.ndarray:
    """Log-circumference of a circle of radius r on the sphere."""
    return np.log(2 * math.pi * np.sin(r))


def divide(a: Array, b: Array, otherwise: float) -> Array:
    """a / b, and `otherwise` where b is zero, without NaN in gradients."""
    return jnp.where(b > 0, a / jnp.where(b > 0, b, 1.0), otherwise)


def unit(v: ManifoldPoints, axis: int = 0) -> ManifoldPoints:
    """Direction of v; that of a coordinate axis where v is zero."""
    length = norm(v)
    fallback = jnp.zeros_like(v).at[..., axis].set(1.0)
    return jnp.where(length > 0, v / jnp.where(length > 0, length, 1.0), fallback)


def sinc(x: Array) -> Array:
    """sin(x) / x."""
    return jnp.sinc(x / math.pi)
