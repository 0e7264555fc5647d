"""Start, search and meaning of the hyperparameters of a pooled process."""

from __future__ import annotations

from typing import NamedTuple

import jax
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy import optimize

from geomndp.baselines.gaussian.designs import Groups
from geomndp.baselines.gaussian.likelihood import (
    KERNELS,
    MIN_NOISE,
    Designs,
    Hyperparameters,
    output_covariance,
    pooled_nats,
)
from geomndp.baselines.gaussian.mean import Period
from geomndp.kernels import (
    AbstractKernel,
    Bias,
    Coregionalised,
    Matern12,
    Matern32,
    Matern52,
    PeriodicInputs,
    SquaredExponential,
)

NAMES = {SquaredExponential: "SE", Matern12: "M12", Matern32: "M32", Matern52: "M52"}
FAILED = 1e3
"""Loss where a covariance has no Cholesky factor."""
BOUND = 15.0
"""Largest logarithm of a parameter."""


class KernelSum(NamedTuple):
    """One or two stationary kernels, by their numbers in the program."""

    numbers: tuple[int, ...]

    @classmethod
    def parse(cls, name: str) -> KernelSum:
        """Read a name such as "SE+M32".

        Raises:
            ValueError: If it is not a sum of one or two known kernels.
        """
        known = [NAMES[kernel] for kernel in KERNELS]
        words = name.split("+")
        if not 1 <= len(words) <= 2 or not set(words) <= set(known):
            raise ValueError(f"expected one or two of {', '.join(known)}, got {name!r}")
        return cls(tuple(known.index(word) for word in words))

    @property
    def kinds(self) -> tuple[int, int]:
        return (self.numbers[0], self.numbers[-1])

    @property
    def active(self) -> tuple[float, float]:
        return (1.0, float(len(self.numbers) == 2))


def start(
    covariance: np.ndarray, offsets: np.ndarray, span: np.ndarray, short: float
) -> Hyperparameters:
    """First guess: half of the variance long, a fifth short, and some noise.

    Args:
        covariance: Covariance of centred values about their function's mean, (p, p).
        offsets: Covariance of these means, (p, p).
        span: Largest distance of inputs in every group, (g,).
        short: Lengthscale of the second kernel, relative to the span.
    """
    p = len(covariance)
    ridge = 0.02 * np.diag(np.diag(covariance)) + 1e-9 * np.eye(p)
    roots = [_log_root(c * covariance + ridge) for c in (0.7, 0.2)]
    lengthscale = np.log(np.stack([0.3 * span, short * span]))
    noise = np.log(0.02 * np.diag(covariance) + 1e-9)
    return Hyperparameters(
        lengthscale, np.stack(roots), _log_root(0.3 * offsets + 0.1 * ridge), noise
    )


def _log_root(matrix: np.ndarray) -> np.ndarray:
    lower = np.linalg.cholesky(matrix)
    return np.tril(lower, -1) + np.diag(np.log(np.diag(lower)))


class Search(NamedTuple):
    """Parameters of the largest likelihood found, and its value in nats per value."""

    parameters: Hyperparameters
    nats: float


def maximise(
    first: Hyperparameters, kernel: KernelSum, designs: Designs, *, iterations: int
) -> Search:
    """Maximise the pooled likelihood by L-BFGS.

    Args:
        first: Where to start.
        kernel: The kernels.
        designs: The functions.
        iterations: Most iterations.

    Returns:
        The best parameters.
    """
    with jax.enable_x64(True):
        vector, unravel = ravel_pytree(jax.tree.map(np.asarray, first))

        def to_parameters(values) -> Hyperparameters:
            with jax.enable_x64(True):
                return jax.device_get(unravel(np.clip(values, -BOUND, BOUND)))

    def loss(values):
        parameters = to_parameters(values)
        nats, slope = pooled_nats(parameters, kernel.kinds, kernel.active, designs, slope=True)
        assert slope is not None
        flat = np.concatenate([np.ravel(part) for part in slope])
        if not (np.isfinite(nats) and np.isfinite(flat).all()):
            return FAILED, np.zeros_like(flat)
        return -nats, -np.asarray(flat, np.float64)

    options = {"maxiter": iterations, "maxfun": 2 * iterations, "ftol": 1e-7}
    found = optimize.minimize(
        loss, np.asarray(vector), jac=True, method="L-BFGS-B", options=options
    )
    return Search(to_parameters(found.x), -float(found.fun))


def to_kernel(
    parameters: Hyperparameters, kernel: KernelSum, groups: Groups, period: Period, unit: np.ndarray
) -> AbstractKernel:
    """The kernel of values in a unit (p,) per output."""
    columns = sorted((column, index) for index, group in enumerate(groups) for column in group)
    order = [
        index
        for column, index in columns
        for _ in range(1 if period is None or period[column] is None else 2)
    ]
    total = _mixed(Bias(1.0), parameters.bias, unit)
    for part, number in enumerate(kernel.numbers):
        scale = np.exp(parameters.lengthscale[part])[order]
        lengthscale = tuple(float(v) for v in scale) if len(scale) > 1 else float(scale[0])
        stationary: AbstractKernel = KERNELS[number](lengthscale, 1.0)
        if period is not None:
            stationary = PeriodicInputs(stationary, period)
        total = total + _mixed(stationary, parameters.factor[part], unit)
    return total


def noise_variances(parameters: Hyperparameters, unit: np.ndarray) -> tuple[float, ...]:
    """Noise variance of every output, for values in a unit (p,) per output."""
    return tuple(float(v) for v in unit**2 * (np.exp(parameters.noise) + MIN_NOISE))


def _mixed(kernel: AbstractKernel, factor: np.ndarray, unit: np.ndarray) -> AbstractKernel:
    with jax.enable_x64(True):
        matrix = np.asarray(output_covariance(np.asarray(factor, np.float64)))
    matrix = matrix * np.outer(unit, unit)
    matrix = 0.5 * (matrix + matrix.T)
    if len(matrix) == 1:
        return float(matrix[0, 0]) * kernel
    return Coregionalised(kernel, tuple(tuple(float(v) for v in row) for row in matrix))
