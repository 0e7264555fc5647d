r"""The exact score of Gaussian data at fixed inputs, at the cost of matrix-vector products.

With a white limit of variance v all noised covariances $a^2 K_0 + \sigma^2 v I$ have the
eigenvectors of $K_0$, so that one eigendecomposition serves all times and fields. Given a context
at time zero: let $N(\mu, \Sigma)$ be the law of the clean values given *noised* ones everywhere,
$\Sigma$ of the same eigenvectors. Noised values at the context add nothing to the clean ones that
are known there, so that
$E[y_{0*} | y_*, y_c] = \mu_* + \Sigma_{*c} \Sigma_{cc}^{-1} (y_c - \mu_c)$ whatever they were taken
to be: a small system, of the size of the context.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float
from geomndp.linalg import cholesky, cholesky_solve, per_point
from geomndp.score.base import AbstractScore


class GridGaussianScore(AbstractScore):
    """Score of a zero-mean Gaussian process at the points whose covariance is given.

    Points are at time zero (the context) or at one common time.

    Args:
        covariance: Covariance of y, (n, n) for independent outputs or (n p, n p).
        dim: Number of outputs p.
        contexts: Largest number of context points.
        dtype: Dtype of the decomposition; by default JAX's float.
    """

    vectors: Float[Array, "m m"]
    values: Float[Array, " m"]
    dim: int = eqx.field(static=True)
    contexts: int = eqx.field(static=True)
    conditional = True

    def __init__(self, covariance: Float[np.ndarray, "m m"], dim: int, contexts: int, dtype=None):
        _validation.at_least(0, contexts=contexts)
        dtype = jnp.dtype(dtype or jnp.result_type(float))
        values, vectors = np.linalg.eigh(covariance)
        self.vectors, self.values = jnp.asarray(vectors, dtype), jnp.asarray(values, dtype)
        self.dim, self.contexts = dim, contexts

    def _apply(self, weights: Float[Array, " m"], y: Float[Array, "m c"]) -> Float[Array, "m c"]:
        product = jnp.matmul(self.vectors.T, y, precision="highest")
        return jnp.matmul(self.vectors, weights[:, None] * product, precision="highest")

    def __call__(self, noising, t, x, y, mask=None):
        _validation.shapes(x, y, dim=self.dim, mask=mask)
        if not noising.kernel.white:
            raise ValueError("expected a white limiting kernel, whose noise keeps eigenvectors")
        t = per_point(t, len(x))
        time = jnp.max(t)
        a, sigma = noising.alpha(time), noising.sigma(time)
        noise = sigma**2 * noising.gram(x).diagonal()[0, 0]
        is_context = t == 0
        # Any value will do for the noised context: take it as if it had no noise.
        y = jnp.where(is_context[:, None], a * y, y)
        columns = y if len(self.values) == len(y) else y.reshape(-1, 1)
        total = a**2 * self.values + noise
        residual = self._apply(noise / total, columns)  # y_t - a mu
        if self.contexts:
            residual = residual - a * self._correction(is_context, a, noise / total, residual)
        u = -residual.reshape(y.shape) / sigma
        return jnp.where(is_context[:, None], 0.0, u)

    def _correction(self, is_context, a, share, residual) -> Float[Array, "m c"]:
        """Change of the mean of the clean values given the clean context."""
        copies = len(self.values) // len(is_context)
        marks = jnp.repeat(is_context, copies).astype(self.values.dtype)
        mark, index = jax.lax.top_k(marks, min(self.contexts * copies, len(marks)))
        real = mark > 0
        basis = jnp.where(real[:, None], self.vectors[index], 0.0)
        variances = self.values * share  # eigenvalues of Sigma
        scale = jnp.max(variances)
        inner = jnp.matmul(basis * variances[None, :], basis.T, precision="highest") / scale
        inner = inner + jnp.diag(jnp.where(real, 0.0, 1.0).astype(inner.dtype))
        misfit = jnp.where(real[:, None], residual[index] / a, 0.0)  # y_c - mu_c
        weights = cholesky_solve(cholesky(inner), misfit) / scale
        return jnp.matmul(
            self.vectors,
            variances[:, None] * jnp.matmul(basis.T, weights, precision="highest"),
            precision="highest",
        )
