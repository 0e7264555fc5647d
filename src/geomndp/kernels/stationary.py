"""Scalar kernels of the difference of two inputs (Rasmussen and Williams 2006, chapter 4)."""

import abc
import math

import equinox as eqx
import jax.numpy as jnp

from geomndp import _model_files, _validation
from geomndp._types import Array, Float, Scalar
from geomndp.kernels.base import AbstractKernel, Point
from geomndp.linalg import safe_sqrt

Lengthscale = float | tuple[float, ...] | Float[Array, " d"]


class AbstractStationary(AbstractKernel):
    """Kernels variance * profile((x1 - x2) / lengthscale)."""

    lengthscale: eqx.AbstractVar[Lengthscale]
    variance: eqx.AbstractVar[float]
    dim = 1
    shared = True

    def __check_init__(self):
        _validation.positive(lengthscale=self.lengthscale)
        _validation.one_positive(variance=self.variance)
        if isinstance(self.lengthscale, tuple) and not self.lengthscale:
            raise ValueError("expected a lengthscale, or one per dimension, got none")

    @abc.abstractmethod
    def profile(self, r: Point) -> Scalar:
        """Correlation at a scaled difference.

        Args:
            r: (x1 - x2) / lengthscale, shape (d,).
        """

    def __call__(self, x1, x2):
        scale = jnp.asarray(self.lengthscale, dtype=x1.dtype)
        if scale.shape not in ((), x1.shape):
            dims = f"{len(x1)} dimensions, got {scale.size}"
            raise ValueError(f"expected a lengthscale for each of {dims}")
        return (self.variance * self.profile((x1 - x2) / scale)).reshape(1, 1)


@_model_files.tagged("kernel/squared-exponential")
class SquaredExponential(AbstractStationary):
    r"""$v \exp(-r^2 / 2)$ with $r = |x_1 - x_2| / \ell$: smooth functions.

    Args:
        lengthscale: One for all inputs, or one per dimension.
        variance: Variance of the values.
    """

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def profile(self, r):
        return jnp.exp(-0.5 * jnp.sum(r**2))


@_model_files.tagged("kernel/matern-12")
class Matern12(AbstractStationary):
    r"""$v \exp(-r)$ with $r = |x_1 - x_2| / \ell$: continuous, nowhere smooth functions.

    Args:
        lengthscale: One for all inputs, or one per dimension.
        variance: Variance of the values.
    """

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def profile(self, r):
        return jnp.exp(-safe_sqrt(jnp.sum(r**2)))


@_model_files.tagged("kernel/matern-32")
class Matern32(AbstractStationary):
    r"""$v (1 + s) \exp(-s)$ with $s = \sqrt3 |x_1 - x_2| / \ell$: functions with one derivative.

    Args:
        lengthscale: One for all inputs, or one per dimension.
        variance: Variance of the values.
    """

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def profile(self, r):
        s = math.sqrt(3) * safe_sqrt(jnp.sum(r**2))
        return (1 + s) * jnp.exp(-s)


@_model_files.tagged("kernel/matern-52")
class Matern52(AbstractStationary):
    r"""$v (1 + s + s^2 / 3) \exp(-s)$, $s = \sqrt5 |x_1 - x_2| / \ell$: two derivatives.

    Args:
        lengthscale: One for all inputs, or one per dimension.
        variance: Variance of the values.
    """

    lengthscale: Lengthscale = 1.0
    variance: float = 1.0

    def profile(self, r):
        s = math.sqrt(5) * safe_sqrt(jnp.sum(r**2))
        return (1 + s + s**2 / 3) * jnp.exp(-s)


@_model_files.tagged("kernel/bias")
class Bias(AbstractKernel):
    """Constant functions of random height.

    Args:
        variance: Variance of the height.
    """

    variance: float = 1.0
    dim = 1
    shared = True

    def __check_init__(self):
        _validation.one_positive(variance=self.variance)

    def __call__(self, x1, x2):
        return jnp.asarray(self.variance, dtype=x1.dtype).reshape(1, 1)


@_model_files.tagged("kernel/periodic")
class Periodic(AbstractKernel):
    r"""$v \exp(-\sum \sin^2(\pi (x_1 - x_2) / \rho) / 2 \ell^2)$ (MacKay 1998): periodic functions.

    Args:
        lengthscale: $\ell$, in units of the sine.
        period: $\rho$, in units of the inputs.
        variance: Variance of the values.
    """

    lengthscale: float = 1.0
    period: float = 1.0
    variance: float = 1.0
    dim = 1
    shared = True

    def __check_init__(self):
        _validation.one_positive(
            lengthscale=self.lengthscale, period=self.period, variance=self.variance
        )

    def __call__(self, x1, x2):
        s = jnp.sin(math.pi * (x1 - x2) / self.period) / self.lengthscale
        return (self.variance * jnp.exp(-0.5 * jnp.sum(s**2))).reshape(1, 1)
