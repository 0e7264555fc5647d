"""The vector-field problems of Mathieu et al. 2023, after Holderrieth et al. 2021, and more.

Three Gaussian processes on a disc of the plane; the same in space; and the Hessian of a random
potential, a field of rank-2 tensors. The exact process is known for all of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from geomndp import _validation
from geomndp._types import Batch
from geomndp.data.grids import CholeskyGenerator, GridGenerator, disc, grid_tasks
from geomndp.equivariance import FieldType
from geomndp.gp import GP
from geomndp.kernels import CurlFree, Diagonal, DivergenceFree, Hessian, SquaredExponential

LENGTHSCALE = math.sqrt(5)
NOISE_VARIANCE = 0.02
FIELDS = ("se", "curl-free", "div-free", "hessian")
POINTS_PER_SIDE = {2: 30, 3: 10}  # per side of the grid
HALF_WIDTH = {2: 10.0, 3: 4.0}


class FieldProblem(NamedTuple):
    """A process of fields, and the grid and contexts on which models of it are tested.

    Attributes:
        name: One of `FIELDS`.
        gp: The exact process, observation noise included.
        codomain: How values change under rotations.
        grid: Locations of the test fields, shape (n, d).
        contexts: Number of context points of a test field.
        variance: Mean variance of a component, noise included.
    """

    name: str
    gp: GP
    codomain: FieldType
    grid: np.ndarray
    contexts: int
    variance: float

    def gp_generator(self, dtype=None) -> CholeskyGenerator:
        """Generator of fields on the grid; factorises their covariance.

        Args:
            dtype: Floating-point type of the fields, by default JAX's own.

        Returns:
            A map from white noise to fields.
        """
        return CholeskyGenerator(self.gp, self.grid, dtype)

    def generator(self, batch_size: int = 32, *, dtype=None, **options) -> GridGenerator:
        """Generator of training fields on the grid.

        Args:
            batch_size: Fields per batch.
            dtype: Floating-point type, by default JAX's own.
            **options: Those of `GridGenerator`: `contexts`, `num_functions`, `seed`.

        Returns:
            A generator of fresh fields, or of those of a finite set.
        """
        return GridGenerator(
            gp_generator=self.gp_generator(dtype), batch_size=batch_size, **options
        )

    def tasks(self, num: int, *, seed: int = 1234, dtype=None) -> Batch:
        """Fixed test fields, all points in the order of the grid.

        Args:
            num: Number of fields.
            seed: Seed of fields and contexts.
            dtype: Floating-point type, by default JAX's own.

        Returns:
            Fields, x (num, n, d) and y (num, n, p), with `contexts` random context points each.
        """
        gp_generator = self.gp_generator(dtype)
        return grid_tasks(gp_generator, num=num, contexts=self.contexts, seed=seed)


def field_problem(name: str, dim: int = 2, *, contexts: int = 25) -> FieldProblem:
    """Look up a problem of vector or tensor fields.

    Args:
        name: One of `FIELDS`: "se", "curl-free" and "div-free" vector fields, and the tensor field
            "hessian".
        dim: Dimension of space, 2 or 3.
        contexts: Number of context points of a test field.

    Returns:
        The problem, its exact process included.

    Raises:
        ValueError: If name or dimension is none of these.

    Example:
        >>> problem = field_problem("div-free")
        >>> problem.grid.shape
        (648, 2)
    """
    _validation.one_of("name", name, FIELDS)
    _validation.one_of("dim", dim, (2, 3))
    kernel = {
        "se": lambda: Diagonal(SquaredExponential(LENGTHSCALE), dim),
        "curl-free": lambda: CurlFree(LENGTHSCALE, dim=dim),
        # Unit variance of a component in any dimension.
        "div-free": lambda: DivergenceFree(LENGTHSCALE, 1 / (dim - 1), dim=dim),
        # The invariant mean over the orthonormal components is (d + 2) / (d + 1) * 2 variances.
        "hessian": lambda: Hessian(LENGTHSCALE, (dim + 1) / (2 * (dim + 2)), space=dim),
    }[name]()
    codomain = FieldType(dim, "symmetric" if name == "hessian" else "vector")
    grid = disc(POINTS_PER_SIDE[dim], HALF_WIDTH[dim], dim)
    return FieldProblem(
        name, GP(kernel, noise=NOISE_VARIANCE), codomain, grid, contexts, 1 + NOISE_VARIANCE
    )
