r"""Scalar kernels on the sphere that depend on the angle alone: $k(x, x') = v f(x \cdot x')$.

Inputs are unit vectors of R^3.
"""

import abc
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Array, Float, Scalar
from geomndp.kernels.base import AbstractKernel
from geomndp.kernels.sphere.legendre import half_squares

OFF_SPHERE = 1e-3
"""Difference of a length from one that rounding does not explain, in float32 either."""


class AbstractSphereKernel(AbstractKernel):
    """Kernels whose inputs are unit vectors of R^3; rows of zeros are padding."""

    def cross(self, x1, x2):
        check_unit_vectors(x1)
        check_unit_vectors(x2)
        return super().cross(x1, x2)


class AbstractZonal(AbstractSphereKernel):
    """Kernels variance * f(x1 . x2), invariant under rotations and reflections of the sphere."""

    variance: eqx.AbstractVar[float]
    dim = 1
    shared = True

    @abc.abstractmethod
    def derivatives(
        self, x1: Float[Array, " 3"], x2: Float[Array, " 3"], order: int
    ) -> list[Scalar]:
        """f and its derivatives in u = x1 . x2, f(1) = 1.

        Args:
            x1: Unit vector, shape (3,).
            x2: Another.
            order: Highest derivative, 0, 1 or 2.

        Returns:
            Derivatives 0 to `order`.
        """

    @abc.abstractmethod
    def slope(self, dtype) -> Scalar:
        """f'(1): half of the variance of the surface gradient, where f(1) = 1.

        Args:
            dtype: Floating-point type of the answer.
        """

    @abc.abstractmethod
    def check_gradient(self) -> None:
        """Raise ValueError where the fields have no gradient of finite variance."""

    def __call__(self, x1, x2):
        check_point(x1)
        return (self.variance * self.derivatives(x1, x2, 0)[0]).reshape(1, 1)


@_model_files.tagged("kernel/zonal-exponential")
class ZonalExponential(AbstractZonal):
    r"""$v \exp(-(1 - u) / \ell^2)$ with $u = x_1 \cdot x_2$: smooth scalar fields on the sphere.

    It is the squared-exponential kernel of the chord, $1 - u = |x_1 - x_2|^2 / 2$.

    Args:
        lengthscale: In radians.
        variance: Variance of the values.
    """

    lengthscale: float = 1.0
    variance: float = 1.0

    def __check_init__(self):
        _validation.one_positive(lengthscale=self.lengthscale, variance=self.variance)

    def derivatives(self, x1, x2, order):
        rate = self.slope(x1.dtype)
        value = jnp.exp(-rate * half_squares(x1, x2)[0])
        return [rate**k * value for k in range(order + 1)]

    def slope(self, dtype):
        return 1 / jnp.asarray(self.lengthscale, dtype=dtype) ** 2

    def check_gradient(self):
        return


def check_point(x: Any) -> None:
    """Refuse inputs of another dimension than three."""
    if x.shape[-1] != 3:
        raise ValueError(
            f"expected unit vectors of R^3 (gn.geometry.geodesy.to_unit), got {x.shape[-1]} columns"
        )


def check_unit_vectors(x: Any, *, padding: bool = True) -> None:
    """Raise ValueError where a row is neither a unit vector nor padding of zeros.

    Args:
        x: Inputs, shape (n, 3).
        padding: Whether rows of zeros may stand for no point.
    """
    check_point(x)
    if not _validation.concrete(x):
        return
    length = np.linalg.norm(np.asarray(x, dtype=float), axis=-1)
    wrong = np.flatnonzero((np.abs(length - 1) > OFF_SPHERE) & ~(padding & (length == 0)))
    if wrong.size:
        got = f"length {length[wrong[0]]:g} in row {wrong[0]}"
        raise ValueError(f"expected unit vectors as inputs on the sphere, got {got}")
