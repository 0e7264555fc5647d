"""Kernels of vectors in the plane that are turned by an angle which varies with the input."""

import jax.numpy as jnp

from geomndp import _model_files
from geomndp._types import Array, Float
from geomndp.kernels.base import AbstractKernel, AbstractWrappedKernel, Mean, mean_values
from geomndp.linalg import MatrixGram, per_output


@_model_files.tagged("kernel/turned")
class Turned(AbstractWrappedKernel):
    r"""$R(x_1) \, k(x_1, x_2) \, R(x_2)^\top$: the law of R(x) f(x), R a rotation.

    Near the ground friction turns the wind towards low pressure, by angles of opposite signs on
    the two hemispheres (Ekman 1905): the angle is positive from the first to the second component.

    Args:
        kernel: Covariance k of f, with two outputs.
        angle: The angle in radians, from inputs (n, d) to (n, 1).

    Raises:
        ValueError: If the kernel has another number of outputs.
    """

    kernel: AbstractKernel
    angle: Mean

    def __check_init__(self):
        if self.kernel.dim != 2:
            raise ValueError(f"expected a kernel of two outputs, got {self.kernel.dim}")

    @property
    def shared(self) -> bool:
        return False

    @property
    def white(self) -> bool:
        """Of independent rows of equal variances nothing turns; others have a full block each."""
        return self.kernel.white and self.kernel.shared

    def _turns(self, x: Float[Array, "n d"]) -> Float[Array, "n 2 2"]:
        angle = mean_values(self.angle, x, 1)[:, 0]
        cos, sin = jnp.cos(angle), jnp.sin(angle)
        return jnp.stack([jnp.stack([cos, -sin], axis=1), jnp.stack([sin, cos], axis=1)], axis=1)

    def __call__(self, x1, x2):
        return self.cross(x1[None], x2[None])

    def _turned(self, matrix: Float[Array, "a b"], x1, x2) -> Float[Array, "a b"]:
        blocks = matrix.reshape(len(x1), 2, len(x2), 2)
        # Sums instead of matrix products, which JAX may round to float32's less.
        first = jnp.sum(self._turns(x1)[:, :, :, None, None] * blocks[:, None], axis=2)
        second = self._turns(x2)[None, None]
        turned = jnp.sum(second * first[:, :, :, None, :], axis=4)
        return turned.reshape(matrix.shape)

    def cross(self, x1, x2):
        matrix = self.kernel.cross(x1, x2)
        return self._turned(per_output(matrix, 2) if self.kernel.shared else matrix, x1, x2)

    def gram(self, x, mask=None):
        gram = self.kernel.gram(x)
        if self.white:
            return gram.masked(mask)
        turned = self._turned(gram.dense(), x, x)  # `cross` has no white parts
        return MatrixGram(turned, 2, False).masked(mask)
