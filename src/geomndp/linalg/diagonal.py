"""White noise: a diagonal Gram operator, O(n) in memory and time."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp.linalg.base import AbstractGram, gaussian_log_density, zero_masked


class DiagonalGram(AbstractGram):
    """White noise: `variance` (n,) a point, the same for each of `dim` outputs."""

    variance: Float[Array, " n"]
    dim: int = eqx.field(static=True)

    def mv(self, v):
        return self.variance[:, None] * v

    def root(self):
        return DiagonalGram(jnp.sqrt(self.variance), self.dim)

    def root_solve(self, v):
        return v / jnp.sqrt(self.variance)[:, None]

    def cholesky_mv(self, v):
        return self.root_mv(v)

    def solve(self, v):
        return v / self.variance[:, None]

    def logdet(self):
        return self.dim * jnp.sum(jnp.log(self.variance))

    def log_density(self, v, mask=None):
        gram, v = self.masked(mask), zero_masked(v, mask)
        return gaussian_log_density(jnp.sum(v * gram.solve(v)), gram.logdet(), v, mask)

    def dense(self):
        return jnp.diag(jnp.repeat(self.variance, self.dim))

    def scale(self, a):
        return DiagonalGram(self.variance * a**2, self.dim)

    def masked(self, mask):
        if mask is None:
            return self
        return DiagonalGram(jnp.where(mask > 0, self.variance, 1.0), self.dim)

    def diagonal(self):
        return jnp.broadcast_to(self.variance[:, None], (self.variance.shape[0], self.dim))

    def add_diagonal(self, variance):
        return DiagonalGram(self.variance + variance, self.dim)

    def hadamard(self, other):
        return DiagonalGram(self.variance * other.diagonal()[:, 0], self.dim)

    def __add__(self, other):
        return other.add_diagonal(self.variance)

    def __rmul__(self, factor):
        return DiagonalGram(factor * self.variance, self.dim)
