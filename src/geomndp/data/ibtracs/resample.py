"""Fixes at any times to a track on an even grid, on the sphere: no date line, no poles."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator

from geomndp.geometry.geodesy import to_unit


def resample(hours: np.ndarray, lat, lon, grid: np.ndarray) -> np.ndarray:
    """Unit vectors (k, 3) at the `grid` hours of a storm with fixes at `hours`, which increase.

    Monotone cubic interpolation (PCHIP, Fritsch and Butland 1984) of the unit vectors in space,
    then projection to the sphere; a fix that is on the grid is kept as it is.
    """
    curve = PchipInterpolator(hours, to_unit(lat, lon), axis=0, extrapolate=False)(grid)
    if not np.isfinite(curve).all():
        raise ValueError(
            f"expected a grid within {hours[0]} to {hours[-1]} hours, got {grid[0]} to {grid[-1]}"
        )
    return curve / np.linalg.norm(curve, axis=-1, keepdims=True)
