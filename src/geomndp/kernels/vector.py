r"""Matrix-valued kernels of vector fields whose curl or divergence vanishes.

From a potential with covariance $\varphi(|x_1 - x_2|)$ (Macedo and Castro 2010; Holderrieth et al.
2021, C): $-\nabla \nabla^\top \varphi$ is the covariance of a gradient field, $(\nabla
\nabla^\top - I \Delta) \varphi$ that of a divergence-free one. With r = (x1 - x2) / lengthscale,
$A = -\varphi' / |r|$ and $B = -A' / |r|$, scaled to A(0) = 1, they are $A I - B r r^\top$ and
$B r r^\top + ((d - 1) A - B |r|^2) I$.
"""

import math

import equinox as eqx
import jax.numpy as jnp

from geomndp import _model_files, _validation
from geomndp._types import Scalar
from geomndp.kernels.base import AbstractKernel
from geomndp.linalg import safe_sqrt


def _squared_exponential(square: Scalar) -> tuple[Scalar, Scalar]:
    k0 = jnp.exp(-0.5 * square)
    return k0, k0


def _matern_52(square: Scalar) -> tuple[Scalar, Scalar]:
    s = math.sqrt(5) * safe_sqrt(square)
    return (1 + s) * jnp.exp(-s), 5 * jnp.exp(-s)


def _matern_72(square: Scalar) -> tuple[Scalar, Scalar]:
    s = math.sqrt(7) * safe_sqrt(square)
    return (1 + s + s**2 / 3) * jnp.exp(-s), 7 / 3 * (1 + s) * jnp.exp(-s)


POTENTIALS = {
    "squared-exponential": _squared_exponential,
    "matern-72": _matern_72,
    "matern-52": _matern_52,
}
"""A and B of a potential at |r|^2, by its name; from smooth fields to those with one derivative."""


class _AbstractFieldKernel(AbstractKernel):
    lengthscale: eqx.AbstractVar[float]
    variance: eqx.AbstractVar[float]
    potential: eqx.AbstractVar[str]
    shared = False

    def __check_init__(self):
        _validation.one_positive(lengthscale=self.lengthscale, variance=self.variance)
        _validation.at_least(2, dim=self.dim)
        _validation.one_of("potential", self.potential, tuple(POTENTIALS))

    def _parts(self, x1, x2):
        if x1.shape != (self.dim,):
            raise ValueError(f"expected inputs of dimension {self.dim}, got {x1.shape[-1]}")
        r = (x1 - x2) / self.lengthscale
        square = jnp.sum(r**2)
        a, b = POTENTIALS[self.potential](square)
        eye = jnp.eye(self.dim, dtype=x1.dtype)
        return self.variance * a, self.variance * b, jnp.outer(r, r), square, eye


@_model_files.tagged("kernel/curl-free")
class CurlFree(_AbstractFieldKernel):
    """Curl-free vector fields, gradients of a scalar field: A I - B r r^T.

    Args:
        lengthscale: That of the potential.
        variance: Variance of every component.
        dim: Dimension of space and of the vectors.
        potential: Kernel of the potential: "squared-exponential", or "matern-72" or "matern-52",
            whose gradients have two derivatives or one.
    """

    lengthscale: float = 1.0
    variance: float = 1.0
    dim: int = eqx.field(default=2, static=True)
    potential: str = eqx.field(default="squared-exponential", static=True)

    def __call__(self, x1, x2):
        a, b, outer, _, eye = self._parts(x1, x2)
        return a * eye - b * outer


@_model_files.tagged("kernel/divergence-free")
class DivergenceFree(_AbstractFieldKernel):
    """Divergence-free vector fields: B r r^T + ((d - 1) A - B r^2) I.

    Args:
        lengthscale: That of the potential.
        variance: Variance of every component, divided by d - 1.
        dim: Dimension d of space and of the vectors.
        potential: Kernel of the potential: "squared-exponential", or "matern-72" or "matern-52",
            whose derivatives have two derivatives or one.
    """

    lengthscale: float = 1.0
    variance: float = 1.0
    dim: int = eqx.field(default=2, static=True)
    potential: str = eqx.field(default="squared-exponential", static=True)

    def __call__(self, x1, x2):
        a, b, outer, square, eye = self._parts(x1, x2)
        return b * outer + ((self.dim - 1) * a - b * square) * eye
