"""Gram operators: their interface, that of white noise, and the array helpers they share."""

import abc
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp._types import Mask, Outputs, Scalar, Times

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

LOG_2PI = 1.8378770664093453


def matmul(a: Array, b: Array) -> Array:
    """Matrix product in full precision, where an accelerator would round float32 factors.

    Args:
        a: Shape (..., n, m).
        b: Shape (..., m, k).
    """
    return jnp.matmul(a, b, precision="highest")


def zero_masked(v: Float[Array, "n p"], mask: Mask | None) -> Float[Array, "n p"]:
    """Put zero in masked rows, whatever they hold, so that gradients are not NaN either.

    Args:
        v: Values, shape (n, p).
        mask: 1 for real rows, 0 for padding, shape (n,).
    """
    return v if mask is None else jnp.where(mask[:, None] > 0, v, 0.0)


def per_point(t: Times, n: int) -> Float[Array, " n"]:
    """One time per point; a scalar stands for all.

    Args:
        t: Times, a scalar or (n,).
        n: Number of points.

    Raises:
        ValueError: If t has another shape.
    """
    if jnp.shape(t) not in ((), (n,)):
        raise ValueError(f"expected t of shape () or ({n},), got shape {jnp.shape(t)}")
    return jnp.broadcast_to(t, (n,))


def join_masks(
    first: Float[Array, " n"] | None, second: Float[Array, " m"] | None, n: int, m: int, dtype
) -> Float[Array, " total"] | None:
    """Mask of two sets of points together.

    Args:
        first: Mask of n points; None where all are real.
        second: Mask of m points.
        n: Number of the first.
        m: Number of the second.
        dtype: That of a mask that is made here.

    Returns:
        Shape (n + m,); None where all are real.
    """
    if first is None and second is None:
        return None
    masks = [
        jnp.ones(size, dtype=dtype) if mask is None else mask
        for mask, size in ((first, n), (second, m))
    ]
    return jnp.concatenate(masks)


def safe_sqrt(square: Array) -> Array:
    """Square root whose gradient at zero is zero, not NaN.

    Args:
        square: Numbers that are not negative, of any shape.
    """
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1.0)), 0.0)


def norm(v: Float[Array, "*n p"]) -> Float[Array, "*n 1"]:
    """Euclidean length along the last axis, whose gradient at zero is zero, not NaN.

    Args:
        v: Shape (..., p).

    Returns:
        Shape (..., 1).
    """
    return safe_sqrt(jnp.sum(v**2, axis=-1, keepdims=True))


class AbstractGram(eqx.Module):
    """Symmetric positive operator on (n, p) arrays."""

    dim: AbstractVar[int]

    @abc.abstractmethod
    def mv(self, v: Outputs) -> Outputs:
        """Apply K."""

    @abc.abstractmethod
    def root(self) -> "AbstractGram":
        """Symmetric root S, S S = K: equivariant, unlike a Cholesky factor."""

    def root_mv(self, v: Outputs) -> Outputs:
        """Apply the symmetric root."""
        return self.root().mv(v)

    @abc.abstractmethod
    def root_solve(self, v: Outputs) -> Outputs:
        """Apply the inverse of the symmetric root."""

    @abc.abstractmethod
    def cholesky_mv(self, v: Outputs) -> Outputs:
        """Apply some root L, L L^T = K: cheap, for use where only the law matters."""

    @abc.abstractmethod
    def solve(self, v: Outputs) -> Outputs:
        """Apply the inverse of K."""

    @abc.abstractmethod
    def log_density(self, v: Outputs, mask: Mask | None = None) -> Scalar:
        """Log-density of v under N(0, K) over the unmasked points."""

    @abc.abstractmethod
    def logdet(self) -> Scalar:
        """Log-determinant of K on all n p coordinates."""

    @abc.abstractmethod
    def dense(self) -> Float[Array, "np np"]:
        """Matrix on flattened (point, output) indices."""

    @abc.abstractmethod
    def scale(self, a: Float[Array, " n"]) -> "AbstractGram":
        """Congruence diag(a) K diag(a), one factor per point."""

    @abc.abstractmethod
    def masked(self, mask: Mask | None) -> "AbstractGram":
        """Put the identity on masked points, cut off from the others."""

    @abc.abstractmethod
    def diagonal(self) -> Float[Array, "n p"]:
        """Variance of every coordinate."""

    @abc.abstractmethod
    def add_diagonal(self, variance: Float[Array, " n"]) -> "AbstractGram":
        """Add independent noise, one variance per point."""

    @abc.abstractmethod
    def hadamard(self, other: "AbstractGram") -> "AbstractGram":
        """Elementwise product: the Gram operator of a product of scalar kernels."""

    @abc.abstractmethod
    def __add__(self, other: "AbstractGram") -> "AbstractGram": ...

    @abc.abstractmethod
    def __rmul__(self, factor: float | Scalar) -> "AbstractGram": ...


def gaussian_log_density(square: Scalar, logdet: Scalar, v: Outputs, mask: Mask | None) -> Scalar:
    """Log-density of a centred Gaussian from its quadratic form and log-determinant."""
    points = len(v) if mask is None else jnp.sum(mask)
    return -0.5 * (square + logdet + v.shape[1] * points * LOG_2PI)


class DiagonalGram(AbstractGram):
    """Covariance of white noise.

    Args:
        variance: One per point, the same for all outputs, shape (n,).
        dim: Number p of outputs.
    """

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
