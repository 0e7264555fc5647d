"""Functions given by a table of values, defined everywhere: kernel regression."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Array, Float, Inputs, Outputs
from geomndp.kernels.base import AbstractKernel
from geomndp.linalg import matmul


@_model_files.tagged("mean/kernel-regression")
class KernelRegression(eqx.Module):
    r"""$m(x) = a + b^\top x + \sum_j k(x, x_j) w_j$: a table of values, regressed by a kernel.

    Usually made by `fit`. Without noise it has the table's values at the table's inputs; far away
    from them it is the trend $a + b^\top x$.

    Args:
        kernel: A scalar kernel.
        x: Inputs of the table, shape (m, d).
        weights: w, shape (m, p).
        trend: a, and below it b, shape (1 + d, p).

    Raises:
        ValueError: If the shapes do not fit.
    """

    kernel: AbstractKernel
    x: Float[Array | np.ndarray, "m d"]
    weights: Float[Array | np.ndarray, "m p"]
    trend: Float[Array | np.ndarray, "c p"]

    def __check_init__(self):
        m, d = self.x.shape
        _validation.shape("weights", self.weights, (m, self.weights.shape[-1]))
        _validation.shape("trend", self.trend, (1 + d, self.weights.shape[-1]))

    @classmethod
    def fit(cls, kernel, x, values, noise=0.0, *, linear: bool = False) -> KernelRegression:
        r"""Posterior mean of a Gaussian process with a flat prior on its trend.

        Args:
            kernel: A scalar kernel, the covariance of the function about its trend.
            x: Inputs of the table, shape (m, d).
            values: Values there, shape (m, p).
            noise: Variance of the errors of the values, one number or one per row (m,).
            linear: Whether the trend has slopes; else it is constant.

        Returns:
            The function, with float64 tables.

        Raises:
            ValueError: If values are not finite or a variance is negative.
        """
        x, values = np.asarray(x, np.float64), np.asarray(values, np.float64)
        _validation.function(x, values, dim=values.shape[-1])
        _validation.not_negative(noise=noise)
        with jax.enable_x64(True):
            gram = np.asarray(kernel.gram(jnp.asarray(x)).dense())
        ridge = np.maximum(np.broadcast_to(noise, len(x)), 1e-9 * gram.diagonal().mean())
        features = np.ones((len(x), 1 + linear * x.shape[1]))
        features[:, 1:] = x[:, : linear * x.shape[1]]
        inverse = np.linalg.inv(gram + np.diag(ridge))
        normal = features.T @ inverse
        trend = np.linalg.lstsq(normal @ features, normal @ values, rcond=None)[0]
        weights = inverse @ (values - features @ trend)
        slopes = np.zeros((1 + x.shape[1] - len(trend), values.shape[1]))
        return cls(kernel, x, weights, np.concatenate([trend, slopes]))

    def __call__(self, x: Inputs) -> Outputs:
        table, weights, trend = (
            jnp.asarray(v, dtype=x.dtype) for v in (self.x, self.weights, self.trend)
        )
        smooth = matmul(self.kernel.cross(x, table), weights)
        return smooth + trend[:1] + matmul(x, trend[1:])
