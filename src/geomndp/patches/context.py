"""What a patch is given: observations in reach, then what it sees of the patches before it."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from geomndp.patches.layout import Kept, Layout, Patch


class PatchContext(NamedTuple):
    """Context points of a patch.

    Attributes:
        observed: Rows of the observations.
        drawn: Drawn points within the halo.
        chosen: Which of the drawn points count, positions in `drawn.x`: all, but for the bound.
    """

    observed: np.ndarray
    drawn: Kept
    chosen: np.ndarray


def context_size(layout: Layout, patch: Patch, observed: np.ndarray) -> int:
    """Number of context points that `context_of` finds, without a warning."""
    count = len(observed_rows(layout, patch, observed)) + len(layout.kept(patch).x)
    return min(count, layout.scheme.max_context)


def observed_rows(layout: Layout, patch: Patch, observed: np.ndarray) -> np.ndarray:
    """Rows of the observations (m, d) within the halo of a patch."""
    level = layout.levels[0]
    positions = level.locations.positions(np.asarray(observed, np.float64))
    return np.flatnonzero(level.seen(positions, *layout.box(patch)))


def context_of(layout: Layout, patch: Patch, observed: np.ndarray) -> PatchContext:
    """Find the context of a patch.

    Args:
        layout: All patches.
        patch: The patch.
        observed: Inputs of the observations, shape (m, d).

    Returns:
        Rows of the observations and of the drawn points, the nearest to the patch's targets where
        there are more than `layout.scheme.max_context` together.
    """
    drawn, level = layout.kept(patch), layout.levels[0]
    rows = observed_rows(layout, patch, observed)
    count, most = len(rows) + len(drawn.x), layout.scheme.max_context
    if count <= most:
        return PatchContext(rows, drawn, np.arange(len(drawn.x)))
    warnings.warn(
        f"more than {most} points are within the halo of a patch: the nearest {most} of them count "
        "(max_context)",
        stacklevel=2,
    )
    x = layout.inputs(patch)[layout.targets(patch)]
    targets, both = (
        level.locations.positions(part) / level.halo
        for part in (x, np.concatenate([np.asarray(observed)[rows], drawn.x]))
    )
    distance, _ = KDTree(targets).query(both)
    nearest = np.sort(np.argsort(distance, kind="stable")[:most])
    return PatchContext(
        rows[nearest[nearest < len(rows)]], drawn, nearest[nearest >= len(rows)] - len(rows)
    )
