"""Exact Gaussian posteriors as a reference, in double precision on the host.

Log-densities of fields on one grid, samples in units of the exact posterior, and the distance of
samples from a known Gaussian by their moments.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Batch, Bool, Float
from geomndp.data import covariance
from geomndp.gp import GP
from geomndp.linalg import Conditioning, gaussian_kl, solve_lower

RESAMPLES = 32


def gp_log_probs(gp: GP, tasks: Batch) -> tuple[Float[Array, " tasks"], Float[Array, " tasks"]]:
    """Log-density of every field's targets under the exact process, and under its marginals.

    The second is the best that a model without correlations between points can do; the components
    at a point are predicted together. One factorisation of the grid serves all fields.

    Args:
        gp: The exact process.
        tasks: Fields on one grid, their context marked.

    Returns:
        Total nats per field of the joint law, and of the marginals at single points.
    """
    matrix = covariance(gp, np.asarray(tasks.x[0], float))
    values, contexts = np.asarray(tasks.y, float), np.asarray(tasks.context) > 0
    factor = np.linalg.cholesky(matrix)
    rows = [
        _log_probs(matrix, factor, y, context) for y, context in zip(values, contexts, strict=True)
    ]
    exact, diagonal = np.asarray(rows).T
    dtype = tasks.y.dtype
    return jnp.asarray(exact, dtype), jnp.asarray(diagonal, dtype)


def _conditioning(matrix: np.ndarray, known: np.ndarray) -> Conditioning:
    factor = np.linalg.cholesky(matrix[np.ix_(known, known)])
    return Conditioning(factor, matrix[np.ix_(known, ~known)])


def _log_probs(matrix, factor, y, context) -> tuple[float, float]:
    """Joint and marginal log-density of one field's targets."""
    copies = len(matrix) // len(y)
    columns, known = y.reshape(len(matrix), -1), np.repeat(context, copies)
    posterior = _conditioning(matrix, known)
    joint = _log_density(factor, solve_lower(factor, columns))
    joint -= _log_density(posterior.factor, posterior.whiten(columns[known]))
    residuals = columns[~known] - posterior.mean(columns[known])
    shape = (int((~context).sum()), copies, -1)
    prior = matrix[np.ix_(~known, ~known)]
    return joint, _marginal_log_density(prior, posterior.half(), residuals.reshape(shape))


def _marginal_log_density(prior, half, residuals) -> float:
    """Sum over points of the log-density of residuals (targets, p, columns), point by point."""
    targets, p, columns = residuals.shape
    at = np.arange(targets)
    blocks = prior.reshape(targets, p, targets, p)[at, :, at]
    solved = half.reshape(len(half), targets, p)
    factors = np.linalg.cholesky(blocks - np.einsum("ktp,ktq->tpq", solved, solved))
    white = np.linalg.solve(factors, residuals)
    logdet = np.sum(np.log(np.diagonal(factors, axis1=1, axis2=2)))
    return float(-0.5 * np.sum(white**2 + np.log(2 * np.pi)) - columns * logdet)


def _log_density(factor, white) -> float:
    """Log-density of every column of L w together, given the white w."""
    logdet = 2 * np.sum(np.log(np.diag(factor)))
    return -0.5 * (np.sum(white**2) + white.shape[1] * (logdet + len(white) * np.log(2 * np.pi)))


def whitened(
    gp: GP,
    grid: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "n p"],
    known: Bool[np.ndarray, " n"],
    samples: Float[np.ndarray, "s m p"],
) -> Float[np.ndarray, "s mp"]:
    r"""Posterior samples in units of the exact posterior $N(\mu, L L^\top)$: $L^{-1} (s - \mu)$.

    Args:
        gp: The exact process.
        grid: All inputs, shape (n, d).
        y: Values, shape (n, p); those of unknown rows are not read.
        known: Rows of the context, shape (n,).
        samples: Samples at the m other rows, shape (s, m, p).

    Returns:
        Shape (s, m p), of mean square one where the samples are exact.
    """
    matrix = covariance(gp, np.asarray(grid, float))
    # Outputs that are independent copies become further columns.
    values = np.asarray(y, float).reshape(len(matrix), -1)
    rows = np.moveaxis(np.asarray(samples, float).reshape(len(samples), -1, values.shape[1]), 0, -1)
    in_context = np.repeat(known, len(matrix) // len(grid))
    posterior = _conditioning(matrix, in_context)
    root = np.linalg.cholesky(matrix[np.ix_(~in_context, ~in_context)] - posterior.reduction())
    shifted = (rows - posterior.mean(values[in_context])[:, :, None]).reshape(len(rows), -1)
    return solve_lower(root, shifted).reshape(-1, len(samples)).T


def moment_matched_kl(
    samples: np.ndarray, truth: tuple[np.ndarray, np.ndarray]
) -> tuple[float, float]:
    """KL(truth || Gaussian with the samples' moments) less its bias, with its standard error.

    The error of the mean and covariance of n samples in d dimensions lifts the KL by
    d (d + 3) / (4 n) on average, to first order.

    Args:
        samples: Shape (n, d).
        truth: Mean (d,) and covariance (d, d).

    Returns:
        Nats, and the standard error by the bootstrap; NaN where samples are not finite.
    """
    if not np.all(np.isfinite(samples)):
        return float("nan"), float("nan")
    n, d = samples.shape
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    value = gaussian_kl(truth, weighted_moments(samples, np.ones(n)))
    spread = np.std(
        [gaussian_kl(truth, weighted_moments(samples, weights)) for weights in counts], ddof=1
    )
    return float(value) - d * (d + 3) / (4 * n), float(spread)


def weighted_moments(samples: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance of samples (n, d) that count so often."""
    mean = weights @ samples / weights.sum()
    centred = samples - mean
    return mean, (centred * weights[:, None]).T @ centred / (weights.sum() - 1)
