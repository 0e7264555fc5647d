"""Matrix-valued kernels of vector fields whose curl or divergence vanishes.

From a squared-exponential potential k0 (Macedo and Castro 2010; Holderrieth et al. 2021, C):
-grad grad^T k0 is the covariance of a gradient field, (grad grad^T - I laplacian) k0 that of a
divergence-free one; both here times lengthscale^2, with r = (x1 - x2) / lengthscale.
"""

import equinox as eqx
import jax.numpy as jnp

from geomndp import _model_files, _validation
from geomndp.kernels.base import AbstractKernel


class _AbstractFieldKernel(AbstractKernel):
    lengthscale: eqx.AbstractVar[float]
    variance: eqx.AbstractVar[float]
    shared = False

    def __check_init__(self):
        _validation.one_positive(lengthscale=self.lengthscale, variance=self.variance)
        _validation.at_least(2, dim=self.dim)

    def _parts(self, x1, x2):
        if x1.shape != (self.dim,):
            raise ValueError(f"expected inputs of dimension {self.dim}, got {x1.shape[-1]}")
        r = (x1 - x2) / self.lengthscale
        square = jnp.sum(r**2)
        eye = jnp.eye(self.dim, dtype=x1.dtype)
        return self.variance * jnp.exp(-0.5 * square), jnp.outer(r, r), square, eye


@_model_files.tagged("kernel/curl-free")
class CurlFree(_AbstractFieldKernel):
    """Curl-free vector fields, gradients of a scalar field: k0 (I - r r^T).

    Args:
        lengthscale: That of the potential.
        variance: Variance of every component.
        dim: Dimension of space and of the vectors.
    """

    lengthscale: float = 1.0
    variance: float = 1.0
    dim: int = eqx.field(default=2, static=True)

    def __call__(self, x1, x2):
        k0, outer, _, eye = self._parts(x1, x2)
        return k0 * (eye - outer)


@_model_files.tagged("kernel/divergence-free")
class DivergenceFree(_AbstractFieldKernel):
    """Divergence-free vector fields: k0 (r r^T + (d - 1 - r^2) I).

    Args:
        lengthscale: That of the potential.
        variance: Variance of every component, divided by d - 1.
        dim: Dimension d of space and of the vectors.
    """

    lengthscale: float = 1.0
    variance: float = 1.0
    dim: int = eqx.field(default=2, static=True)

    def __call__(self, x1, x2):
        k0, outer, square, eye = self._parts(x1, x2)
        return k0 * (outer + (self.dim - 1 - square) * eye)
