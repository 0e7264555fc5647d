"""Dense Gram operators, one n x n matrix for all outputs where these are independent copies."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp._types import Outputs, PerPoint, Scalar
from geomndp.linalg.diagonal import DiagonalGram, columns, gaussian_log_density, zero_masked
from geomndp.linalg.factors import cholesky, cholesky_solve, diagonal, on_diagonal, solve_lower
from geomndp.linalg.gram import AbstractGram, per_output


def matmul(a: Any, b: Any) -> Any:
    """Matrix product in full precision, where an accelerator would round float32 factors.

    Args:
        a: Shape (..., n, m).
        b: Shape (..., m, k).
    """
    if not (isinstance(a, jax.Array) or isinstance(b, jax.Array)):
        return a @ b
    if a.ndim == b.ndim == 2:
        # No preferred type: under `vmap` outside of `jax.enable_x64` it would become float32.
        return jax.lax.dot(a, b, precision="highest")
    return jnp.matmul(a, b, precision="highest")


def jitter(dtype: jnp.dtype, n: int | Scalar) -> float | Scalar:
    """Relative diagonal shift that keeps a Cholesky factor of n smooth values real.

    Rounding moves the eigenvalues of an n x n matrix by about n eps / 8 (measured).

    Args:
        dtype: Floating-point type of the matrix.
        n: Its size.
    """
    least, rounding = 1e-10 if dtype == jnp.float64 else 1e-6, float(jnp.finfo(dtype).eps) / 4
    return max(least, n * rounding) if isinstance(n, int) else jnp.maximum(least, n * rounding)


def apply(matrix: Float[Array, "a b"], v: Float[Array, "m p"]) -> Float[Array, "n p"]:
    """Multiply by a matrix on points, or on flattened (point, output) indices.

    Args:
        matrix: Shape (n, m) or (n p, m p).
        v: Values, shape (m, p).
    """
    columns = v if matrix.shape[1] == len(v) else v.reshape(-1, 1)
    return matmul(matrix, columns).reshape(-1, v.shape[1])


def variances(noise, x: Float[Array, "n d"]) -> PerPoint:
    """Noise variances, one per point, or per point and output.

    Args:
        noise: One variance for all values, or one per point (n,), or per value (n, p).
        x: Inputs, shape (n, d).

    Raises:
        ValueError: If there are others.
    """
    noise = jnp.asarray(noise, dtype=jnp.result_type(x.dtype, float))
    if noise.shape != (1,) and (noise.shape[:1] not in ((), (len(x),)) or noise.ndim > 2):
        raise ValueError(f"expected one noise variance or {len(x)}, got shape {noise.shape}")
    return noise if noise.ndim == 2 else jnp.broadcast_to(noise, (len(x),))


class MatrixGram(AbstractGram):
    """Dense covariance.

    Args:
        matrix: Shape (n, n) when `shared` by independent outputs, else (n p, n p).
        dim: Number p of outputs.
        shared: Whether the outputs are independent copies with one covariance.
        real: 1 for rows that count, 0 for masked ones; None where all count.
    """

    matrix: Float[Array, "m m"]
    dim: int = eqx.field(static=True)
    shared: bool = eqx.field(static=True)
    real: Float[Array, " m"] | None = None

    def mv(self, v):
        return apply(self.matrix, v)

    def _with(self, matrix: Float[Array, "m m"]) -> "MatrixGram":
        return dataclasses.replace(self, matrix=matrix)

    def jitter(self) -> float | Scalar:
        """Relative shift for as many rows as count: padding does not change it."""
        size = len(self.matrix) if self.real is None else jnp.sum(self.real)
        return jitter(self.matrix.dtype, size)

    def _shift(self) -> Scalar:
        entries = diagonal(self.matrix)
        if self.real is None:
            return self.jitter() * jnp.mean(entries)
        total = jnp.sum(jnp.where(self.real > 0, entries, 0.0))
        return self.jitter() * total / jnp.maximum(jnp.sum(self.real), 1.0)

    def _power(self, power: float) -> Float[Array, "m m"]:
        """Power of the matrix whose Cholesky factor is `cholesky`."""
        values, vectors = jnp.linalg.eigh(self.matrix)
        values = jnp.maximum(values, 0.0) + self._shift()
        return matmul(vectors * values[None, :] ** power, vectors.T)

    def root(self):
        return self._with(self._power(0.5))

    def root_mv(self, v):
        return apply(self._power(0.5), v)

    def root_solve(self, v):
        return apply(self._power(-0.5), v)

    def cholesky(self) -> Float[Array, "m m"]:
        """Lower Cholesky factor, jittered for smooth kernels and repeated inputs."""
        ones = jnp.ones(len(self.matrix), self.matrix.dtype)
        real = ones if self.real is None else self.real
        return cholesky(self.matrix + on_diagonal(self._shift() * real))

    def cholesky_mv(self, v):
        return apply(self.cholesky(), v)

    def solve(self, v):
        return cholesky_solve(self.cholesky(), self._columns(v)).reshape(v.shape)

    def _columns(self, v: Outputs) -> Float[Array, "m c"]:
        return v if self.shared else v.reshape(-1, 1)

    @property
    def _copies(self) -> int:
        return self.dim if self.shared else 1

    def logdet(self):
        return 2 * self._copies * jnp.sum(jnp.log(diagonal(self.cholesky())))

    def log_density(self, v, mask=None):
        gram, v = self.masked(mask), zero_masked(v, mask)
        factor = gram.cholesky()
        white = solve_lower(factor, gram._columns(v))
        logdet = 2 * gram._copies * jnp.sum(jnp.log(diagonal(factor)))
        return gaussian_log_density(jnp.sum(white**2), logdet, v, mask)

    def dense(self):
        return per_output(self.matrix, self.dim) if self.shared else self.matrix

    def _for(self, a: PerPoint) -> "MatrixGram":
        """One matrix for all outputs, as long as numbers `a` are the same for all of them."""
        if a.ndim == 1 or not self.shared:
            return self
        real = None if self.real is None else jnp.repeat(self.real, self.dim)
        return MatrixGram(self.dense(), self.dim, False, real)

    def _spread(self, a: PerPoint) -> Float[Array, " m"]:
        if a.ndim == 2:
            return columns(a, self.dim).reshape(-1)
        return a if self.shared else jnp.repeat(a, self.dim)

    def scale(self, a):
        gram = self._for(a)
        a = gram._spread(a)
        return gram._with(a[:, None] * gram.matrix * a[None, :])

    def masked(self, mask):
        if mask is None:
            return self
        gram = self._for(mask)
        keep = gram._spread(mask) > 0
        eye = jnp.eye(len(gram.matrix), dtype=gram.matrix.dtype)
        matrix = jnp.where(keep[:, None] & keep[None, :], gram.matrix, eye)
        return MatrixGram(matrix, self.dim, gram.shared, keep.astype(gram.matrix.dtype))

    def diagonal(self):
        entries = diagonal(self.matrix)
        if self.shared:
            return jnp.broadcast_to(entries[:, None], (len(entries), self.dim))
        return entries.reshape(-1, self.dim)

    def add_diagonal(self, variance):
        gram = self._for(variance)
        return gram._with(gram.matrix + on_diagonal(gram._spread(variance)))

    def hadamard(self, other):
        if isinstance(other, DiagonalGram):
            return other.hadamard(self)
        assert isinstance(other, MatrixGram)
        return self._with(self.matrix * other.matrix)

    def __add__(self, other):
        if isinstance(other, DiagonalGram):
            return self.add_diagonal(other.variance)
        assert isinstance(other, MatrixGram)
        if self.shared == other.shared:
            return self._with(self.matrix + other.matrix)
        return MatrixGram(self.dense() + other.dense(), self.dim, False)

    def __rmul__(self, factor):
        return self._with(factor * self.matrix)
