"""Covariances of random functions."""

from geomndp.kernels.algebra import Product, Scaled, Sum
from geomndp.kernels.base import AbstractKernel, Diagonal, White
from geomndp.kernels.coregionalised import Coregionalised
from geomndp.kernels.modulated import Modulated
from geomndp.kernels.periodic_inputs import PeriodicInputs
from geomndp.kernels.regression import KernelRegression
from geomndp.kernels.shrunk import ShrunkCovariance
from geomndp.kernels.sphere.spectral import ZonalHeat, ZonalMatern
from geomndp.kernels.sphere.table import GlobeTable
from geomndp.kernels.sphere.tangent import SphereCurlFree, SphereDivergenceFree
from geomndp.kernels.sphere.zonal import AbstractZonal, ZonalExponential
from geomndp.kernels.stationary import (
    Bias,
    Matern12,
    Matern32,
    Matern52,
    Periodic,
    SquaredExponential,
)
from geomndp.kernels.tensor import Hessian
from geomndp.kernels.turned import Turned
from geomndp.kernels.vector import CurlFree, DivergenceFree

__all__ = [
    "AbstractKernel",
    "AbstractZonal",
    "Bias",
    "Coregionalised",
    "CurlFree",
    "Diagonal",
    "DivergenceFree",
    "GlobeTable",
    "Hessian",
    "KernelRegression",
    "Matern12",
    "Matern32",
    "Matern52",
    "Modulated",
    "Periodic",
    "PeriodicInputs",
    "Product",
    "Scaled",
    "ShrunkCovariance",
    "SphereCurlFree",
    "SphereDivergenceFree",
    "SquaredExponential",
    "Sum",
    "Turned",
    "White",
    "ZonalExponential",
    "ZonalHeat",
    "ZonalMatern",
]
