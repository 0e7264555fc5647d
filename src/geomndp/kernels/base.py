"""What every kernel gives, and the algebra of kernels: sums, products, multiples."""

import abc
import dataclasses
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp import _validation
from geomndp._types import Inputs, Mask
from geomndp.linalg import AbstractGram, DiagonalGram, MatrixGram, per_output

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
        return Sum(self, other)

    def __mul__(self, other: "AbstractKernel") -> "AbstractKernel":
        return Product(self, other) if isinstance(other, AbstractKernel) else NotImplemented

    def __rmul__(self, factor: float) -> "AbstractKernel":
        return Scaled(factor, self)


class Sum(AbstractKernel):
    """k1 + k2."""

    first: AbstractKernel
    second: AbstractKernel

    def __check_init__(self):
        if self.first.dim != self.second.dim:
            dims = f"{self.first.dim} and {self.second.dim}"
            raise ValueError(f"expected two kernels with as many outputs, got {dims}")

    @property
    def dim(self) -> int:
        return self.first.dim

    @property
    def shared(self) -> bool:
        return self.first.shared and self.second.shared

    @property
    def white(self) -> bool:
        return self.first.white and self.second.white

    def __call__(self, x1, x2):
        return self.first(x1, x2) + self.second(x1, x2)

    def cross(self, x1, x2):
        parts = [
            kernel.cross(x1, x2)
            if kernel.shared == self.shared
            else per_output(kernel.cross(x1, x2), self.dim)
            for kernel in (self.first, self.second)
        ]
        return parts[0] + parts[1]

    def gram(self, x, mask=None):
        return (self.first.gram(x) + self.second.gram(x)).masked(mask)


class Product(AbstractKernel):
    """k1 k2, of scalar kernels."""

    first: AbstractKernel
    second: AbstractKernel
    shared = True

    def __check_init__(self):
        if self.first.dim != 1 or self.second.dim != 1:
            dims = f"{self.first.dim} and {self.second.dim}"
            raise ValueError(f"expected scalar kernels in a product, got {dims} outputs")

    @property
    def dim(self) -> int:
        return 1

    @property
    def white(self) -> bool:
        return self.first.white or self.second.white

    def __call__(self, x1, x2):
        return self.first(x1, x2) * self.second(x1, x2)

    def cross(self, x1, x2):
        return self.first.cross(x1, x2) * self.second.cross(x1, x2)

    def gram(self, x, mask=None):
        if self.white:
            variance = self.first.diagonal(x) * self.second.diagonal(x)
            return DiagonalGram(variance[:, 0], 1).masked(mask)
        return self.first.gram(x).hadamard(self.second.gram(x)).masked(mask)


class Scaled(AbstractKernel):
    """c k, with c > 0."""

    factor: float
    kernel: AbstractKernel

    def __check_init__(self):
        _validation.positive(factor=self.factor)

    @property
    def dim(self) -> int:
        return self.kernel.dim

    @property
    def shared(self) -> bool:
        return self.kernel.shared

    @property
    def white(self) -> bool:
        return self.kernel.white

    def __call__(self, x1, x2):
        return self.factor * self.kernel(x1, x2)

    def cross(self, x1, x2):
        return self.factor * self.kernel.cross(x1, x2)

    def gram(self, x, mask=None):
        return (self.factor * self.kernel.gram(x)).masked(mask)


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
