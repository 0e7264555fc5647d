"""The interface of kernels, white noise, and independent copies of a scalar kernel."""

import abc
import dataclasses
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp import _registry, _validation
from geomndp._types import Inputs, Mask
from geomndp.linalg import AbstractGram, DiagonalGram, MatrixGram

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

Point = Float[Array, " d"]
Block = Float[Array, "p p"]


class AbstractKernel(eqx.Module):
    """Covariance of a random function with `dim` outputs.

    `kernel(x1, x2)` is the (p, p) covariance of the values in two *different rows*, even where
    x1 equals x2: white noise, independent per row, has zero there.
    """

    dim: AbstractVar[int]
    shared: AbstractVar[bool]

    @property
    def white(self) -> bool:
        """Whether all rows are independent, so that `gram` is diagonal."""
        return False

    @abc.abstractmethod
    def __call__(self, x1: Point, x2: Point) -> Block:
        """Covariance between two rows."""

    def cross(self, x1: Float[Array, "n d"], x2: Float[Array, "m d"]) -> Float[Array, "a b"]:
        """Covariances of all rows of x1 with all of x2.

        (n, m) where the outputs are independent copies (`shared`), else (n p, m p).
        """
        blocks = jax.vmap(lambda a: jax.vmap(lambda b: self(a, b))(x2))(x1)
        if self.shared:
            return blocks[:, :, 0, 0]
        return blocks.transpose(0, 2, 1, 3).reshape(len(x1) * self.dim, len(x2) * self.dim)

    def gram(self, x: Inputs, mask: Mask | None = None) -> AbstractGram:
        """Covariance operator of the values at x; the identity on masked rows."""
        return MatrixGram(self.cross(x, x), self.dim, self.shared).masked(mask)

    def diagonal(self, x: Inputs) -> Float[Array, "n p"]:
        """Variance of every output at every row."""
        return jax.vmap(lambda row: self.gram(row[None]).diagonal()[0])(x)

    def __add__(self, other: "AbstractKernel") -> "AbstractKernel":
        from geomndp.kernels.algebra import Sum

        return Sum(self, other)

    def __mul__(self, other: "AbstractKernel") -> "AbstractKernel":
        from geomndp.kernels.algebra import Product

        return Product(self, other) if isinstance(other, AbstractKernel) else NotImplemented

    def __rmul__(self, factor: float) -> "AbstractKernel":
        from geomndp.kernels.algebra import Scaled

        return Scaled(factor, self)


@_registry.tagged("kernel/white")
class White(AbstractKernel):
    """Independent noise in every row: diagonal by index, zero across, repeats are fine."""

    variance: float = 1.0
    shared = True

    def __check_init__(self):
        _validation.positive(variance=self.variance)

    @property
    def dim(self) -> int:
        return 1

    @property
    def white(self) -> bool:
        return True

    def __call__(self, x1, x2):
        return jnp.zeros((1, 1), dtype=x1.dtype)

    def cross(self, x1, x2):
        return jnp.zeros((len(x1), len(x2)), dtype=x1.dtype)

    def gram(self, x, mask=None):
        variance = jnp.full(len(x), self.variance, dtype=x.dtype)
        return DiagonalGram(variance, 1).masked(mask)


@_registry.tagged("kernel/diagonal")
class Diagonal(AbstractKernel):
    """`dim` independent copies of a scalar kernel: one Cholesky of size n serves them all."""

    kernel: AbstractKernel
    dim: int = eqx.field(static=True)
    shared = True

    def __check_init__(self):
        _validation.at_least(1, dim=self.dim)
        if self.kernel.dim != 1:
            raise ValueError(f"expected a scalar kernel, got one with {self.kernel.dim} outputs")

    @property
    def white(self) -> bool:
        return self.kernel.white

    def __call__(self, x1, x2):
        return self.kernel(x1, x2)[0, 0] * jnp.eye(self.dim, dtype=x1.dtype)

    def cross(self, x1, x2):
        return self.kernel.cross(x1, x2)

    def gram(self, x, mask=None):
        gram = self.kernel.gram(x, mask)
        return dataclasses.replace(gram, dim=self.dim)
