"""Quality of samples (s, ...) against what was then observed (...): calibration, proper scores."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.special import ndtri

from geomndp import _validation
from geomndp._types import Array, PRNGKeyArray


def _check(samples, y) -> None:
    if samples.ndim < 2 or samples.shape[1:] != y.shape:
        expected = f"(s, {', '.join(map(str, y.shape))})"
        raise ValueError(f"expected samples of shape {expected}, got shape {samples.shape}")
    _validation.at_least(2, num_samples=len(samples))


def pit(samples: Array, y: Array, *, key: PRNGKeyArray) -> Array:
    """Probability integral transform of every value: its randomised rank among the samples.

    Uniform on [0, 1] where the samples follow the law of y (Gneiting et al. 2007), but for the
    first and the last 1 / (s + 1) of it. A rank's fraction is random between samples; beyond all
    of them it is that of a normal tail of their spread, so that far values rank as far (`Conformal`
    widens intervals by these): the shares of the two ends are right, the law within them is not.

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
    fraction, count = jr.uniform(key, y.shape, y.dtype), len(samples)
    low, high = jnp.min(samples, axis=0) - y, y - jnp.max(samples, axis=0)
    beyond = _tail_share(jnp.maximum(low, high) / jnp.std(samples, axis=0, ddof=1), count)
    fraction = jnp.where(low > 0, beyond, jnp.where(high > 0, 1 - beyond, fraction))
    return (below + fraction) / (count + 1)


def _tail_share(distance: Array, count: int) -> Array:
    """Share of the outermost rank's probability that is farther out, by a normal tail."""
    outer = 1 / (count + 1)
    # Identical samples have no spread, from which every distance is infinite.
    scores = float(ndtri(outer)) - jnp.nan_to_num(jnp.maximum(distance, 0.0), nan=0.0)
    return jax.scipy.stats.norm.cdf(scores) / outer


def crps(samples: Any, y: Any) -> Any:
    r"""Fair continuous ranked probability score, E|S - y| - E|S - S'| / 2 (Ferro 2014).

    Summed over the gaps between sorted samples and y: a gap with i of the s samples on the other
    side than y has the factor $i (i - 1) / (s (s - 1))$. Nothing large is subtracted, and a single
    sample counts as no farther than its neighbour.

    Args:
        samples: Samples, shape (s, ...), at least two; arrays of JAX, or of NumPy, which stay so.
        y: Observed values, shape (...).

    Returns:
        Scores in the units of the values, shape (...); infinite where several samples are, NaN
        where one is NaN.

    Raises:
        ValueError: If the shapes do not fit.
    """
    _check(samples, y)
    xp = jnp if isinstance(samples, jax.Array) else np
    s, ordered = len(samples), xp.sort(samples, axis=0)
    low, high = ordered[:-1], ordered[1:]
    ranks = xp.arange(1, s, dtype=y.dtype).reshape(-1, *([1] * y.ndim))
    below = _shares(xp, ranks, s, low, xp.minimum(high, y[None]))
    above = _shares(xp, s - ranks, s, xp.maximum(low, y[None]), high)
    outer = xp.maximum(y - ordered[-1], 0) + xp.maximum(ordered[0] - y, 0)
    score = xp.sum(below + above, axis=0) + outer
    return xp.where(xp.isnan(samples).any(axis=0), xp.nan, score)


def _shares(xp: Any, count: Any, s: int, low: Any, high: Any) -> Any:
    """Shares of gaps from low to high, if any, in a score; `count` samples are beyond."""
    there = (high > low) & (count > 1)
    gap = xp.where(there, high, 0) - xp.where(there, low, 0)
    return count * (count - 1) / (s * (s - 1)) * gap
