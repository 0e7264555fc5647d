r"""Normal values whose outputs depend on each other at every target, and targets do not.

Of a vector field the two components at one point are correlated in general, and a covariance that
is rotated with the field has an entry for that. Blocks are small: they are factorised entry by
entry, which compiles to a few products and no call of a library of linear algebra.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Outputs
from geomndp.baselines.neural_processes.predictions import AbstractPrediction
from geomndp.linalg import jitter, matmul, zero_masked
from geomndp.marginals import NormalMarginals

LOG_2PI = math.log(2 * math.pi)
UNIT_SOFTPLUS = math.log(math.e - 1)
"""Where log(1 + exp r) is one."""


class BlockGaussian(AbstractPrediction):
    r"""Targets that are independent, of p outputs each that are not, $\prod_i N(y_i; m_i, C_i)$.

    Args:
        location: Means m, shape (n, p).
        covariance: Covariances C of the outputs at every target, shape (n, p, p).
    """

    location: Outputs
    covariance: Float[Array, "n p p"]

    def log_prob(self, y, mask=None):
        nats = self.marginal_log_prob(zero_masked(y, mask))
        return jnp.sum(zero_masked(nats[:, None], mask))

    def sample(self, *, key, num_samples):
        noise = jr.normal(key, (num_samples, *self.location.shape), self.location.dtype)
        factor = cholesky_blocks(self.covariance)
        return self.location[None] + jnp.einsum("nab,snb->sna", factor, noise, precision="highest")

    def marginal_log_prob(self, y):
        factor, difference = cholesky_blocks(self.covariance), y - self.location
        white: list[Array] = []
        nats = jnp.zeros_like(difference[:, 0])
        for i in range(difference.shape[1]):
            known = sum((factor[:, i, j] * white[j] for j in range(i)), start=0.0)
            white.append((difference[:, i] - known) / factor[:, i, i])
            nats = nats - 0.5 * white[i] ** 2 - jnp.log(factor[:, i, i]) - 0.5 * LOG_2PI
        return nats

    def marginals(self):
        variance = jnp.diagonal(self.covariance, axis1=1, axis2=2)
        return NormalMarginals(self.location, jnp.sqrt(variance))


def cholesky_blocks(matrices: Float[Array, "n p p"]) -> Float[Array, "n p p"]:
    """Lower Cholesky factors of small symmetric positive definite matrices.

    Pivots below the rounding of their diagonal entry (`linalg.jitter`) are raised to it.

    Args:
        matrices: Shape (n, p, p).

    Returns:
        Factors, shape (n, p, p).
    """
    p = matrices.shape[1]
    least = jitter(matrices.dtype, p)
    zero = jnp.zeros_like(matrices[:, 0, 0])
    rows: list[list[Array]] = [[zero] * p for _ in range(p)]
    for j in range(p):
        diagonal = matrices[:, j, j]
        pivot = diagonal - sum((rows[j][k] ** 2 for k in range(j)), start=zero)
        rows[j][j] = jnp.sqrt(jnp.maximum(pivot, least * diagonal))
        for i in range(j + 1, p):
            known = sum((rows[i][k] * rows[j][k] for k in range(j)), start=zero)
            rows[i][j] = (matrices[:, i, j] - known) / rows[j][j]
    return jnp.stack([jnp.stack(row, axis=1) for row in rows], axis=1)


def block_head(
    location: Outputs,
    log_scale: Float[Array, "n 1"],
    matrix: Float[Array, "n p p"],
    min_std: float,
) -> BlockGaussian:
    r"""Blocks from the outputs of a network, positive definite whatever these are.

    $$ C = s^2 E^2 + \sigma_{\min}^2 I, \qquad E = (I + X + X^2 / 2)^8, \quad
       X = (M + M^T) / 16, \quad s = \log(1 + (e - 1) e^{r}). $$

    E is nearly the exponential of the symmetric part of M, and its eigenvalues are at least
    $2^{-8}$: on the way from one covariance to another no direction loses all its variance. Where M
    becomes $D M D^T$ and m becomes $D m$ by an orthogonal matrix D, C becomes $D C D^T$.

    Args:
        location: Means m, shape (n, p).
        log_scale: Numbers r, of which zero stands for unit scale, shape (n, 1).
        matrix: Matrices M, shape (n, p, p).
        min_std: Smallest standard deviation in any direction.

    Returns:
        The law of (n, p) values.
    """
    identity = jnp.eye(location.shape[1], dtype=location.dtype)[None]
    x = (matrix + matrix.transpose(0, 2, 1)) / 16
    power = identity + x + 0.5 * matmul(x, x)
    for _ in range(4):  # to the eighth, and the square of that
        power = matmul(power, power)
    scale = jax.nn.softplus(log_scale + UNIT_SOFTPLUS)[:, :, None]
    return BlockGaussian(location, scale**2 * power + min_std**2 * identity)


__all__ = ["BlockGaussian", "block_head", "cholesky_blocks"]
