r"""Conditioning and comparison of Gaussians given by their moments.

Arrays of NumPy are computed on the host, in their own precision, those of JAX on its device.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp.linalg.factors import cholesky, cholesky_solve, solve_lower
from geomndp.linalg.matrix import matmul

GaussianMoments = tuple[Any, Any]
"""Mean (k,) and covariance (k, k)."""


def _namespace(*arrays: Any) -> Any:
    return jnp if any(isinstance(array, jax.Array) for array in arrays) else np


class Conditioning(NamedTuple):
    r"""Law of further values given observed ones, all centred and jointly Gaussian.

    With $L L^\top$ the covariance of the observed values and $C$ that of observed and further ones:
    the mean is $C^\top L^{-\top} L^{-1} y$, and the covariance falls by $H^\top H$, $H = L^{-1} C$.
    """

    factor: Any
    """Lower Cholesky factor L of the observed values' covariance, shape (c, c)."""
    cross: Any
    """C, shape (c, m)."""

    def whiten(self, observed: Any) -> Any:
        """Observed values (c, k) in units of their own law: $L^{-1} y$."""
        return solve_lower(self.factor, observed)

    def mean(self, observed: Any) -> Any:
        """Mean (m, k) of the further values, for every column (c, k) of observed ones."""
        return matmul(self.cross.T, cholesky_solve(self.factor, observed))

    def half(self) -> Any:
        """H, shape (c, m)."""
        return solve_lower(self.factor, self.cross)

    def reduction(self) -> Any:
        """Covariance (m, m) that the observations take away."""
        half = self.half()
        return matmul(half.T, half)


def gaussian_kl(first: GaussianMoments, second: GaussianMoments) -> Any:
    """Kullback-Leibler divergence KL(first || second) of two Gaussians.

    Args:
        first: Mean (k,) and covariance (k, k).
        second: The same of the other.

    Returns:
        Nats.
    """
    (mean0, cov0), (mean1, cov1) = first, second
    xp = _namespace(mean0, cov0, mean1, cov1)
    factor_of = cholesky if xp is jnp else np.linalg.cholesky
    factor0, factor1 = factor_of(cov0), factor_of(cov1)
    ratio, shift = solve_lower(factor1, factor0), solve_lower(factor1, mean1 - mean0)
    logdets = xp.sum(xp.log(xp.diag(factor1))) - xp.sum(xp.log(xp.diag(factor0)))
    return 0.5 * (xp.sum(ratio**2) + xp.sum(shift**2) - len(mean0)) + logdets
