"""The sample covariance of functions on common inputs, shrunk towards a kernel."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Array, Float, Inputs
from geomndp.kernels.base import AbstractKernel
from geomndp.linalg import MatrixGram, matmul, per_output

TOLERANCE = 1e-5
"""Largest distance of equal inputs, relative to the range of the table."""


@_model_files.tagged("kernel/shrunk-covariance")
class ShrunkCovariance(AbstractKernel):
    r"""$(1 - a) S + a K$ on the inputs X of a table, defined everywhere.

    The process is a sum of two independent ones. The first, of weight $1 - a$, has the covariance S
    on the table, and elsewhere the values that a Gaussian process with kernel k and noise s
    predicts from them: $g(x) = W(x) g_X + r(x)$ with $W(x) = k(x, X) [K_{XX} + s]^{-1}$, and r with
    the covariance of that prediction's error. The second has the kernel $a k$. S is that of values
    with their noise, so a process with this kernel has the noise $a s$; away from the table the
    first part has further noise $(1 - a) s$.

    Usually made by `fit`.

    Args:
        kernel: k, with p outputs.
        x: X, shape (m, d).
        covariance: S, on flattened (point, output) indices, shape (m p, m p).
        precision: $[K_{XX} + s]^{-1}$, shape (m p, m p).
        weight: a, between 0 and 1.
        noise: s, one variance per output.

    Raises:
        ValueError: If shapes do not fit or the weight is no share.
    """

    kernel: AbstractKernel
    x: Float[Array | np.ndarray, "m d"]
    covariance: Float[Array | np.ndarray, "q q"]
    precision: Float[Array | np.ndarray, "q q"]
    weight: float
    noise: tuple[float, ...]

    def __check_init__(self):
        size = len(self.x) * self.dim
        _validation.shape("covariance", self.covariance, (size, size))
        _validation.shape("precision", self.precision, (size, size))
        if _validation.concrete(self.weight):
            _validation.share(weight=self.weight)
        if len(self.noise) != self.dim:
            raise ValueError(f"expected {self.dim} noise variances, got {len(self.noise)}")
        _validation.not_negative(noise=self.noise)

    @classmethod
    def fit(cls, kernel, x, covariance, weight, noise) -> ShrunkCovariance:
        """Shrink a sample covariance towards a kernel.

        Args:
            kernel: The kernel, with p outputs.
            x: Inputs of the table, shape (m, d).
            covariance: Sample covariance of noisy values there, shape (m p, m p).
            weight: Weight of the kernel, between 0 and 1.
            noise: Noise variance, one number or one per output.

        Returns:
            The kernel, with float64 tables.
        """
        x, p = np.asarray(x, np.float64), kernel.dim
        noise = np.broadcast_to(np.asarray(noise, np.float64), (p,))
        with jax.enable_x64(True):
            gram = np.asarray(kernel.gram(jnp.asarray(x)).dense())
        gram = gram + np.diag(np.tile(noise, len(x)) + 1e-9 * gram.diagonal().mean())
        covariance = np.asarray(covariance, np.float64)
        _validation.shape("covariance", covariance, gram.shape)
        variances = tuple(float(value) for value in noise)
        return cls(kernel, x, covariance, np.linalg.inv(gram), float(weight), variances)

    @property
    def dim(self) -> int:
        return self.kernel.dim

    @property
    def shared(self) -> bool:
        return self.dim == 1

    def _dense(self, x1: Inputs, x2: Float[Array, "m d"]) -> Float[Array, "a b"]:
        """Covariances of the kernel k on flattened indices."""
        cross = self.kernel.cross(x1, x2)
        return per_output(cross, self.dim) if self.kernel.shared else cross

    def _locate(self, x: Inputs) -> tuple[Float[Array, "n m"], Float[Array, " n"]]:
        """One-hot index of each row in the table, and 1 for rows that are not in it."""
        table = jnp.asarray(self.x, dtype=x.dtype)
        spread = jnp.max(table, axis=0) - jnp.min(table, axis=0)
        # An input that is the same at all points has the unit: rounding makes it no other one.
        gap = jnp.abs(x[:, None] - table[None]) / jnp.where(spread > 0, spread, 1.0)[None, None]
        same = jnp.all(gap <= TOLERANCE, axis=-1)
        first = same & (jnp.cumsum(same, axis=1) == 1)
        return first.astype(x.dtype), 1.0 - jnp.any(same, axis=1).astype(x.dtype)

    def _prediction(self, x: Inputs) -> tuple[Array, Array, Array]:
        """W(x), the cross-covariance k(x, X) and 1 for values off the table."""
        table, precision = (jnp.asarray(v, x.dtype) for v in (self.x, self.precision))
        index, off = self._locate(x)
        cross, off = self._dense(x, table), jnp.repeat(off, self.dim)
        regression = matmul(cross, precision)
        return jnp.where(off[:, None] > 0, regression, per_output(index, self.dim)), cross, off

    def cross(self, x1, x2):
        covariance, precision = (
            jnp.asarray(v, x1.dtype) for v in (self.covariance, self.precision)
        )
        (w1, c1, off1), (w2, c2, off2) = self._prediction(x1), self._prediction(x2)
        kernel = self._dense(x1, x2)
        error = kernel - matmul(matmul(c1, precision), c2.T)
        sample = matmul(matmul(w1, covariance), w2.T) + off1[:, None] * off2[None] * error
        return (1 - self.weight) * sample + self.weight * kernel

    def __call__(self, x1, x2):
        return self.cross(x1[None], x2[None])

    def _white(self, x: Inputs) -> Float[Array, "n p p"]:
        """Covariance of the outputs in one row less that in two rows at the same input."""

        def one(row):
            return self.kernel.gram(row).dense() - self._dense(row, row)

        return jax.vmap(one)(x[:, None])

    def gram(self, x, mask=None):
        noise, white = jnp.diag(jnp.asarray(self.noise, x.dtype)), self._white(x)
        off = self._locate(x)[1][:, None, None]
        nugget = self.weight * white + (1 - self.weight) * off * (white + noise[None])
        blocks = jnp.eye(len(x), dtype=x.dtype)[:, None, :, None] * nugget[:, :, None, :]
        size = len(x) * self.dim
        matrix = self.cross(x, x) + blocks.reshape(size, size)
        return MatrixGram(matrix, self.dim, self.shared).masked(mask)
