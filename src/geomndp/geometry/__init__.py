"""Manifolds in which functions take their values."""

from geomndp._deprecated import deprecated_names
from geomndp.geometry.base import AbstractManifold, Euclidean
from geomndp.geometry.brownian import has_heat_kernel, heat_kernel, random_walk
from geomndp.geometry.divergence import AbstractDivergence, Exact, Hutchinson
from geomndp.geometry.heat.kernel import AbstractHeatKernel
from geomndp.geometry.product import ProductManifold, Torus
from geomndp.geometry.so3 import SO3
from geomndp.geometry.sphere import Sphere
from geomndp.geometry.statistics import frechet_mean

__all__ = [
    "SO3",
    "AbstractDivergence",
    "AbstractHeatKernel",
    "AbstractManifold",
    "Euclidean",
    "Exact",
    "Hutchinson",
    "ProductManifold",
    "Sphere",
    "Torus",
    "frechet_mean",
    "has_heat_kernel",
    "heat_kernel",
    "random_walk",
]

deprecated_names(__name__, {"Product": "ProductManifold", "euclidean": "base", "torus": "product"})
