r"""Metrics of samples (s, n, p) of a path on a manifold, against the observed path (n, p).

All distances are geodesic, in radians on the unit sphere; every metric is given per target.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.geometry import AbstractManifold, frechet_mean

# Samples and paths are plain arrays: a wrong shape is refused in words.
TargetValues = Float[Array, " n"]


class PathMetrics(NamedTuple):
    """All metrics of one ensemble, one value per target.

    Attributes:
        sample_distance: Mean distance of single samples to the truth.
        mean_error: Distance of the samples' Frechet mean to the truth.
        energy: Energy score.
        rank: Rank of the truth by distance from the centre, uniform for the right law.
    """

    sample_distance: TargetValues
    mean_error: TargetValues
    energy: TargetValues
    rank: TargetValues


def _check(samples, y, fewest: int = 1) -> None:
    if samples.ndim != 3 or samples.shape[1:] != y.shape:
        expected = f"(s, {', '.join(map(str, y.shape))})"
        raise ValueError(f"expected samples of shape {expected}, got shape {samples.shape}")
    _validation.at_least(fewest, num_samples=len(samples))


def _to_each(manifold, samples, y) -> Float[Array, "s n"]:
    return manifold.distance(samples, jnp.broadcast_to(y[None], samples.shape))


def sample_distance(manifold: AbstractManifold, samples: Array, y: Array) -> TargetValues:
    """Mean distance of single samples to the truth: the paper's metric (there called MSE).

    Args:
        manifold: Where the values live.
        samples: Samples of the path, shape (s, n, p).
        y: The observed path, shape (n, p).

    Returns:
        Distances, shape (n,).

    Raises:
        ValueError: If the shapes do not fit.
    """
    _check(samples, y)
    return jnp.mean(_to_each(manifold, samples, y), axis=0)


def mean_error(manifold: AbstractManifold, samples: Array, y: Array) -> TargetValues:
    """Distance of the ensemble's Frechet mean to the truth.

    Args:
        manifold: Where the values live.
        samples: Samples of the path, shape (s, n, p).
        y: The observed path, shape (n, p).

    Returns:
        Distances, shape (n,).

    Raises:
        ValueError: If the shapes do not fit.
    """
    _check(samples, y)
    return manifold.distance(frechet_mean(manifold, samples), y)


def energy_score(manifold: AbstractManifold, samples: Array, y: Array) -> TargetValues:
    r"""Fair energy score $E d(S, y) - \frac12 E d(S, S')$ over pairs of different samples.

    It is proper where the distance is of negative type, as in R^p and on spheres (Gneiting and
    Raftery 2007; Lyons 2020); on other manifolds it can reward a wrong law, and is refused. The
    mean over targets is the score of the path with the sum of distances.

    Args:
        manifold: Where the values live.
        samples: Samples of the path, shape (s, n, p), s >= 2.
        y: The observed path, shape (n, p).

    Returns:
        Scores in units of the distance, shape (n,).

    Raises:
        ValueError: If the distance is not of negative type, or the shapes do not fit.
    """
    if not manifold.negative_type:
        name = type(manifold).__name__
        raise ValueError(f"expected a distance of negative type (Euclidean, Sphere), got {name}")
    _check(samples, y, 2)
    s = len(samples)

    def add(k, total):
        """Distances of samples i and i + k, counted around: every pair once for k < s / 2."""
        twice = jnp.where(2 * k < s, 2.0, 1.0).astype(y.dtype)
        partner = (jnp.arange(s) + k) % s
        return total + twice * jnp.sum(manifold.distance(samples, samples[partner]), axis=0)

    spread = jax.lax.fori_loop(1, s // 2 + 1, add, jnp.zeros(y.shape[:1], y.dtype))
    return sample_distance(manifold, samples, y) - spread / (2 * s * (s - 1))


def ball_pit(
    manifold: AbstractManifold, samples: Array, y: Array, *, key: PRNGKeyArray
) -> TargetValues:
    """Share of the ensemble that is nearer to its centre than the truth is.

    Centre and ranks are those of samples and truth together, so that where the truth follows the
    law of the samples the rank is exactly uniform on [0, 1] for any number of samples (as in
    conformal prediction, Vovk et al. 2005): the ball around the centre that holds 90% of the
    ensemble covers the truth in 90% of all cases, those with `rank <= 0.9`.

    Args:
        manifold: Where the values live.
        samples: Samples of the path, shape (s, n, p), s >= 2.
        y: The observed path, shape (n, p).
        key: Random key of the ranks' fractions.

    Returns:
        Ranks in [0, 1], shape (n,).

    Raises:
        ValueError: If the shapes do not fit.
    """
    _check(samples, y, 2)
    together = jnp.concatenate([samples, y[None]])
    away = _to_each(manifold, together, frechet_mean(manifold, together))
    nearer = jnp.sum((away[:-1] < away[-1:]).astype(y.dtype), axis=0)
    return (nearer + jr.uniform(key, nearer.shape, y.dtype)) / len(together)


def ball_coverage(ranks: Array, level: float = 0.9) -> Array:
    """Share of all targets that lie within the region of this level.

    Args:
        ranks: What `ball_pit` gives, any shape.
        level: Probability of the region, between 0 and 1.

    Returns:
        A share, equal to `level` on average for the right law.

    Raises:
        ValueError: If the level is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"expected 0 < level < 1, got {level}")
    return jnp.mean((ranks <= level).astype(ranks.dtype))


def path_metrics(
    manifold: AbstractManifold, samples: Array, y: Array, *, key: PRNGKeyArray
) -> PathMetrics:
    """All metrics of one ensemble; `vmap` over tasks.

    Args:
        manifold: Where the values live.
        samples: Samples of the path, shape (s, n, p), s >= 2.
        y: The observed path, shape (n, p).
        key: Random key of the ranks.

    Returns:
        One value per target and metric.
    """
    return PathMetrics(
        sample_distance(manifold, samples, y),
        mean_error(manifold, samples, y),
        energy_score(manifold, samples, y),
        ball_pit(manifold, samples, y, key=key),
    )
