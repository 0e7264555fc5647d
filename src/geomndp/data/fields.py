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
NOISE = 0.02
FIELDS = ("se", "curl-free", "div-free", "hessian")
POINTS = {2: 30, 3: 10}  # a side of the grid
HALF_WIDTH = {2: 10.0, 3: 4.0}


class FieldProblem(NamedTuple):
    """A process of fields, and the places and contexts under which models of it are tested."""

    name: str
    gp: GP
    codomain: FieldType
    grid: np.ndarray
    contexts: int
    variance: float
    """Mean variance of a component, noise included."""

    def gp_generator(self, dtype=None) -> CholeskyGenerator:
        """What draws fields on the grid; factorises a matrix."""
        return CholeskyGenerator(self.gp, self.grid, dtype)

    def generator(self, batch_size: int = 32, *, dtype=None, **options) -> GridGenerator:
        """Fresh training fields, or those of a finite set; options as those of `GridGenerator`."""
        return GridGenerator(
            gp_generator=self.gp_generator(dtype), batch_size=batch_size, **options
        )

    def tasks(self, num: int, *, seed: int = 1234, dtype=None) -> Batch:
        """Fixed test fields with their contexts marked, all in the order of the grid."""
        gp_generator = self.gp_generator(dtype)
        return grid_tasks(gp_generator, num=num, contexts=self.contexts, seed=seed)


def field_problem(name: str, dim: int = 2, *, contexts: int = 25) -> FieldProblem:
    """Look up a problem: name one of `FIELDS`, over the plane or in space."""
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
    grid = disc(POINTS[dim], HALF_WIDTH[dim], dim)
    return FieldProblem(name, GP(kernel, noise=NOISE), codomain, grid, contexts, 1 + NOISE)
