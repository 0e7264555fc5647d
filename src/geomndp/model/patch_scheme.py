"""The scheme of patches for a posterior.

From its kernel where that is known. A network knows no correlations beyond the extent of the
functions that it was trained on, so that a patch with its halos is nine tenths as wide;
all of the sphere is known to it where that was their extent;
where it was not recorded, the correlation range is that of prior samples. A user's scheme that is
much narrower is taken, with a warning. One scheme serves all members of a mixture.
"""

from __future__ import annotations

import warnings
from typing import Any

import jax.random as jr
import numpy as np

from geomndp._warnings import ApproximationWarning, OutsideTrainingWarning, warn_at_request
from geomndp.data import Normaliser, circle
from geomndp.model.units import has_sphere_kernel
from geomndp.patches import (
    Patches,
    default_patches,
    from_text,
    kernel_range,
    sample_range,
    sphere_range,
)
from geomndp.patches.correlation import HALO, WIDTH

AUTO = "auto"
EXTENT_RANGES = 6.0
"""Extent of the training functions over the correlation range that a network is trusted with."""
SPHERE_RANGES = 2.0
"""The same where the inputs are unit vectors, and a training function covers the sphere."""
COVERED = 1.5
"""Extent, along all three coordinates of unit vectors, of functions that cover the sphere."""
NUM_POINTS, NUM_SAMPLES, STEPS, SEED = 96, 96, 12, 0
"""Of the prior samples that a correlation range is estimated from."""
NARROW = np.asarray([1.25, 0.5])
"""Width and halo, over the correlation range, below which there is a warning."""


def chosen_patches(posterior: Any, x: np.ndarray, count: int, patches: Any) -> Patches:
    """The scheme that was asked for, or the default one for a law.

    Args:
        posterior: The law of a model, a process or a mixture.
        x: All targets in the data's units, shape (n, d).
        count: How many of the inputs, the first ones, say where a point is.
        patches: A scheme, "auto", or a scheme as text.

    Returns:
        The scheme, in the data's units.

    Raises:
        ValueError: If it is none of these.
    """
    models = [each.model for each in getattr(posterior, "posteriors", (posterior,))]
    given = from_text(patches) if isinstance(patches, str) else patches
    if not isinstance(given, Patches) and given != AUTO:
        raise ValueError(f'expected patches as "auto" or Patches(width, halo), got {patches!r}')
    chosen = given if isinstance(given, Patches) else _default(models, x, count)
    for model in models if given is chosen or len(models) > 1 else ():
        _warn_if_narrow(model, x, count, chosen)
    return chosen


def _default(models: list[Any], x: np.ndarray, count: int) -> Patches:
    """The scheme for a law, or for all members of a mixture.

    It is as wide as the longest correlations of any of them ask for, but no wider than all networks
    among them are trusted with.
    """
    trained = [model for model in models if model.learnt and model.support is not None]
    if not trained:
        ranges = [correlation_ranges(model, x, count) for model in models]
        return default_patches(np.max(ranges, axis=0))
    ranges = [_trusted_ranges(model, x, count) for model in trained]
    return default_patches(np.min(ranges, axis=0), min(model.support.points for model in trained))


def _trusted_ranges(model: Any, x: np.ndarray, count: int) -> np.ndarray:
    """Correlation ranges (count,) that a network is trusted with."""
    extents = np.asarray(model.support.extents)[:count]
    names = model.variables
    sphere = (names is not None and names.domain == "sphere") or has_sphere_kernel(model)
    ranges = SPHERE_RANGES if sphere and extents[:3].min() > COVERED else EXTENT_RANGES
    return np.where(extents > 0, extents, np.ptp(x[:, :count], axis=0)) / ranges


def _warn_if_narrow(model: Any, x: np.ndarray, count: int, patches: Patches) -> None:
    """Warn of patches that are much narrower than the default, where that is known at no cost."""
    own = [np.asarray(length) for length in (patches.width, patches.halo)]
    if any(len(length) not in (1, count) for length in own):  # refused elsewhere, or on the sphere
        return
    if model.learnt and model.support is not None:
        ranges, known = _trusted_ranges(model, x, count), "range that the network is trusted with"
    elif _known_kernel(model) is not None:
        ranges, known = correlation_ranges(model, x, count), "correlation range"
    else:
        return
    width, halo = (np.broadcast_to(length, (count,)) for length in own)
    several = width < np.ptp(x[:, :count], axis=0)
    share = np.min(np.stack([width, halo]) / (NARROW[:, None] * ranges[None]), axis=0)
    if not np.any(several & (share < 1)):
        return
    worst = int(np.argmin(np.where(several, share, np.inf)))
    warn_at_request(
        f"patches of width {width[worst]:.3g} with a halo of {halo[worst]:.3g} are narrow for a "
        f"{known} of {ranges[worst]:.3g}, so that the law of the field is poor; "
        f"{WIDTH * ranges[worst]:.3g} and {HALO * ranges[worst]:.3g} would do",
        ApproximationWarning,
    )


def correlation_ranges(model: Any, x: np.ndarray, count: int) -> np.ndarray:
    """Correlation range along each of the first `count` inputs, in the data's units, (count,)."""
    units: Normaliser = model.normaliser or Normaliser()
    scale = np.broadcast_to(np.asarray(units.x_scale), (x.shape[1],))[:count]
    kernel = _known_kernel(model)
    if kernel is not None and has_sphere_kernel(kernel) and x.shape[1] == 3:
        return np.full(count, sphere_range(kernel))
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
        options = {"sampler": prior.default_sampler(STEPS), "progress": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutsideTrainingWarning)
        y = prior.sample_values(x, key=jr.key(SEED), num_samples=NUM_SAMPLES, **options)
    return np.asarray(y, np.float64)
