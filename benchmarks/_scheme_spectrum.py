"""Spectrum of a Gaussian field that is drawn by patches, in closed form.

Patch b is a linear map of what it sees, plus independent noise: y_b = A_b y_kept + e_b with the
covariance S_b. The variance of a weighted sum of all values is therefore found backwards, from the
last patch to the first: with the weights g of what is not drawn yet, it gains g_b' S_b g_b, and
A_b' g_b is added to the weights of what b sees.
"""

from __future__ import annotations

import jax
import numpy as np
import scipy.linalg
from _seam_errors import ExactField, bands, expected_periodogram

from geomndp.patches import Layout, Patch
from geomndp.patches.context import context_of


def covariance(exact: ExactField, x: np.ndarray) -> np.ndarray:
    """Of all values at points x (n, d), those of a point side by side."""
    with jax.enable_x64(True):
        dense = np.array(exact.kernel.gram(jax.numpy.asarray(x)).dense())
    return dense + exact.noise * np.eye(len(dense))


def seen_rows(layout: Layout, patch: Patch) -> np.ndarray:
    """Rows of the points that a patch sees."""
    context = context_of(layout, patch, np.zeros((0, 2)))
    groups = zip(context.drawn.patches, context.drawn.rows, strict=True)
    rows = [layout.rows(layout.patches[i])[own] for i, own in groups]
    return np.concatenate([np.zeros(0, int), *rows])[context.chosen]


def variance_of_sums(layout: Layout, exact: ExactField, weights: np.ndarray) -> np.ndarray:
    """Variances (k,) of sums of all values of a field of patches.

    Args:
        layout: The patches.
        exact: The law of which their conditional laws are.
        weights: Shape (n, p, k), in the order of the rows of a grid.
    """
    locations = layout.levels[-1].locations
    x = locations.inputs(tuple(slice(0, n) for n in locations.shape))
    left, found = np.array(weights), np.zeros(weights.shape[-1])
    dim = weights.shape[1]
    for patch in sorted(layout.patches, key=lambda patch: (patch.stage, patch.index), reverse=True):
        own, seen = layout.rows(patch)[layout.targets(patch)], seen_rows(layout, patch)
        if not len(own):
            continue
        factor = covariance(exact, x[np.concatenate([seen, own])])
        factor = scipy.linalg.cholesky(factor, lower=True, overwrite_a=True, check_finite=False)
        known, g = dim * len(seen), left[own].reshape(dim * len(own), -1)
        found += np.sum((factor[known:, known:].T @ g) ** 2, axis=0)
        back = factor[known:, :known].T @ g
        back = scipy.linalg.solve_triangular(factor[:known, :known], back, lower=True, trans="T")
        left[seen] += back.reshape(len(seen), dim, back.shape[1])
    return found


def scheme_spectrum(layout: Layout, exact: ExactField, least: float) -> dict[str, float]:
    """Expected periodogram of the first output over the exact one, by wavelength.

    Args:
        layout: Patches of a square grid.
        exact: The law that is drawn by patches.
        least: Shortest wavelength that is wanted.
    """
    n, _ = layout.levels[-1].locations.shape
    expected, found = expected_periodogram(n, exact), {}
    for name, inside in bands(n, exact.spacing).items():
        if float(name.split()[0]) < least:
            continue
        rows = np.stack([axis.reshape(-1) for axis in np.indices((n, n))], axis=1)
        phase = 2 * np.pi / n * rows @ np.argwhere(inside).T
        modes = np.concatenate([np.cos(phase), np.sin(phase)], axis=1)
        dim = exact.covariance(np.zeros(2)).shape[-1]
        weights = np.zeros((n * n, dim, modes.shape[1]))
        weights[:, 0] = modes
        total = variance_of_sums(layout, exact, weights).sum()
        found[name] = round(float(total / expected[inside].sum()), 4)
    return found
