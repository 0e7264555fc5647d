"""Functions drawn from known Gaussian processes."""

import numpy as np
from scipy.stats import multivariate_normal

from geomndp._types import Batch
from geomndp.baselines.gaussian.held_out import moments
from geomndp.gp import GP

POINTS = 8  # one number of points in most tests: one compiled program


def draw(gp: GP, num: int, *, seed: int = 0, common: bool = False) -> Batch:
    """Functions on random inputs in [-1, 1], or on common ones."""
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(-1, 1, size=(num, POINTS, 1)), axis=1)
    if common:
        x = np.broadcast_to(np.linspace(-1, 1, POINTS)[None, :, None], x.shape)
    laws = [moments(gp, x[0])] * num if common else [moments(gp, one) for one in x]
    y = np.stack([rng.multivariate_normal(*law) for law in laws]).reshape(num, POINTS, -1)
    mask = np.ones((num, POINTS))
    return Batch(x, y, mask, np.zeros_like(mask))


def nats(process: GP, batch: Batch, rows=slice(None)) -> float:
    """Joint log-density per value of functions without gaps."""
    values = []
    for x, y in zip(batch.x[rows], batch.y[rows], strict=True):
        mean, covariance = moments(process, x)
        values.append(multivariate_normal(mean, covariance).logpdf(y.reshape(-1)) / y.size)
    return float(np.mean(values))
