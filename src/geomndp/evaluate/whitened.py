"""Posterior samples of fields in the units of the exact posterior."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

from geomndp._types import Bool, Float
from geomndp.data import covariance
from geomndp.gp import GP


def whitened(
    gp: GP,
    grid: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "n p"],
    known: Bool[np.ndarray, " n"],
    samples: Float[np.ndarray, "s m p"],
) -> Float[np.ndarray, "s mp"]:
    """Map samples at the m places that are not known to what white noise makes them from.

    With the exact posterior N(mu, L L^T) given y at the known places: L^-1 (sample - mu), of mean
    square one where the samples are exact. In double precision on the host.
    """
    matrix = covariance(gp, np.asarray(grid, float))
    copies = len(matrix) // len(grid)
    # Outputs that are independent copies become further samples.
    values = np.asarray(y, float).reshape(len(matrix), -1)
    rows = np.moveaxis(np.asarray(samples, float).reshape(len(samples), -1, values.shape[1]), 0, -1)
    given = np.repeat(known, copies)
    inner = np.linalg.cholesky(matrix[np.ix_(given, given)])
    half = solve_triangular(inner, matrix[np.ix_(given, ~given)], lower=True)
    mean = half.T @ solve_triangular(inner, values[given], lower=True)
    root = np.linalg.cholesky(matrix[np.ix_(~given, ~given)] - half.T @ half)
    gap = (rows - mean[:, :, None]).reshape(len(rows), -1)
    white = solve_triangular(root, gap, lower=True).reshape(-1, len(samples))
    return white.T
