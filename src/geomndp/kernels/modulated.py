"""Kernels whose standard deviation varies with the input."""

import jax.numpy as jnp

from geomndp import _model_files
from geomndp.kernels.base import AbstractKernel, AbstractWrappedKernel, Mean, mean_values


@_model_files.tagged("kernel/modulated")
class Modulated(AbstractWrappedKernel):
    r"""$s(x_1) \, k(x_1, x_2) \, s(x_2)$: the law of s(x) f(x), one factor per output.

    Args:
        kernel: Covariance k of f, with p outputs.
        scale: The function s, from inputs (n, d) to (n, p).

    Example:
        White noise whose variance depends on the input: `Modulated(White(), scale)`.
    """

    kernel: AbstractKernel
    scale: Mean

    @property
    def shared(self) -> bool:
        return self.kernel.shared and self.dim == 1

    def _scale(self, x):
        return mean_values(self.scale, x, self.dim)

    def __call__(self, x1, x2):
        s1, s2 = self._scale(x1[None])[0], self._scale(x2[None])[0]
        return s1[:, None] * self.kernel(x1, x2) * s2[None, :]

    def cross(self, x1, x2):
        s1, s2 = self._scale(x1), self._scale(x2)
        matrix = self.kernel.cross(x1, x2)
        if self.kernel.shared and not self.shared:
            matrix = jnp.kron(matrix, jnp.eye(self.dim, dtype=x1.dtype))
        return s1.reshape(-1, 1) * matrix * s2.reshape(1, -1)

    def gram(self, x, mask=None):
        scale = self._scale(x)
        # One factor per point keeps one variance per point, and so one diffusion time of noise.
        scale = scale[:, 0] if getattr(self.scale, "same_outputs", False) else scale
        return self.kernel.gram(x).scale(scale).masked(mask)

    def diagonal(self, x):
        return self.kernel.diagonal(x) * self._scale(x) ** 2
