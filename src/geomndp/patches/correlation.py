"""How far values are correlated, and the scheme of patches that follows from it."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from geomndp.kernels import AbstractKernel
from geomndp.patches.scheme import MAX_CONTEXT, MAX_POINTS, Patches

LEVEL = 0.1
"""Correlation below which values count as uncorrelated."""
WIDTH, HALO = 3.5, 1.0
"""Width of a patch and of its halo over the correlation range."""
NUM_LAGS = 400
SAMPLE_LEVEL, CONE = 0.15, 0.85
"""Smallest correlation of samples that counts, and cosine of the angle to an axis that may be."""
NUM_BINS, MIN_PAIRS = 20, 20


def kernel_range(kernel: AbstractKernel, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Correlation range of a kernel along every input.

    Args:
        kernel: Covariance of the function, in the units of the inputs.
        low: Lowest inputs of the field, shape (d,).
        high: Highest inputs, shape (d,).

    Returns:
        Largest distance along each input, within the field, at which any two outputs have a
        correlation of at least 0.1, shape (d,).
    """
    centre = (np.asarray(low, np.float64) + np.asarray(high)) / 2
    found = []
    with jax.enable_x64(True):
        correlation = jax.jit(jax.vmap(_correlation(kernel), in_axes=(None, 0)))
        for i, extent in enumerate(np.asarray(high, np.float64) - low):
            lags = max(extent, 1e-12) * np.geomspace(1e-3, 1, NUM_LAGS)
            points = np.tile(centre, (NUM_LAGS, 1))
            points[:, i] += lags
            values = np.asarray(correlation(jnp.asarray(centre), jnp.asarray(points)))
            found.append(_last(lags, values))
    return np.asarray(found)


def sphere_range(kernel: AbstractKernel) -> float:
    """Correlation range of a kernel on the sphere, an isotropic one.

    Args:
        kernel: Covariance of the function at unit vectors, shape (3,).

    Returns:
        Largest chord at which any two outputs have a correlation of at least 0.1, eastwards or
        northwards of a point of the equator: at most 2.
    """
    angles = np.pi * np.geomspace(1e-3, 1, NUM_LAGS, endpoint=False)  # no frame at the antipode
    zero, found = np.zeros_like(angles), []
    with jax.enable_x64(True):
        correlation = jax.jit(jax.vmap(_correlation(kernel), in_axes=(None, 0)))
        for parts in ((np.sin(angles), zero), (zero, np.sin(angles))):
            points = np.stack([np.cos(angles), *parts], axis=1)
            found.append(np.asarray(correlation(jnp.asarray([1.0, 0.0, 0.0]), jnp.asarray(points))))
    return _last(2 * np.sin(angles / 2), np.max(found, axis=0))


def _correlation(kernel: AbstractKernel) -> Callable:
    """Largest correlation of any two outputs at two points."""

    def largest(a, b):
        own, other = (jnp.sqrt(jnp.maximum(jnp.diag(kernel(x, x)), 1e-300)) for x in (a, b))
        return jnp.max(jnp.abs(kernel(a, b)) / (own[:, None] * other[None, :]))

    return largest


def sample_range(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Correlation range of samples along every coordinate.

    Args:
        x: Points, shape (n, e).
        y: Samples there, shape (s, n, p).

    Returns:
        Largest distance at which the correlation of any output with itself, on average over pairs
        of points so far apart in about that direction, is at least 0.15 in size: smaller ones are
        lost in the noise of the samples. Shape (e,).
    """
    centred = y - y.mean(axis=0)
    scaled = centred / np.maximum(centred.std(axis=0), 1e-12)
    correlation = np.einsum("sip,sjp->pij", scaled, scaled) / len(y)
    first, second = np.triu_indices(len(x), 1)
    lag = np.abs(x[first] - x[second])
    distance = np.maximum(np.linalg.norm(lag, axis=1), 1e-12)
    edges = np.linspace(0, distance.max() / 2, NUM_BINS + 1)
    found = []
    for i in range(x.shape[1]):
        aligned = lag[:, i] >= CONE * distance
        bins = np.digitize(distance[aligned], edges) - 1
        pairs = correlation[:, first[aligned], second[aligned]]
        means = [_binned(bins, values) for values in pairs]
        found.append(_last(edges[1:], np.max(np.abs(means), axis=0), SAMPLE_LEVEL))
    return np.asarray(found)


def _binned(bins: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Means of the values in every bin, zero where there are few."""
    near = bins < NUM_BINS
    counts = np.bincount(bins[near], minlength=NUM_BINS)
    sums = np.bincount(bins[near], values[near], NUM_BINS)
    return np.where(counts >= MIN_PAIRS, sums / np.maximum(counts, 1), 0.0)


def _last(lags: np.ndarray, correlation: np.ndarray, level: float = LEVEL) -> float:
    """Largest lag with a correlation that counts; the smallest where none has."""
    above = np.flatnonzero(correlation >= level)
    return float(lags[above[-1]] if len(above) else lags[0])


def default_patches(ranges: np.ndarray, num_points: int | None = None) -> Patches:
    """Scheme for a field with these correlation ranges.

    Args:
        ranges: One per input, in its units.
        num_points: Most points that a network saw in training; None for laws that are exact.

    Returns:
        Patches of 3.5 ranges with halos of one: at most 0.001 nats per point for the
        kernels and spacings of `docs/large_fields.md`.
    """
    bounds = {}
    if num_points is not None:
        bounds = {
            "max_points": min(MAX_POINTS, max(64, 2 * num_points)),
            "max_context": min(MAX_CONTEXT, max(128, 4 * num_points)),
        }
    return Patches(WIDTH * np.asarray(ranges), HALO * np.asarray(ranges), **bounds)
