"""Quality of samples (s, ...) against what was then observed (...): calibration, proper scores."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, PRNGKeyArray


def _check(samples, y) -> None:
    if samples.ndim < 2 or samples.shape[1:] != y.shape:
        expected = f"(s, {', '.join(map(str, y.shape))})"
        raise ValueError(f"expected samples of shape {expected}, got shape {samples.shape}")
    _validation.at_least(2, num_samples=len(samples))


def pit(samples: Array, y: Array, *, key: PRNGKeyArray) -> Array:
    """Probability integral transform of every value: its randomised rank among the samples.

    Uniform on [0, 1] where the samples follow the law of y (Gneiting et al. 2007).

    Args:
        samples: Samples, shape (s, ...), at least two.
        y: Observed values, shape (...).
        key: Random key of the ranks' fractions.

    Returns:
        Ranks in [0, 1], shape (...).

    Raises:
        ValueError: If the shapes do not fit.
    """
    _check(samples, y)
    below = jnp.sum((samples < y[None]).astype(y.dtype), axis=0)
    return (below + jr.uniform(key, y.shape, y.dtype)) / (len(samples) + 1)


def crps(samples: Any, y: Any) -> Any:
    """Fair continuous ranked probability score, E|S - y| - E|S - S'| / 2 (Ferro 2014).

    The mean over pairs of different samples comes from the order statistics, in O(s log s).

    Args:
        samples: Samples, shape (s, ...), at least two; arrays of JAX, or of NumPy, which stay so.
        y: Observed values, shape (...).

    Returns:
        Scores in the units of the values, shape (...).

    Raises:
        ValueError: If the shapes do not fit.
    """
    _check(samples, y)
    xp = jnp if isinstance(samples, jax.Array) else np
    s = len(samples)
    distance = xp.mean(xp.abs(samples - y[None]), axis=0)
    ranks = xp.arange(1, s + 1, dtype=y.dtype).reshape(-1, *([1] * y.ndim))
    weights = xp.broadcast_to(2 * ranks - s - 1, samples.shape)
    spread = 2 * xp.sum(weights * xp.sort(samples, axis=0), axis=0) / (s * (s - 1))
    return distance - spread / 2
