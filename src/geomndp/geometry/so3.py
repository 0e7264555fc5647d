r"""Rotations of space, as matrices.

A tangent vector at R is $R \hat w$ with w the angular velocity in the frame of R; its length in R^9
is $\sqrt2 |w|$, so a rotation by the angle $\omega$ is $\sqrt2 \omega$ away. Angles and axes come
from unit quaternions, which lose nothing near 0 nor near $\pi$.
"""

import math

import jax.numpy as jnp
import numpy as np

from geomndp import _model_files
from geomndp._types import Array
from geomndp.geometry.base import AbstractManifold
from geomndp.geometry.heat import densities
from geomndp.geometry.heat.radial import Radial
from geomndp.geometry.sphere import divide, sinc, unit
from geomndp.linalg import matmul, norm

ROOT2 = math.sqrt(2)


@_model_files.tagged("manifold/so3")
class SO3(AbstractManifold):
    """Rotations of space, points (..., 9): the rows of a rotation matrix one after the other."""

    @property
    def dim(self) -> int:
        return 3

    @property
    def ambient_dim(self) -> int:
        return 9

    @property
    def log_volume(self) -> float:
        # 8 pi^2 where the length of a tangent vector is |w|.
        return math.log(8 * math.pi**2) + 1.5 * math.log(2)

    def exp(self, y, v):
        w = self.to_tangent_coords(y, v) / ROOT2
        angle, cross = norm(w)[..., None], hat(w)
        half = sinc(angle / 2) ** 2 / 2
        turn = jnp.broadcast_to(jnp.eye(3, dtype=y.dtype), cross.shape)
        turn = turn + sinc(angle) * cross + half * matmul(cross, cross)
        return self.retract(flat(matmul(square(y), turn)))

    def log(self, y, z):
        q = _quaternion(matmul(jnp.swapaxes(square(y), -1, -2), square(z)))
        length = norm(q[..., 1:])
        ratio = divide(2 * jnp.arctan2(length, q[..., :1]), length, 2.0)
        return self.from_tangent_coords(y, ROOT2 * ratio * q[..., 1:])

    def distance(self, y, z):
        return ROOT2 * self.angle(y, z)

    def angle(self, y, z):
        """Angle of the rotation from y to z, between 0 and pi.

        Args:
            y: Rotations, shape (..., 9).
            z: Rotations, shape (..., 9).

        Returns:
            Radians, shape (...).
        """
        q = _quaternion(matmul(jnp.swapaxes(square(y), -1, -2), square(z)))
        return 2 * jnp.arctan2(norm(q[..., 1:])[..., 0], q[..., 0])

    def project(self, y, v):
        return self.from_tangent_coords(y, self.to_tangent_coords(y, v))

    def retract(self, y):
        # Gram and Schmidt on the columns: a rotation from the left carries over, and the third
        # column follows from the others.
        matrix = square(y)
        first = unit(matrix[..., 0])
        second = matrix[..., 1] - jnp.sum(first * matrix[..., 1], axis=-1, keepdims=True) * first
        second = unit(second, axis=1)
        return flat(jnp.stack([first, second, jnp.cross(first, second)], axis=-1))

    def from_tangent_coords(self, y, c):
        return flat(matmul(square(y), hat(c / ROOT2)))

    def to_tangent_coords(self, y, v):
        m = matmul(jnp.swapaxes(square(y), -1, -2), square(v))
        w = [m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1]]
        return jnp.stack(w, axis=-1) / ROOT2

    def heat_kernel(self):
        return Radial(self, densities.rotations, rotation_area, ROOT2 * math.pi)


def rotation_area(r: np.ndarray) -> np.ndarray:
    """Log-area, up to a constant, of the rotations by one angle, which is r / sqrt(2)."""
    return 2 * np.log(np.sin(r / math.sqrt(8)))


def square(y: Array) -> Array:
    """Matrices from rows of nine numbers."""
    return y.reshape(*y.shape[:-1], 3, 3)


def flat(matrix: Array) -> Array:
    """Rows of nine numbers from matrices."""
    return matrix.reshape(*matrix.shape[:-2], 9)


def hat(w: Array) -> Array:
    """Matrix of the cross product with w."""
    zero = jnp.zeros_like(w[..., 0])
    a, b, c = w[..., 0], w[..., 1], w[..., 2]
    rows = [jnp.stack(row, axis=-1) for row in ([zero, -c, b], [c, zero, -a], [-b, a, zero])]
    return jnp.stack(rows, axis=-2)


def _quaternion(m: Array) -> Array:
    """Unit quaternion with a real part that is not negative (Shepperd 1978).

    All rows of 4 q q^T are multiples of q: the one with the largest diagonal entry is taken.
    """
    a, b, c = m[..., 0, 0], m[..., 1, 1], m[..., 2, 2]
    x, y, z = (m[..., i, j] - m[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0)))
    xy, xz, yz = (m[..., i, j] + m[..., j, i] for i, j in ((0, 1), (0, 2), (1, 2)))
    outer = [
        [1 + a + b + c, x, y, z],
        [x, 1 + a - b - c, xy, xz],
        [y, xy, 1 - a + b - c, yz],
        [z, xz, yz, 1 - a - b + c],
    ]
    rows = jnp.stack([jnp.stack(row, axis=-1) for row in outer], axis=-2)
    best = jnp.argmax(jnp.diagonal(rows, axis1=-2, axis2=-1), axis=-1)
    q = jnp.take_along_axis(rows, best[..., None, None], axis=-2)[..., 0, :]
    q = jnp.where(q[..., :1] < 0, -q, q)
    return unit(q)
