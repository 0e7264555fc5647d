r"""Pooled marginal likelihood of functions under a linear model of coregionalisation.

$K = \sum_c k_c(X, X) \otimes B_c + 1 1^\top \otimes B_0 + I \otimes \mathrm{diag}(s)$ with two
stationary kernels. All choices of these are one program: their types are data.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._types import Array
from geomndp.kernels import Matern12, Matern32, Matern52, SquaredExponential
from geomndp.linalg import LOG_2PI, cholesky, matmul, safe_sqrt, solve_lower

KERNELS = (SquaredExponential, Matern12, Matern32, Matern52)
"""Stationary kernels by their number in the program."""
MIN_NOISE = 1e-7
"""Least noise variance, relative to the variance of the values."""


class Designs(NamedTuple):
    """Functions grouped by their inputs, padded to one number n of points.

    Attributes:
        squares: Squared differences of inputs, per group of inputs, (f, n, n, g).
        mask: 1 for values that count, (f, n, p).
        amplitude: Factor of the functions without noise, (f, n, p).
        root: R with R R^T the sum of z z^T over functions of centred values z, (f, n p, r).
        number: Number of functions, (f,).
    """

    squares: np.ndarray
    mask: np.ndarray
    amplitude: np.ndarray
    root: np.ndarray
    number: np.ndarray

    @property
    def num_values(self) -> float:
        """Values of all functions."""
        return float(np.sum(self.mask * self.number[:, None, None]))


class Hyperparameters(NamedTuple):
    """Unconstrained parameters of two kernels (c = 2) for p outputs and g groups of inputs.

    Attributes:
        lengthscale: Logarithms, (c, g).
        factor: Lower triangular roots of the coregionalisation matrices, logarithms on the
            diagonal, (c, p, p).
        bias: The same of the constant part, (p, p).
        noise: Logarithms of the noise variances, (p,).
    """

    lengthscale: np.ndarray
    factor: np.ndarray
    bias: np.ndarray
    noise: np.ndarray


def output_covariance(factor) -> Array:
    """L L^T of a root with logarithms on its diagonal, (p, p)."""
    lower = jnp.tril(factor, -1) + jnp.diag(jnp.exp(jnp.diagonal(factor)))
    return matmul(lower, lower.T)


def _correlation(number, square: Array) -> Array:
    """Correlations at squared scaled distances, of the kernel with a number."""

    def branch(kernel):
        profile = kernel(1.0, 1.0).profile
        return lambda r: jax.vmap(jax.vmap(lambda value: profile(value[None])))(r)

    return jax.lax.switch(number, [branch(kernel) for kernel in KERNELS], safe_sqrt(square))


def _covariance(parameters: Hyperparameters, kinds, active, squares, mask, amplitude) -> Array:
    """K of one design, (n p, n p), the identity on masked values."""
    n, p = mask.shape
    total = output_covariance(parameters.bias)[None, :, None, :]
    for part in range(2):
        scale = jnp.exp(-2.0 * parameters.lengthscale[part])
        correlation = _correlation(kinds[part], jnp.sum(squares * scale[None, None], axis=-1))
        outputs = active[part] * output_covariance(parameters.factor[part])
        total = total + correlation[:, None, :, None] * outputs[None, :, None, :]
    matrix = jnp.broadcast_to(total, (n, p, n, p)).reshape(n * p, n * p)
    matrix = matrix * amplitude.reshape(-1, 1) * amplitude.reshape(1, -1)
    matrix = matrix + jnp.diag(jnp.tile(jnp.exp(parameters.noise) + MIN_NOISE, n))
    keep = mask.reshape(-1) > 0
    return jnp.where(keep[:, None] & keep[None], matrix, jnp.eye(n * p, dtype=matrix.dtype))


@jax.custom_vjp
def _log_density(matrix: Array, root: Array, count: Array) -> Array:
    """Log-densities of `count` functions without their constant, summed."""
    return _forward(matrix, root, count)[0]


def _forward(matrix, root, count):
    factor = cholesky(matrix)
    inverse = solve_lower(factor, jnp.eye(len(matrix), dtype=matrix.dtype))
    white = matmul(inverse, root)
    value = -0.5 * jnp.sum(white**2) - count * jnp.sum(jnp.log(jnp.diagonal(factor)))
    return value, (inverse, white, count)


def _backward(residuals, cotangent):
    inverse, white, count = residuals
    weights = matmul(inverse.T, white)
    slope = matmul(weights, weights.T) - count * matmul(inverse.T, inverse)
    return 0.5 * cotangent * slope, jnp.zeros_like(white), jnp.zeros_like(count)


_log_density.defvjp(_forward, _backward)


def _total(parameters: Hyperparameters, kinds, active, designs: Designs) -> Array:
    def one(squares, mask, amplitude, root, count):
        matrix = _covariance(parameters, kinds, active, squares, mask, amplitude)
        return _log_density(matrix, root, count)

    return jnp.sum(jax.vmap(one)(*designs))


_value = jax.jit(_total)
_value_and_slope = jax.jit(jax.value_and_grad(_total))


def pooled_nats(
    parameters: Hyperparameters, kinds, active, designs: Designs, *, slope: bool = False
) -> tuple[float, Hyperparameters | None]:
    """Log-density per value of all functions, and its gradient.

    Args:
        parameters: Those of the kernels.
        kinds: Numbers of the two kernels in `KERNELS`.
        active: 1 for a kernel that is there, 0 for one that is not.
        designs: The functions.
        slope: Whether the gradient is wanted.

    Returns:
        Nats per value, and the gradient or None.
    """
    with jax.enable_x64(True):
        kinds, active = np.asarray(kinds, np.int32), np.asarray(active, np.float64)
        call = partial(_value_and_slope if slope else _value, parameters, kinds, active, designs)
        result = jax.device_get(call())
    value, gradient = result if slope else (result, None)
    number = max(designs.num_values, 1.0)
    if gradient is not None:
        gradient = jax.tree.map(lambda v: v / number, gradient)
    return float(value) / number - 0.5 * LOG_2PI, gradient
