r"""Divergence and curl of sampled tangent fields on the sphere, against the exact process.

Values at scattered points are noisy: differences would amplify that. The field is smoothed first,
by the posterior mean m of a Gaussian process H (half gradient, half rotation) given the values, and
m is differentiated by the derivatives of H's kernel,

$\mathrm{div}\, m(x) = \mathrm{div}_x H(x, X) (H(X, X) + \sigma^2)^{-1} y,$

a linear map L of the values y, and likewise the curl (the vertical component). The mean square of
L y of the exact process is $\mathrm{tr}(L C L^T)$, C its covariance, with no sampling error.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float
from geomndp.data import FieldProblem, covariance, fibonacci, sphere_problem
from geomndp.evaluate.physics import energy, root_mean_square
from geomndp.geometry.geodesy import east_and_north
from geomndp.kernels import AbstractKernel

PROBES = 100


def sphere_physics(
    problem: FieldProblem, samples: Float[np.ndarray, "s n p"], *, lengthscale: float
) -> dict:
    """Root mean squares of divergence and curl of smoothed fields, beside the exact process.

    Args:
        problem: The problem, whose points and exact process are those of the samples.
        samples: Sampled fields (east, north), shape (s, n, 2), at least two.
        lengthscale: That of the smoothing process, in radians.

    Returns:
        JSON-serialisable: by operator the `rms`, a pair of estimate and standard error over the
        samples, and `exact`, the value of the exact process; per unit of length, the radius.

    Raises:
        ValueError: If the shapes do not fit, or the values are not vectors.
    """
    _validation.at_least(2, samples=len(samples))
    _validation.shape("samples", samples, (len(samples), len(problem.grid), 2))
    y = np.asarray(samples, float).reshape(len(samples), -1)
    matrix = covariance(problem.gp, problem.grid)
    metrics: dict = {"num": len(samples)}
    for name, operator in derivative_operators(problem.grid, lengthscale).items():
        squares = np.mean((y @ operator.T) ** 2, axis=1)
        exact = energy(operator, matrix) ** 0.5
        metrics[name] = {"rms": root_mean_square(squares), "exact": exact}
    return metrics


def derivative_operators(
    x: Float[np.ndarray, "n 3"], lengthscale: float, *, probes: int = PROBES
) -> dict[str, Float[np.ndarray, "m k"]]:
    """Maps from values (n 2) at the points to divergence and curl of the smoothed field.

    Args:
        x: Unit vectors of the values.
        lengthscale: That of the smoothing process, in radians.
        probes: Number m of Fibonacci points at which derivatives are taken.
    """
    gp = sphere_problem("hodge", lengthscale).gp
    with jax.enable_x64(True):
        where, points = jnp.asarray(fibonacci(probes)), jnp.asarray(x)
        slopes = jax.jit(lambda where, points: surface_derivatives(gp.kernel, where, points))
        divergence, curl = (np.asarray(part) for part in slopes(where, points))
    gain = np.linalg.inv(covariance(gp, x))  # noise included
    return {"divergence": divergence @ gain, "curl": curl @ gain}


def surface_derivatives(
    kernel: AbstractKernel, where: Float[Array, "m 3"], points: Float[Array, "n 3"]
) -> tuple[Float[Array, "m k"], Float[Array, "m k"]]:
    """Divergence and curl in the first argument of a tangent kernel.

    Args:
        kernel: Of (east, north) components.
        where: First arguments, unit vectors away from the poles.
        points: Second arguments.

    Returns:
        Covariances of divergence and of curl with the values, each of shape (m, n 2).
    """

    def one(x, other):
        def ambient(v):  # columns of the kernel as vectors of R^3, around the sphere too
            v = v / jnp.linalg.norm(v)
            return jnp.matmul(jnp.asarray(east_and_north(v)).T, kernel(v, other))

        slopes = jax.jacfwd(ambient)(x)  # (3, 2, 3): component, column, direction
        east, north = jnp.asarray(east_and_north(x))
        along = jnp.einsum(
            "ac,cqd,bd->abq", jnp.stack([east, north]), slopes, jnp.stack([east, north])
        )
        return along[0, 0] + along[1, 1], along[1, 0] - along[0, 1]

    each = jax.vmap(jax.vmap(one, in_axes=(None, 0)), in_axes=(0, None))
    divergence, curl = each(where, points)
    return divergence.reshape(len(where), -1), curl.reshape(len(where), -1)
