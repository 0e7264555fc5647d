"""Distance of samples from a known Gaussian, by the moments that they show, in float64."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular

RESAMPLES = 32


def moment_matched_kl(
    samples: np.ndarray, truth: tuple[np.ndarray, np.ndarray]
) -> tuple[float, float]:
    """KL(truth || fitted Gaussian) less its bias, and its standard error by the bootstrap.

    The error of the mean and covariance of n samples in d dimensions lifts the KL by
    d (d + 3) / (4 n) on average, to first order. NaN where samples are not finite.
    """
    if not np.all(np.isfinite(samples)):
        return float("nan"), float("nan")
    n, d = samples.shape
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), size=RESAMPLES)
    value = _kl(truth, samples, np.ones(n))
    spread = np.std([_kl(truth, samples, weights) for weights in counts], ddof=1)
    return value - d * (d + 3) / (4 * n), float(spread)


def _kl(truth, samples: np.ndarray, weights: np.ndarray) -> float:
    """KL(truth || Gaussian with the weighted moments of the samples)."""
    mean0, cov0 = truth
    mean = weights @ samples / weights.sum()
    centred = samples - mean
    covariance = (centred * weights[:, None]).T @ centred / (weights.sum() - 1)
    factor0, factor = np.linalg.cholesky(cov0), np.linalg.cholesky(covariance)
    spread = solve_triangular(factor, factor0, lower=True)
    gap = solve_triangular(factor, mean0 - mean, lower=True)
    logdets = np.sum(np.log(np.diag(factor))) - np.sum(np.log(np.diag(factor0)))
    return float(0.5 * (np.sum(spread**2) + np.sum(gap**2) - len(mean)) + logdets)
