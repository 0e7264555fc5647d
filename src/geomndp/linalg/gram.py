"""The interface of Gram operators, and covariances of independent outputs."""

import abc
from typing import TYPE_CHECKING

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp._types import Mask, Outputs, PerPoint, Scalar

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class AbstractGram(eqx.Module):
    """Symmetric positive operator on (n, p) arrays."""

    dim: AbstractVar[int]

    @abc.abstractmethod
    def mv(self, v: Outputs) -> Outputs:
        """Apply K."""

    @abc.abstractmethod
    def root(self) -> "AbstractGram":
        """Symmetric root S, S S = K: equivariant, unlike a Cholesky factor."""

    @abc.abstractmethod
    def root_mv(self, v: Outputs) -> Outputs:
        """Apply the symmetric root."""

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


def per_output(matrix: Float[Array, "n m"], dim: int) -> Float[Array, "np mp"]:
    """Covariance of independent copies on flattened (point, output) indices.

    Args:
        matrix: Covariance of one copy, shape (n, m).
        dim: Number p of copies.

    Returns:
        Shape (n p, m p).
    """
    return jnp.kron(matrix, jnp.eye(dim, dtype=matrix.dtype))
