"""Manifolds in which functions take their values."""

from geomndp.geometry.base import AbstractManifold
from geomndp.geometry.divergence import AbstractDivergence, Exact, Hutchinson
from geomndp.geometry.euclidean import Euclidean
from geomndp.geometry.heat import (
    AbstractHeatKernel,
    has_heat_kernel,
    heat_kernel,
    random_walk,
)
from geomndp.geometry.product import Product
from geomndp.geometry.so3 import SO3
from geomndp.geometry.sphere import Sphere
from geomndp.geometry.torus import Torus

__all__ = [
    "SO3",
    "AbstractDivergence",
    "AbstractHeatKernel",
    "AbstractManifold",
    "Euclidean",
    "Exact",
    "Hutchinson",
    "Product",
    "Sphere",
    "Torus",
    "has_heat_kernel",
    "heat_kernel",
    "random_walk",
]
