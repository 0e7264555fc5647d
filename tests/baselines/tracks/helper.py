"""Synthetic tracks, and the one list of baselines that every test runs over."""

import numpy as np

from geomndp import baselines
from geomndp.geometry.geodesy import to_unit

POINTS = 10
TIMES = np.arange(POINTS)[:, None] / 8
KNOWN = np.array([0, 1, 2, 7, 8, 9])
TARGETS = np.array([3, 4, 5, 6])

# One of a kind: other curves, charts and residuals differ in a formula with tests of its own.
FITS = {
    "persistence": baselines.Persistence.fit,
    "hermite": baselines.Hermite.fit,
    "linear": lambda x, y: baselines.LinearGaussian.fit(x, y, heavy_tailed=True),
    "process": baselines.ChartGP.fit,
}
LAWS = ("linear", "process")


def tracks(count, seed=0, heavy=False):
    """Storms that start in the tropics and drift with a slowly changing velocity, in degrees."""
    rng = np.random.default_rng(seed)
    start = np.stack([rng.uniform(-25, 25, count), rng.uniform(-180, 180, count)], axis=-1)
    velocity = rng.normal(0, 0.5, (count, 1, 2))
    push = 0.1 * rng.normal(size=(count, POINTS - 1, 2))
    if heavy:
        push *= np.exp(rng.normal(0, 1, (count, 1, 1)))
    steps = velocity + np.cumsum(push, axis=1)
    path = np.concatenate([start[:, None], start[:, None] + np.cumsum(steps, axis=1)], axis=1)
    x = np.broadcast_to(TIMES, (count, POINTS, 1)).copy()
    return x, to_unit(path[..., 0], path[..., 1])
