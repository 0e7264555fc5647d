"""Gram operators: their interface, and that of white noise."""

import abc
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp._types import Mask, Outputs, PerPoint, Scalar
from geomndp.linalg.masks import columns, outputs_per_entry, zero_masked

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

LOG_2PI = 1.8378770664093453


def safe_sqrt(square: Array) -> Array:
    """Square root whose gradient at zero is zero, not NaN.

    No branch on `square > 0`: a compiler that computes `square` anew for each of its uses, rounded
    once to zero and once not, would take one side of one branch and the other side of another.

    Args:
        square: Numbers that are not negative, of any shape.
    """
    least = jnp.asarray(jnp.finfo(square.dtype).tiny, square.dtype)
    return jnp.sqrt(jnp.maximum(square, least)) - jnp.sqrt(least)


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
    def scale(self, a: PerPoint) -> "AbstractGram":
        """Congruence diag(a) K diag(a), one factor per point, or per point and group."""

    @abc.abstractmethod
    def masked(self, mask: Mask | None) -> "AbstractGram":
        """Put the identity on masked values, cut off from the others."""

    @abc.abstractmethod
    def diagonal(self) -> Float[Array, "n p"]:
        """Variance of every coordinate."""

    @abc.abstractmethod
    def add_diagonal(self, variance: PerPoint) -> "AbstractGram":
        """Add independent noise, one variance per point, or per point and group."""

    @abc.abstractmethod
    def hadamard(self, other: "AbstractGram") -> "AbstractGram":
        """Elementwise product: the Gram operator of a product of scalar kernels."""

    @abc.abstractmethod
    def __add__(self, other: "AbstractGram") -> "AbstractGram": ...

    @abc.abstractmethod
    def __rmul__(self, factor: float | Scalar) -> "AbstractGram": ...


def gaussian_log_density(square: Scalar, logdet: Scalar, v: Outputs, mask: Mask | None) -> Scalar:
    """Log-density of a centred Gaussian from its quadratic form and log-determinant."""
    outputs = v.shape[1] if mask is None else outputs_per_entry(mask, v.shape[1])
    count = len(v) if mask is None else jnp.sum(mask)
    return -0.5 * (square + logdet + outputs * count * LOG_2PI)


class DiagonalGram(AbstractGram):
    """Covariance of white noise.

    Args:
        variance: One per point, the same for all outputs, shape (n,), or one per value (n, p).
        dim: Number p of outputs.
    """

    variance: Float[Array, " n"] | Float[Array, "n p"]
    dim: int = eqx.field(static=True)

    def _with(self, other: PerPoint) -> tuple[Array, Array]:
        """Variances and other numbers, both per point or both per value."""
        if self.variance.ndim == other.ndim == 1:
            return self.variance, other
        shape = (len(other), self.dim)
        variance, other = (
            jnp.broadcast_to(columns(v, self.dim), shape) for v in (self.variance, other)
        )
        return variance, other

    def mv(self, v):
        return columns(self.variance, self.dim) * v

    def root(self):
        return DiagonalGram(jnp.sqrt(self.variance), self.dim)

    def root_solve(self, v):
        return v / columns(jnp.sqrt(self.variance), self.dim)

    def cholesky_mv(self, v):
        return self.root_mv(v)

    def solve(self, v):
        return v / columns(self.variance, self.dim)

    def logdet(self):
        copies = self.dim if self.variance.ndim == 1 else 1
        return copies * jnp.sum(jnp.log(self.variance))

    def log_density(self, v, mask=None):
        gram, v = self.masked(mask), zero_masked(v, mask)
        return gaussian_log_density(jnp.sum(v * gram.solve(v)), gram.logdet(), v, mask)

    def dense(self):
        return jnp.diag(self.diagonal().reshape(-1))

    def scale(self, a):
        variance, a = self._with(a)
        return DiagonalGram(variance * a**2, self.dim)

    def masked(self, mask):
        if mask is None:
            return self
        variance, mask = self._with(mask)
        return DiagonalGram(jnp.where(mask > 0, variance, 1.0), self.dim)

    def diagonal(self):
        shape = (len(self.variance), self.dim)
        return jnp.broadcast_to(columns(self.variance, self.dim), shape)

    def add_diagonal(self, variance):
        own, variance = self._with(variance)
        return DiagonalGram(own + variance, self.dim)

    def hadamard(self, other):
        return DiagonalGram(self.variance * other.diagonal()[:, 0], self.dim)

    def __add__(self, other):
        return other.add_diagonal(self.variance)

    def __rmul__(self, factor):
        return DiagonalGram(factor * self.variance, self.dim)
