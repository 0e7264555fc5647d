r"""Physical checks of sampled fields: divergence, curl, and the energy of their Helmholtz parts.

Every check is a linear map L of the values y on a grid, of which the mean square is reported. The
exact process has $E |L y|^2 = \mathrm{tr}(L C L^T)$, C its covariance, with no sampling error:
observation noise and the error of finite differences are part of both and cancel in comparison.

- Divergence and curl by central differences, at the points of a regular grid that have all their
  neighbours. Values may be vectors, or symmetric tensors as one vector per row.
- Helmholtz parts, for vectors on any points: $E[g | y]$ and $E[r | y]$ when y is taken as the sum
  of a gradient field g, a divergence-free field r, both Gaussian with the kernels of the problems,
  and noise (Berlinghieri et al. 2023, Gaussian processes at the Helm(holtz)). It averages noise
  away, where differences amplify it.
"""

from __future__ import annotations

import itertools

import numpy as np

from geomndp import _validation
from geomndp._types import Float
from geomndp.data import FieldProblem, covariance, field_problem
from geomndp.equivariance import symmetric_basis
from geomndp.gp import GP


def field_physics(problem: FieldProblem, samples: Float[np.ndarray, "s n p"]) -> dict:
    """Root mean squares of divergence and curl, and the gradient part's share of the energy.

    Args:
        problem: The problem, whose grid and exact process are those of the samples.
        samples: Sampled fields on the grid, shape (s, n, p), at least two.

    Returns:
        JSON-serialisable: by operator the `rms`, a pair of estimate and standard error over the
        samples, `exact`, the value of the exact process, and `noise`, what its observation noise
        alone would give; for vectors also the `gradient_share`.

    Raises:
        ValueError: If the shapes do not fit, or the values are not vectors or symmetric tensors.
    """
    _validation.at_least(2, samples=len(samples))
    _validation.shape("samples", samples, (len(samples), len(problem.grid), problem.gp.dim))
    y = np.asarray(samples, float).reshape(len(samples), -1)
    matrix = _full_covariance(problem.gp, problem.grid)
    metrics: dict = {"num": len(samples)}
    for name, operator in difference_operators(problem).items():
        squares = np.mean((y @ operator.T) ** 2, axis=1)
        exact = energy(operator, matrix) ** 0.5
        noise = (problem.gp.noise * np.sum(operator**2) / len(operator)) ** 0.5
        metrics[name] = {"rms": root_mean_square(squares), "exact": exact, "noise": float(noise)}
    if problem.codomain.representations == ("vector",):
        gradient, rotation = helmholtz_operators(problem)
        one, other = (np.mean((y @ part.T) ** 2, axis=1) for part in (gradient, rotation))
        exact, rest = (energy(part, matrix) for part in (gradient, rotation))
        exact = float(exact / (exact + rest))
        metrics["gradient_share"] = {"share": _share(one, one + other), "exact": exact}
    return metrics


def difference_operators(problem: FieldProblem) -> dict[str, Float[np.ndarray, "m np"]]:
    """Divergence and curl by central differences, as matrices.

    Args:
        problem: The problem, on a regular grid.

    Returns:
        Maps from values (n p) to their divergence and to the components of their curl.

    Raises:
        ValueError: If the values are not vectors or symmetric tensors, or the grid not regular.
    """
    d, p = problem.codomain.dim, problem.codomain.size
    if problem.codomain.representations == ("vector",):
        rows = np.eye(d)[None]
    elif problem.codomain.representations == ("symmetric",):
        rows = symmetric_basis(d)
    else:
        values = problem.codomain.representations
        raise ValueError(f"expected fields of vectors or of symmetric tensors, got {values}")
    slopes = central_differences(problem.grid)
    shape = (-1, len(problem.grid) * p)
    divergence = np.einsum("ain,rap->rinp", slopes, rows).reshape(shape)
    turns = [
        np.einsum("in,rp->rinp", slopes[a], rows[:, b])
        - np.einsum("in,rp->rinp", slopes[b], rows[:, a])
        for a, b in itertools.combinations(range(d), 2)
    ]
    return {"divergence": divergence, "curl": np.concatenate(turns).reshape(shape)}


def central_differences(grid: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "d m n"]:
    """Derivatives in every direction at the m points with neighbours on all sides.

    Args:
        grid: Points of a regular grid, shape (n, d).

    Returns:
        Matrices of shape (d, m, n), one per direction.

    Raises:
        ValueError: If the points are not those of a regular grid.
    """
    n, d = grid.shape
    values = np.unique(np.round(grid[:, 0], 9))
    step = np.min(np.diff(values)) if len(values) > 1 else 1.0
    scaled = (grid - grid.min(axis=0)) / step
    cells = np.round(scaled).astype(int)
    if np.max(np.abs(scaled - cells)) > 1e-4:
        raise ValueError("expected points of a regular grid for finite differences, got others")
    index = {tuple(cell): i for i, cell in enumerate(cells)}
    sides = np.concatenate([np.eye(d, dtype=int), -np.eye(d, dtype=int)])
    around = [[index.get(tuple(cell + side)) for side in sides] for cell in cells]
    inner = [row for row in around if None not in row]
    _validation.at_least(1, points_with_all_neighbours=len(inner))
    slopes = np.zeros((d, len(inner), n))
    for i, row in enumerate(inner):
        for a in range(d):
            slopes[a, i, row[a]], slopes[a, i, row[a + d]] = 0.5 / step, -0.5 / step
    return slopes


def helmholtz_operators(problem: FieldProblem) -> tuple[np.ndarray, np.ndarray]:
    """Maps from values to the expected gradient part and divergence-free part.

    Args:
        problem: A problem of vectors, on any points.

    Returns:
        Two matrices of shape (n p, n p).
    """
    dim, noise = problem.codomain.dim, problem.gp.noise
    gradient, rotation = (
        covariance(GP(field_problem(name, dim).gp.kernel), problem.grid)
        for name in ("curl-free", "div-free")
    )
    total = gradient + rotation + noise * np.eye(len(gradient))
    both = np.linalg.solve(total, np.concatenate([gradient, rotation], axis=1))
    first, second = np.split(both, 2, axis=1)
    return first.T, second.T


def _full_covariance(gp: GP, grid) -> np.ndarray:
    matrix = covariance(gp, grid)
    copies = gp.dim * len(grid) // len(matrix)
    return np.kron(matrix, np.eye(copies))


def energy(operator, matrix) -> float:
    """Expected mean square of L y."""
    return float(np.sum((operator @ matrix) * operator) / len(operator))


def root_mean_square(squares) -> list[float]:
    """Root of the mean, with its standard error."""
    root = np.sqrt(np.mean(squares))
    error = np.std(squares, ddof=1) / np.sqrt(len(squares))
    return [float(root), float(error / (2 * max(root, 1e-300)))]


def _share(part, total) -> list[float]:
    """Ratio of means, with its standard error."""
    share = np.mean(part) / np.mean(total)
    error = np.std(part - share * total, ddof=1) / np.sqrt(len(part)) / np.mean(total)
    return [float(share), float(error)]
