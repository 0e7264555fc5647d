"""Kernels of several correlated outputs."""

import jax.numpy as jnp
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Array, Float
from geomndp.kernels.base import AbstractKernel
from geomndp.linalg import MatrixGram


@_model_files.tagged("kernel/coregionalised")
class Coregionalised(AbstractKernel):
    r"""$k(x_1, x_2) B$: outputs that are mixtures of independent functions with one kernel.

    Intrinsic coregionalisation (Alvarez, Rosasco and Lawrence 2012, section 4); a sum of such
    kernels is the linear model of coregionalisation.

    Args:
        kernel: A scalar kernel k.
        matrix: B, the covariance of the outputs where k is one: symmetric, positive semidefinite,
            p rows of p numbers.

    Raises:
        ValueError: If the kernel has several outputs, or the matrix is no covariance.

    Example:
        `gn.kernels.Coregionalised(gn.kernels.Matern32(0.3), ((1.0, 0.6), (0.6, 2.0)))`
    """

    kernel: AbstractKernel
    matrix: tuple[tuple[float, ...], ...]
    shared = False

    def __check_init__(self):
        if self.kernel.dim != 1:
            raise ValueError(f"expected a scalar kernel, got one with {self.kernel.dim} outputs")
        p = len(self.matrix)
        if any(len(row) != p for row in self.matrix) or p == 0:
            raise ValueError(f"expected a square matrix, got rows of {[*map(len, self.matrix)]}")
        if all(_validation.concrete(value) for row in self.matrix for value in row):
            matrix = np.asarray(self.matrix, float)
            tolerance = 1e-9 * max(np.abs(matrix).max(), 1e-300)
            symmetric = np.abs(matrix - matrix.T).max() <= tolerance
            if not symmetric or np.linalg.eigvalsh(matrix).min() < -tolerance:
                raise ValueError(f"expected a symmetric matrix >= 0, got {self.matrix}")

    @property
    def dim(self) -> int:
        return len(self.matrix)

    def _outputs(self, dtype) -> Float[Array, "p p"]:
        return jnp.stack([jnp.stack([jnp.asarray(v, dtype) for v in row]) for row in self.matrix])

    def __call__(self, x1, x2):
        return self.kernel(x1, x2)[0, 0] * self._outputs(x1.dtype)

    def cross(self, x1, x2):
        return jnp.kron(self.kernel.cross(x1, x2), self._outputs(x1.dtype))

    def gram(self, x, mask=None):
        matrix = jnp.kron(self.kernel.gram(x).dense(), self._outputs(x.dtype))
        return MatrixGram(matrix, self.dim, False).masked(mask)
