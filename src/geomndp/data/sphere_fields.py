"""Random fields on the sphere whose exact process is known: tangent vectors and scalars."""

from __future__ import annotations

import math

import numpy as np

from geomndp import _validation
from geomndp.data.fields import NOISE_VARIANCE, FieldProblem
from geomndp.equivariance import FieldType
from geomndp.gp import GP
from geomndp.kernels import SphereCurlFree, SphereDivergenceFree, ZonalExponential

SPHERE_FIELDS = ("curl-free", "div-free", "hodge", "scalar")
NUM_POINTS = 600
GOLDEN_ANGLE = math.pi * (3 - math.sqrt(5))


def fibonacci(points: int = NUM_POINTS) -> np.ndarray:
    """Nearly equidistant points of the sphere: equal steps of height, turned by the golden angle.

    Args:
        points: How many points, n.

    Returns:
        Unit vectors, shape (n, 3), from north to south.
    """
    _validation.at_least(1, points=points)
    index = np.arange(points)
    height = 1 - (2 * index + 1) / points
    level, longitude = np.sqrt(1 - height**2), GOLDEN_ANGLE * index
    return np.stack([level * np.cos(longitude), level * np.sin(longitude), height], axis=1)


def sphere_problem(
    name: str, lengthscale: float = 0.35, *, points: int = NUM_POINTS, contexts: int = 25
) -> FieldProblem:
    r"""Look up a problem of fields on the sphere, of unit variance per component and some noise.

    The potentials have the kernel $\exp(-(1 - u) / \ell^2)$ of `ZonalExponential`.

    Args:
        name: One of `SPHERE_FIELDS`: "curl-free" and "div-free" tangent fields, "hodge" with half
            of the variance from each, and "scalar".
        lengthscale: In radians.
        points: Number of Fibonacci points of a test field.
        contexts: Number of context points of a test field.

    Returns:
        The problem, its exact process included; inputs are unit vectors of R^3, values (east,
        north) components or scalars.

    Raises:
        ValueError: If there is no such problem.

    Example:
        >>> problem = sphere_problem("div-free")
        >>> problem.grid.shape
        (600, 3)
    """
    _validation.one_of("name", name, SPHERE_FIELDS)
    potential = ZonalExponential(lengthscale)
    kernel = {
        "curl-free": lambda: SphereCurlFree(potential),
        "div-free": lambda: SphereDivergenceFree(potential),
        "hodge": lambda: SphereCurlFree(potential, 0.5) + SphereDivergenceFree(potential, 0.5),
        "scalar": lambda: potential,
    }[name]()
    return FieldProblem(
        name,
        GP(kernel, noise=NOISE_VARIANCE),
        FieldType(2, "scalar" if name == "scalar" else "vector"),
        fibonacci(points),
        contexts,
        1 + NOISE_VARIANCE,
    )
