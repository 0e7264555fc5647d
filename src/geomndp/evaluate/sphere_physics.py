r"""Divergence and curl of sampled tangent fields on the sphere, against the exact process.

Values at scattered points are noisy: differences would amplify that. The field is smoothed first,
by the posterior mean m of a Gaussian process H (half gradient, half rotation) given the values, and
m is differentiated by the derivatives of H's kernel,

$\mathrm{div}\, m(x) = \mathrm{div}_x H(x, X) (H(X, X) + \sigma^2)^{-1} y,$

a linear map L of the values y, and likewise the curl (the vertical component). The mean square of
L y of the exact process is $\mathrm{tr}(L C L^T)$, C its covariance, with no sampling error. Given
a context the mean $\mu$ and the covariance are those of the posterior, and $|L \mu|^2$ is added.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Batch, Bool, Float
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


def posterior_physics(
    problem: FieldProblem,
    tasks: Batch,
    samples: Float[np.ndarray, "k s n p"],
    *,
    lengthscale: float,
) -> dict:
    """The same of posterior samples, beside the exact posterior given the same contexts.

    Args:
        problem: The problem, whose points and exact process are those of the tasks.
        tasks: Fields with their context, k of them, all points in the order of the problem's.
        samples: Samples of whole fields by task, observed values in place, shape (k, s, n, 2).
        lengthscale: That of the smoothing process, in radians.

    Returns:
        As of `sphere_physics`, `exact` for the same contexts, and the number of `tasks`; standard
        errors are those of the differences to the expectation given the context.

    Raises:
        ValueError: If the shapes do not fit, or there are fewer than two samples in all.
    """
    k, s = samples.shape[:2]
    _validation.shape("samples", samples, (len(tasks.y), s, len(problem.grid), 2))
    _validation.at_least(2, samples=k * s)
    matrix = covariance(problem.gp, problem.grid)
    y, fields = (np.asarray(v, float).reshape(k, -1, len(matrix)) for v in (tasks.y, samples))
    known = np.repeat(np.asarray(tasks.context) > 0, 2, axis=1)
    laws = [exact_posterior(matrix, value[0], row) for value, row in zip(y, known, strict=True)]
    metrics: dict = {"num": k * s, "tasks": k}
    for name, operator in derivative_operators(problem.grid, lengthscale).items():
        expected = np.array([energy(operator, c) + np.mean((operator @ m) ** 2) for m, c in laws])
        squares = np.mean((fields @ operator.T) ** 2, axis=2)
        error = np.std(squares - expected[:, None], ddof=1) / np.sqrt(k * s)
        root = float(np.sqrt(squares.mean()))
        metrics[name] = {"rms": [root, float(error / (2 * root))]}
        metrics[name]["exact"] = float(np.sqrt(expected.mean()))
    return metrics


def exact_posterior(
    matrix: Float[np.ndarray, "m m"], y: Float[np.ndarray, " m"], known: Bool[np.ndarray, " m"]
) -> tuple[np.ndarray, np.ndarray]:
    """Mean (m,) and covariance (m, m) of all values given the observed ones, which do not vary.

    Args:
        matrix: Covariance of the values, noise included.
        y: Values, of which the observed ones count.
        known: Whether each value is known.
    """
    solved = np.linalg.solve(matrix[np.ix_(known, known)], matrix[known])
    mean, left = solved.T @ y[known], matrix - matrix[:, known] @ solved
    mean[known], left[known], left[:, known] = y[known], 0.0, 0.0
    return mean, left


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
