"""Which manifolds have a heat kernel in closed form."""

import math

from geomndp.geometry.base import AbstractManifold
from geomndp.geometry.euclidean import Euclidean
from geomndp.geometry.heat import densities
from geomndp.geometry.heat.kernel import (
    AbstractHeatKernel,
    Flat,
    Independent,
    Radial,
    circle_area,
    rotation_area,
)
from geomndp.geometry.product import Product
from geomndp.geometry.so3 import SO3
from geomndp.geometry.sphere import Sphere
from geomndp.geometry.torus import Torus


def has_heat_kernel(manifold: AbstractManifold) -> bool:
    """Whether `heat_kernel` knows the manifold."""
    if isinstance(manifold, Product):
        return all(has_heat_kernel(factor) for factor in manifold.factors)
    return isinstance(manifold, (Euclidean, Torus, SO3)) or (
        isinstance(manifold, Sphere) and manifold.d <= 2
    )


def heat_kernel(manifold: AbstractManifold) -> AbstractHeatKernel:
    """Heat kernel in closed form: R^d, circle, S^2, tori, SO(3), and products of these."""
    match manifold:
        case Euclidean():
            return Flat()
        case Sphere(d=1):
            return Radial(manifold, densities.circle, None, math.pi)
        case Sphere(d=2):
            return Radial(manifold, densities.sphere, circle_area, math.pi)
        case SO3():
            return Radial(manifold, densities.rotations, rotation_area, math.sqrt(2) * math.pi)
        case Torus():
            return Independent((heat_kernel(Sphere(1)),) * manifold.d, (2,) * manifold.d)
        case Product() if has_heat_kernel(manifold):
            sizes = tuple(factor.ambient_dim for factor in manifold.factors)
            return Independent(tuple(map(heat_kernel, manifold.factors)), sizes)
    raise ValueError(
        "expected a manifold with a heat kernel in closed form (Euclidean, Sphere(1), Sphere(2), "
        f"Torus, SO3 or a product of these), got {manifold}; walk there by `random_walk`"
    )
