"""Covariances of random functions."""

from geomndp.kernels.algebra import Product, Scaled, Sum
from geomndp.kernels.base import AbstractKernel, Diagonal, White
from geomndp.kernels.stationary import (
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    SquaredExponential,
)
from geomndp.kernels.tensor import Hessian
from geomndp.kernels.vector import CurlFree, DivergenceFree

__all__ = [
    "AbstractKernel",
    "CurlFree",
    "Diagonal",
    "DivergenceFree",
    "Hessian",
    "Matern12",
    "Matern32",
    "Matern52",
    "Periodic",
    "Product",
    "Scaled",
    "SquaredExponential",
    "Sum",
    "White",
]
