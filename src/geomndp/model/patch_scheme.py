"""The scheme of patches for a posterior.

From its kernel where that is known. A network knows no correlations beyond the extent of the
functions that it was trained on, so that a patch with its halo to both sides has about this extent;
where it was not recorded, the correlation range is that of prior samples.
"""

from __future__ import annotations

import warnings
from typing import Any

import jax.random as jr
import numpy as np

from geomndp._warnings import OutsideTrainingWarning
from geomndp.data import Normaliser, circle
from geomndp.patches import Patches, default_patches, from_text, kernel_range, sample_range
from geomndp.samplers import Amortised

AUTO = "auto"
EXTENT_RANGES = 5.0
"""Extent of the training functions over the correlation range that a network is trusted with."""
NUM_POINTS, NUM_SAMPLES, STEPS, SEED = 96, 96, 8, 0
"""Of the prior samples that a correlation range is estimated from."""


def chosen_patches(posterior: Any, x: np.ndarray, count: int, patches: Any) -> Patches:
    """The scheme that was asked for, or the default one for a law.

    Args:
        posterior: The law of a model or process.
        x: All targets in the data's units, shape (n, d).
        count: How many of the inputs, the first ones, say where a point is.
        patches: A scheme, "auto", or a scheme as text.

    Returns:
        The scheme, in the data's units.

    Raises:
        ValueError: If it is none of these.
    """
    if isinstance(patches, str):
        patches = from_text(patches)
    if isinstance(patches, Patches):
        return patches
    if patches != AUTO:
        raise ValueError(f'expected patches as "auto" or Patches(width, halo), got {patches!r}')
    model = posterior.model
    if not model.learnt or model.support is None:
        return default_patches(correlation_ranges(model, x, count))
    extents = np.asarray(model.support.extents)[:count]
    ranges = np.where(extents > 0, extents, np.ptp(x[:, :count], axis=0)) / EXTENT_RANGES
    return default_patches(ranges, model.support.points)


def correlation_ranges(model: Any, x: np.ndarray, count: int) -> np.ndarray:
    """Correlation range along each of the first `count` inputs, in the data's units, (count,)."""
    units: Normaliser = model.normaliser or Normaliser()
    scale = np.broadcast_to(np.asarray(units.x_scale), (x.shape[1],))[:count]
    kernel = _known_kernel(model)
    if kernel is not None and not any(units.x_period):
        corners = np.asarray(units.forward_x(np.stack([x.min(axis=0), x.max(axis=0)])))
        return scale * kernel_range(kernel, *corners)[:count]
    rows = np.sort(np.random.default_rng(SEED).permutation(len(x))[:NUM_POINTS])
    y = _prior_samples(model, x[rows])
    positions = np.asarray(units.forward_x(x[rows]))[:, :count]
    centre = tuple(np.median(positions, axis=0).tolist())
    return scale * sample_range(circle.wrap(positions, centre, units.model_periods[:count]), y)


def _known_kernel(model: Any) -> Any:
    """Kernel of a Gaussian process, or of the one whose score a model has; None for others."""
    gp = getattr(model, "process", None) or getattr(model.score, "gp", None)
    return getattr(gp, "kernel", None)


def _prior_samples(model: Any, x: np.ndarray) -> np.ndarray:
    prior, options = model.condition(), {}
    if hasattr(prior, "problem"):
        options = {"sampler": Amortised(STEPS), "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideTrainingWarning)
        y = prior.sample_values(x, key=jr.key(SEED), num_samples=NUM_SAMPLES, **options)
    return np.asarray(y, np.float64)
