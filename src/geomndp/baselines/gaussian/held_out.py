"""Held-out log-densities of values on common inputs, for Gaussian and Student-t laws."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from geomndp.linalg import LOG_2PI

CONTEXTS = (3, 10)
"""Numbers of context points."""
FORECAST = 0.4
"""Share of the points, from the first, that a forecast is given."""
MAX_VALUES = 128
"""Values of one function."""
DEGREES = (None, 60.0, 30.0, 15.0, 8.0, 5.0)
"""Degrees of freedom that are tried; None is a Gaussian law."""


class ShrunkChoice(NamedTuple):
    """Weight and degrees of freedom, with their held-out nats per value."""

    weight: float
    dof: float | None
    nats: float


def held_out_nats(
    x: np.ndarray, values: np.ndarray, law: tuple[np.ndarray, np.ndarray], dim: int, *, seed: int
) -> dict[float | None, np.ndarray]:
    """Log-density per value of part of a function given the rest.

    Args:
        x: Inputs, shape (m, d).
        values: Functions, shape (b, m p), NaN where missing.
        law: Mean (m p,) and covariance (m p, m p).
        dim: Number p of outputs.
        seed: Seed of the parts.

    Returns:
        For every number of degrees of freedom nats per value of each function, averaged over
        random contexts of 3 and 10 points and, for one input, the forecast.
    """
    rng = np.random.default_rng(seed)
    result: dict[float | None, list[float]] = {dof: [] for dof in DEGREES}
    for held in values:
        seen = np.flatnonzero(np.isfinite(held.reshape(-1, dim)).any(axis=1))
        seen = rng.permutation(seen)[: max(2, MAX_VALUES // dim)]
        parts = [(seen, [min(k, len(seen) // 2) for k in CONTEXTS])]
        if x.shape[1] == 1:
            order = seen[np.argsort(x[seen, 0])]
            parts.append((order, [int(FORECAST * len(order))]))
        nats = [_nats(order, counts, held, law, dim) for order, counts in parts]
        for dof in DEGREES:
            result[dof].append(float(np.mean(np.concatenate([part[dof] for part in nats]))))
    return {dof: np.asarray(found) for dof, found in result.items()}


def _nats(order, counts, held, law, dim: int) -> dict[float | None, list[float]]:
    """Nats per value of the points after each number of first ones."""
    index = (order[:, None] * dim + np.arange(dim)).reshape(-1)
    real = np.isfinite(held[index])
    starts = [int(real[: count * dim].sum()) for count in counts]
    index = index[real]
    mean, covariance = law
    matrix = covariance[np.ix_(index, index)]
    factor = np.linalg.cholesky(
        matrix + 1e-10 * np.trace(matrix) / len(matrix) * np.eye(len(matrix))
    )
    white = solve_triangular(factor, held[index] - mean[index], lower=True)
    squares = np.concatenate([[0.0], np.cumsum(white**2)])
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.diag(factor)))])
    number = np.arange(len(index) + 1)
    result = {}
    for dof in DEGREES:
        total = log_density(squares, logs, number, dof)
        result[dof] = [float((total[-1] - total[c]) / max(len(index) - c, 1)) for c in starts]
    return result


def log_density(square, logdet, number, dof: float | None):
    """Log-density from the quadratic form, half the log-determinant and the number of values."""
    if dof is None:
        return -0.5 * square - logdet - 0.5 * number * LOG_2PI
    constant = gammaln((dof + number) / 2) - gammaln(dof / 2)
    constant = constant - 0.5 * number * np.log(np.pi * (dof - 2)) - logdet
    return constant - 0.5 * (dof + number) * np.log1p(square / (dof - 2))
