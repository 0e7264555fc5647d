r"""Elementwise, increasing transforms of outputs, in whose values a law is closer to Gaussian.

A density in y is the density in T(y) times $T'(y)$. Quantiles go through the inverse; means do not.
"""

from __future__ import annotations

import abc
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files, _validation


def array_module(values: Any) -> Any:
    """NumPy for its arrays and numbers, JAX's NumPy for JAX's."""
    return np if isinstance(values, (np.ndarray, np.generic, float, int)) else jnp


class AbstractTransform(eqx.Module):
    """An increasing function T of one output, with its inverse and the log of its derivative."""

    @property
    @abc.abstractmethod
    def domain(self) -> tuple[float, float]:
        """Open interval of the values that T takes, in the data's units."""

    @abc.abstractmethod
    def forward(self, y: Any) -> Any:
        """T(y).

        Args:
            y: Values of any shape in the data's units, inside the domain.

        Returns:
            Values of the same shape.
        """

    @abc.abstractmethod
    def inverse(self, z: Any) -> Any:
        """The y with T(y) = z; at the end of the domain where there is none.

        Args:
            z: Transformed values of any shape.

        Returns:
            Values of the same shape in the data's units.
        """

    @abc.abstractmethod
    def log_derivative(self, y: Any) -> Any:
        """log T'(y).

        Args:
            y: Values of any shape in the data's units, inside the domain.

        Returns:
            Values of the same shape, in nats.
        """


@_model_files.tagged("transform/identity")
class Identity(AbstractTransform):
    """T(y) = y."""

    @property
    def domain(self) -> tuple[float, float]:
        return -math.inf, math.inf

    def forward(self, y):
        return y

    def inverse(self, z):
        return z

    def log_derivative(self, y):
        return array_module(y).zeros_like(y)


@_model_files.tagged("transform/log")
class LogTransform(AbstractTransform):
    """T(y) = log(y + shift), for y > -shift.

    Args:
        shift: In the data's units.
    """

    shift: float = eqx.field(default=0.0, static=True)

    def __check_init__(self):
        _check_finite("shift", self.shift)

    @property
    def domain(self) -> tuple[float, float]:
        return 0.0 - self.shift, math.inf

    def forward(self, y):
        return array_module(y).log(y + self.shift)

    def inverse(self, z):
        return array_module(z).exp(z) - self.shift

    def log_derivative(self, y):
        return -self.forward(y)


@_model_files.tagged("transform/box-cox")
class BoxCox(AbstractTransform):
    r"""$T(y) = ((y + shift)^\lambda - 1) / \lambda$, for y > -shift.

    T does not reach every number: above $-1/\lambda$ for a positive exponent, below for a negative
    one. A law of transformed values that has mass beyond, as a Gaussian law has, is clipped in
    samples and quantiles, so that this mass sits at the end of the range.

    Args:
        exponent: $\lambda$, not zero (that is `LogTransform`).
        shift: In the data's units.
    """

    exponent: float = eqx.field(static=True)
    shift: float = eqx.field(default=0.0, static=True)

    def __check_init__(self):
        _check_finite("shift", self.shift)
        _check_finite("exponent", self.exponent)
        if self.exponent == 0:
            raise ValueError("expected an exponent other than 0 (use LogTransform), got 0")

    @property
    def domain(self) -> tuple[float, float]:
        return 0.0 - self.shift, math.inf

    def forward(self, y):
        xp = array_module(y)
        return xp.expm1(self.exponent * xp.log(y + self.shift)) / self.exponent

    def inverse(self, z):
        xp = array_module(z)
        dtype: Any = getattr(z, "dtype", np.float64)
        tiny = float(np.finfo(dtype).eps)
        power = xp.maximum(self.exponent * z, tiny - 1)  # clipped at the end of the range
        return xp.exp(xp.log1p(power) / self.exponent) - self.shift

    def log_derivative(self, y):
        return (self.exponent - 1) * array_module(y).log(y + self.shift)


@_model_files.tagged("transform/logit")
class Logit(AbstractTransform):
    """T(y) = log((y - lower) / (upper - y)), for lower < y < upper.

    Args:
        lower: Lower bound, in the data's units.
        upper: Upper bound.
    """

    lower: float = eqx.field(default=0.0, static=True)
    upper: float = eqx.field(default=1.0, static=True)

    def __check_init__(self):
        if not -math.inf < self.lower < self.upper < math.inf:
            raise ValueError(f"expected lower < upper, got {self.lower} and {self.upper}")

    @property
    def domain(self) -> tuple[float, float]:
        return self.lower, self.upper

    def forward(self, y):
        xp = array_module(y)
        return xp.log(y - self.lower) - xp.log(self.upper - y)

    def inverse(self, z):
        # Never of a large argument: exp(-|z|) cannot overflow.
        xp = array_module(z)
        small = xp.exp(-xp.abs(z))
        share = xp.where(z > 0, 1 / (1 + small), small / (1 + small))
        return self.lower + (self.upper - self.lower) * share

    def log_derivative(self, y):
        xp = array_module(y)
        width = math.log(self.upper - self.lower)
        return width - xp.log(y - self.lower) - xp.log(self.upper - y)


def _check_finite(name: str, value: float) -> None:
    if not _validation.is_number(value) or not math.isfinite(value):
        raise ValueError(f"expected a finite {name}, got {_validation.brief(value)}")
