"""The interface of kernels, white noise, copies of a scalar kernel; mean functions."""

import abc
import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp import _model_files, _validation
from geomndp._types import Inputs, Mask, Outputs
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
    x1 equals x2: white noise, independent per row, has zero there. Kernels are added (`k1 + k2`),
    multiplied (`k1 * k2`, scalar ones) and scaled (`2.0 * k`). A subclass of your own writes
    `__call__`, `dim` and `shared`: whether all outputs are independent copies of one.

    Example:
        ```python
        k = gn.kernels.SquaredExponential(0.25) + gn.kernels.White(0.05**2)
        k.gram(x).solve(y)  # x (n, d), y (n, 1)
        ```
    """

    dim: AbstractVar[int]
    shared: AbstractVar[bool]

    @property
    def white(self) -> bool:
        """Whether all rows are independent, so that `gram` is diagonal."""
        return False

    @abc.abstractmethod
    def __call__(self, x1: Point, x2: Point) -> Block:
        """Covariance between the values in two rows.

        Args:
            x1: Input of the first row, shape (d,).
            x2: Input of the second row, shape (d,).

        Returns:
            Shape (p, p).
        """

    def cross(self, x1: Float[Array, "n d"], x2: Float[Array, "m d"]) -> Float[Array, "a b"]:
        """Covariances of all rows of x1 with all of x2.

        Args:
            x1: Inputs, shape (n, d).
            x2: Inputs, shape (m, d).

        Returns:
            Shape (n, m) where the outputs are independent copies (`shared`), else (n p, m p).
        """
        blocks = jax.vmap(lambda a: jax.vmap(lambda b: self(a, b))(x2))(x1)
        if self.shared:
            return blocks[:, :, 0, 0]
        return blocks.transpose(0, 2, 1, 3).reshape(len(x1) * self.dim, len(x2) * self.dim)

    def gram(self, x: Inputs, mask: Mask | None = None) -> AbstractGram:
        """Covariance of the values at x.

        Args:
            x: Inputs, shape (n, d).
            mask: 1 for real rows, 0 for padding, shape (n,).

        Returns:
            Operator on (n, p) arrays; the identity on masked rows.
        """
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


class AbstractWrappedKernel(AbstractKernel):
    """A kernel made from another one, with as many outputs.

    Attributes:
        kernel: The other one.
    """

    kernel: AbstractVar[AbstractKernel]

    @property
    def dim(self) -> int:
        return self.kernel.dim

    @property
    def shared(self) -> bool:
        return self.kernel.shared

    @property
    def white(self) -> bool:
        return self.kernel.white


@_model_files.tagged("kernel/white")
class White(AbstractKernel):
    """White noise, independent in every row, repeated inputs included.

    Args:
        variance: Variance of the values.
    """

    variance: float = 1.0
    dim = 1
    shared = True

    def __check_init__(self):
        _validation.one_positive(variance=self.variance)

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


@_model_files.tagged("kernel/diagonal")
class Diagonal(AbstractKernel):
    """Independent copies of a scalar kernel, one per output: one Cholesky of size n serves all.

    Args:
        kernel: A scalar kernel.
        dim: Number p of outputs.

    Raises:
        ValueError: If the kernel has more than one output.
    """

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
        return dataclasses.replace(self.kernel.gram(x), dim=self.dim).masked(mask)


Mean = Callable[[Inputs], Outputs]


@_model_files.tagged("mean/constant")
class Constant(eqx.Module):
    """Constant mean function.

    Args:
        value: The mean of every output.
        dim: Number p of outputs.
    """

    value: float
    dim: int = eqx.field(default=1, static=True)

    def __check_init__(self):
        _validation.at_least(1, dim=self.dim)

    def __call__(self, x: Inputs) -> Outputs:
        return jnp.full((len(x), self.dim), self.value, dtype=x.dtype)


def mean_values(mean: Mean | None, x: Inputs, dim: int) -> Outputs:
    """Values of a mean function.

    Args:
        mean: From inputs (n, d) to means (n, p); None is zero.
        x: Inputs, shape (n, d).
        dim: Number p of outputs.

    Returns:
        Shape (n, p).

    Raises:
        ValueError: If the mean function has values of another shape.
    """
    if mean is None:
        return jnp.zeros((len(x), dim), dtype=x.dtype)
    values = mean(x)
    _validation.shape("the values of the mean function", values, (len(x), dim))
    return values
