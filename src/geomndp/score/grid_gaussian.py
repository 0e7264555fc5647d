r"""The exact score of Gaussian data on a fixed grid, at the cost of matrix-vector products.

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
from jax.scipy.linalg import solve

from geomndp import _validation
from geomndp._types import Array, Float
from geomndp.linalg import per_point
from geomndp.score.base import AbstractScore


class GridGaussianScore(AbstractScore):
    """Score of a zero-mean Gaussian process at the places whose covariance is given.

    Points are at time zero (at most `contexts` of them) or at one common time.
    """

    vectors: Float[Array, "m m"]
    values: Float[Array, " m"]
    dim: int = eqx.field(static=True)
    contexts: int = eqx.field(static=True)
    conditional = True

    def __init__(self, covariance: Float[np.ndarray, "m m"], dim: int, contexts: int, dtype=None):
        """Decompose the covariance of y, (n, n) for independent outputs or (n p, n p)."""
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
        known = t == 0
        # Any value will do for the noised context: take it as if it had no noise.
        y = jnp.where(known[:, None], a * y, y)
        columns = y if len(self.values) == len(y) else y.reshape(-1, 1)
        total = a**2 * self.values + noise
        rest = self._apply(noise / total, columns)  # y_t - a mu
        if self.contexts:
            rest = rest - a * self._correction(known, a, noise / total, columns, rest)
        u = -rest.reshape(y.shape) / sigma
        return jnp.where(known[:, None], 0.0, u)

    def _correction(self, known, a, share, columns, rest) -> Float[Array, "m c"]:
        """What the clean context adds to the mean of the clean values."""
        copies = len(self.values) // len(known)
        marks = jnp.repeat(known, copies).astype(self.values.dtype)
        mark, place = jax.lax.top_k(marks, min(self.contexts * copies, len(marks)))
        real = mark > 0
        basis = jnp.where(real[:, None], self.vectors[place], 0.0)
        spread = self.values * share  # eigenvalues of Sigma
        scale = jnp.max(spread)
        inner = jnp.matmul(basis * spread[None, :], basis.T, precision="highest") / scale
        inner = inner + jnp.diag(jnp.where(real, 0.0, 1.0).astype(inner.dtype))
        gap = jnp.where(real[:, None], rest[place] / a, 0.0)  # y_c - mu_c
        weights = solve(inner, gap, assume_a="pos") / scale
        return jnp.matmul(
            self.vectors,
            spread[:, None] * jnp.matmul(basis.T, weights, precision="highest"),
            precision="highest",
        )
