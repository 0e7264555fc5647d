"""The exact law of a field given a few of its vectors, and the mean of samples beside it."""

from __future__ import annotations

import equinox as eqx
import numpy as np

from geomndp._types import PRNGKeyArray
from geomndp.experiments.demo.report import Number
from geomndp.gp import GP


@eqx.filter_jit
def truth(gp: GP, xc, x, key: PRNGKeyArray):
    """Vectors to be observed, and mean and covariance of the others given them."""
    yc = gp.sample(xc, key=key)
    return yc, *gp.condition(xc, yc).mean_and_covariance(x)


def law_of(n: int, known, rest, y, target_mean, matrix) -> tuple[np.ndarray, np.ndarray]:
    """Exact mean (n, 2) and covariance (2n, 2n) of all values; what is observed does not vary."""
    mean, covariance = np.zeros((n, 2)), np.zeros((n, 2, n, 2))
    mean[known], mean[rest] = y, target_mean
    blocks = np.asarray(matrix, float).reshape(len(rest), 2, len(rest), 2)
    covariance[np.ix_(rest, range(2), rest, range(2))] = blocks
    return mean, covariance.reshape(2 * n, -1)


def mean_error(samples, law, rest) -> Number:
    """How far the mean of the samples is off the exact one, in standard deviations."""
    mean, covariance = law
    spread = np.sqrt(np.diag(covariance).reshape(-1, 2)[rest])
    off = np.sqrt(np.mean(((samples.mean(axis=0) - mean[rest]) / spread) ** 2))
    expected = f"{len(samples) ** -0.5:.2f} sd for exact samples"
    return Number("mean of the samples off by", f"{off:.2f} sd", expected)
