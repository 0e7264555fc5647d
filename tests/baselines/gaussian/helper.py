"""Functions drawn from known Gaussian processes."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Batch
from geomndp.gp import GP


def draw(gp: GP, num: int, points: int, *, seed: int = 0, common: bool = False) -> Batch:
    """Functions on random inputs in [-1, 1], or on common ones."""
    x_key, y_key = jr.split(jr.key(seed))
    x = jr.uniform(x_key, (1 if common else num, points, 1), jnp.float64, -1.0, 1.0)
    x = jnp.broadcast_to(jnp.sort(x, axis=1), (num, points, 1))
    if common:
        y = gp.sample(x[0], key=y_key, num_samples=num)
    else:
        keys = jr.split(y_key, num)
        y = jnp.stack([gp.sample(one, key=key) for one, key in zip(x, keys, strict=True)])
    mask = np.ones((num, points))
    return Batch(np.asarray(x), np.asarray(y), mask, np.zeros_like(mask))


def nats(process, batch: Batch, rows=slice(None)) -> float:
    """Joint log-density per value of functions without gaps."""
    pairs = zip(batch.x[rows], batch.y[rows], strict=True)
    values = [process.log_prob(jnp.asarray(x), jnp.asarray(y)) for x, y in pairs]
    return float(np.mean(values)) / batch.y[0].size
