"""Kernels of inputs on the circle."""

import math

import jax.numpy as jnp

from geomndp import _model_files, _validation
from geomndp._types import Array, Float
from geomndp.kernels.base import AbstractKernel, AbstractWrappedKernel


@_model_files.tagged("kernel/periodic-inputs")
class PeriodicInputs(AbstractWrappedKernel):
    r"""A kernel of inputs some of which are angles, such as the hour or the day of the year.

    A coordinate with period $\rho$ becomes the point $\rho / 2\pi \, (\cos, \sin)(2 \pi x / \rho)$
    of a circle, so that distances of neighbours stay what they were, and any kernel of the plane
    is positive definite on it.

    Args:
        kernel: Kernel of the new coordinates: those of the inputs in their order, two for each
            periodic one. A lengthscale per coordinate is one for each of these.
        period: Period of every input, in its units; None for one that is not periodic.

    Raises:
        ValueError: If a period is not positive, or there is none.

    Example:
        `gn.kernels.PeriodicInputs(gn.kernels.Matern52(30.0), (365.0,))`
    """

    kernel: AbstractKernel
    period: tuple[float | None, ...]

    def __check_init__(self):
        known = tuple(period for period in self.period if period is not None)
        if not known:
            raise ValueError(f"expected a period for at least one input, got {self.period}")
        _validation.positive(period=known)

    def embed(self, x: Float[Array, "*n d"]) -> Float[Array, "*n e"]:
        """Coordinates of which the kernel is a function.

        Args:
            x: Inputs, shape (..., d).

        Returns:
            Shape (..., d + number of periodic inputs).
        """
        if x.shape[-1] != len(self.period):
            raise ValueError(f"expected {len(self.period)} inputs, got {x.shape[-1]}")
        columns = []
        for column, period in enumerate(self.period):
            value = x[..., column]
            if period is None:
                columns.append(value)
            else:
                radius = period / (2 * math.pi)
                columns += [radius * jnp.cos(value / radius), radius * jnp.sin(value / radius)]
        return jnp.stack(columns, axis=-1)

    def __call__(self, x1, x2):
        return self.kernel(self.embed(x1), self.embed(x2))

    def cross(self, x1, x2):
        return self.kernel.cross(self.embed(x1), self.embed(x2))

    def gram(self, x, mask=None):
        return self.kernel.gram(self.embed(x), mask)
