"""Covariances of random functions."""

from geomndp.kernels.base import AbstractKernel, Diagonal, Product, Scaled, Sum
from geomndp.kernels.stationary import (
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    SquaredExponential,
    White,
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
