r"""What fields in a map projection lose to the sphere, without training, in closed form.

    python -m geomndp.experiments.sphere_fields.projections --out results.json

Fields of the exact process p on the sphere are given to the best process q of the same kind on a
map, whose lengthscale, variance and noise maximise the expected log-density of whole fields. Of
values A the expectation over p is $-\frac12 [\log\det(2 \pi Q_A) + \mathrm{tr}(Q_A^{-1} P_A)]$, and
that of targets given a context the difference of two.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from geomndp._types import Float
from geomndp.data import FieldProblem, covariance, sphere_problem
from geomndp.experiments import results
from geomndp.geometry.geodesy import to_latlon
from geomndp.gp import GP
from geomndp.kernels import AbstractKernel, Diagonal, DivergenceFree, ZonalExponential

FIELD = "div-free"
FIT_POINTS = 300
START = (0.35, 1.0, 0.02)
"""Lengthscale, variance and noise of the process on the sphere, where the search starts."""


class Chart(NamedTuple):
    """A process on another geometry than the sphere's.

    Attributes:
        inputs: Unit vectors (n, 3) to its inputs (n, d).
        frames: Unit vectors (n, 3) to matrices (n, 2, 2), from its components to east and north.
        kernel: Lengthscale and variance to its kernel.
    """

    inputs: Callable[[np.ndarray], np.ndarray]
    frames: Callable[[np.ndarray], np.ndarray]
    kernel: Callable[[Any, Any], AbstractKernel]


def _angles(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lat, lon = to_latlon(x)
    return np.radians(lat), np.radians(lon)


def equirectangular(x: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
    """Longitude and latitude in radians: torn at the date line and at the poles."""
    return np.stack(_angles(x)[::-1], axis=1)


def stereographic(x: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2"]:
    """The plane that touches the north pole, seen from the south pole: angles are true."""
    return 2 * x[:, :2] / (1 + x[:, 2:])


def unchanged(x: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2 2"]:
    """Components are those to the east and to the north."""
    return np.broadcast_to(np.eye(2), (len(x), 2, 2))


def turned_by_meridian(x: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 2 2"]:
    """East and north (towards the middle) in the axes of the stereographic map, as rows."""
    lon = _angles(x)[1]
    east, out = (-np.sin(lon), np.cos(lon)), (np.cos(lon), np.sin(lon))
    return np.stack([np.stack(east, axis=1), -np.stack(out, axis=1)], axis=1)


CHARTS = {
    "E(2), longitude and latitude": Chart(equirectangular, unchanged, DivergenceFree),
    "E(2), stereographic": Chart(stereographic, turned_by_meridian, DivergenceFree),
    "east and north as scalars in R^3": Chart(
        lambda x: x,
        unchanged,
        lambda scale, variance: Diagonal(ZonalExponential(scale, variance), 2),
    ),
}


def chart_covariance(
    chart: Chart, x: Float[np.ndarray, "n 3"], parameters: tuple[float, float, float]
) -> Float[np.ndarray, "m m"]:
    """Covariance of noisy (east, north) values at unit vectors by the process of a chart.

    Args:
        chart: One of `CHARTS`.
        x: Unit vectors, shape (n, 3).
        parameters: Lengthscale, variance and noise.
    """
    with jax.enable_x64(True):  # arrays, so that one program serves all
        arrays: Any = [jnp.asarray(value, jnp.float64) for value in parameters]
        gp = GP(chart.kernel(*arrays[:2]), noise=arrays[2])
    matrix = covariance(gp, chart.inputs(x))
    if len(matrix) == len(x):  # independent copies
        matrix = np.kron(matrix, np.eye(2))
    blocks, frames = matrix.reshape(len(x), 2, len(x), 2), chart.frames(x)
    return np.einsum("iab,ibjc,jdc->iajd", frames, blocks, frames).reshape(matrix.shape)


def expected_log_density(truth: Float[np.ndarray, "m m"], law: Float[np.ndarray, "m m"]) -> float:
    """Nats of all values of a Gaussian law, expected over another one of the same mean zero."""
    factor = cho_factor(law, lower=True)
    volume = 2 * np.sum(np.log(np.diag(factor[0]))) + len(law) * math.log(2 * math.pi)
    return -0.5 * float(volume + np.trace(cho_solve(factor, truth)))


def best_parameters(
    chart: Chart, problem: FieldProblem, *, iterations: int = 80
) -> tuple[float, float, float]:
    """Lengthscale, variance and noise with the largest expected log-density of whole fields.

    Args:
        chart: One of `CHARTS`.
        problem: The process on the sphere, at its points.
        iterations: Of the simplex search.
    """
    truth = covariance(problem.gp, problem.grid)

    def loss(log_parameters: np.ndarray) -> float:
        scale, variance, noise = np.exp(log_parameters)
        law = chart_covariance(chart, problem.grid, (scale, variance, noise))
        return -expected_log_density(truth, law)

    options = {"maxiter": iterations, "xatol": 1e-3, "fatol": 1e-2}
    found = minimize(loss, np.log(START), method="Nelder-Mead", options=options)
    scale, variance, noise = np.exp(found.x)
    return float(scale), float(variance), float(noise)


def zones(x: Float[np.ndarray, "n 3"]) -> dict[str, np.ndarray]:
    """Which unit vectors (n, 3) are near the poles, near the date line, elsewhere, anywhere."""
    lat, lon = _angles(x)
    poles = np.abs(lat) > np.radians(60)
    date_line = ~poles & (np.abs(lon) > np.radians(150))
    others = ~poles & ~date_line
    return {"all": np.ones(len(x), bool), "poles": poles, "date line": date_line, "rest": others}


def geometry_rows(*, num_contexts: int = 20, seed: int = 0) -> dict[str, Any]:
    """Expected regret of every chart to the sphere, nats per target point of each zone.

    Args:
        num_contexts: Random contexts over which expectations are averaged.
        seed: Seed of these.

    Returns:
        Chart -> "parameters" and "regret", zone -> pair of mean and standard error over contexts.
    """
    problem = sphere_problem(FIELD)
    truth, random = covariance(problem.gp, problem.grid), np.random.default_rng(seed)
    n, rows = len(problem.grid), {}
    contexts = [random.permutation(n)[: problem.contexts] for _ in range(num_contexts)]
    for name, chart in CHARTS.items():
        parameters = best_parameters(chart, sphere_problem(FIELD, points=FIT_POINTS))
        law = chart_covariance(chart, problem.grid, parameters)
        regret = {
            zone: _regrets(truth, law, inside, contexts)
            for zone, inside in zones(problem.grid).items()
        }
        rows[name] = {"parameters": list(parameters), "regret": regret}
    return rows


def _regrets(truth: np.ndarray, law: np.ndarray, inside: np.ndarray, contexts: list) -> list[float]:
    """Mean and standard error of the regret at the targets inside."""
    found = []
    for context in contexts:
        targets = np.setdiff1d(np.flatnonzero(inside), context)
        given, both = (_values(rows) for rows in (context, np.concatenate([context, targets])))
        losses = [
            expected_log_density(part, part) - expected_log_density(part, other)
            for part, other in ((truth[np.ix_(v, v)], law[np.ix_(v, v)]) for v in (both, given))
        ]
        found.append((losses[0] - losses[1]) / len(targets))
    return results.mean_and_error(found)


def _values(rows: np.ndarray) -> np.ndarray:
    return (2 * rows[:, None] + np.arange(2)).reshape(-1)


def main() -> None:
    """Compute the table."""
    parser = argparse.ArgumentParser(description="What a map projection loses to the sphere.")
    parser.add_argument("--out", required=True)
    parser.add_argument("--contexts", type=int, default=20, help="random contexts")
    options = parser.parse_args()
    results.update(options.out, ("geometry",), geometry_rows(num_contexts=options.contexts))


if __name__ == "__main__":
    main()
