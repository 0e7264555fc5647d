"""Sums, products and positive multiples of kernels."""

from geomndp import _model_files, _validation
from geomndp.kernels.base import AbstractKernel, AbstractWrappedKernel
from geomndp.linalg import DiagonalGram, per_output


@_model_files.tagged("kernel/sum")
class Sum(AbstractKernel):
    """k1 + k2: the law of a sum of independent functions.

    Args:
        first: A kernel.
        second: Another with as many outputs.
    """

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
        terms = [
            kernel.cross(x1, x2)
            if kernel.shared == self.shared
            else per_output(kernel.cross(x1, x2), self.dim)
            for kernel in (self.first, self.second)
        ]
        return terms[0] + terms[1]

    def gram(self, x, mask=None):
        return (self.first.gram(x) + self.second.gram(x)).masked(mask)


@_model_files.tagged("kernel/product")
class Product(AbstractKernel):
    """k1 k2, of scalar kernels.

    Args:
        first: A scalar kernel.
        second: Another.
    """

    first: AbstractKernel
    second: AbstractKernel
    dim = 1
    shared = True

    def __check_init__(self):
        if self.first.dim != 1 or self.second.dim != 1:
            dims = f"{self.first.dim} and {self.second.dim}"
            raise ValueError(f"expected scalar kernels in a product, got {dims} outputs")

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


@_model_files.tagged("kernel/scaled")
class Scaled(AbstractWrappedKernel):
    """c k, with c > 0.

    Args:
        factor: c.
        kernel: k.
    """

    factor: float
    kernel: AbstractKernel

    def __check_init__(self):
        _validation.one_positive(factor=self.factor)

    def __call__(self, x1, x2):
        return self.factor * self.kernel(x1, x2)

    def cross(self, x1, x2):
        return self.factor * self.kernel.cross(x1, x2)

    def gram(self, x, mask=None):
        return (self.factor * self.kernel.gram(x)).masked(mask)
