"""Fixes at any times to a track on an even grid, on the sphere: no date line, no poles."""

from __future__ import annotations

import numpy as np
from scipy.interpolate import PchipInterpolator

from geomndp.geometry.geodesy import to_unit


def resample(hours: np.ndarray, lat, lon, grid: np.ndarray) -> np.ndarray:
    """Interpolate the fixes of a storm at given times.

    Monotone cubic interpolation (PCHIP, Fritsch and Butland 1984) of the unit vectors in space,
    then projection to the sphere; a fix that is on the grid is kept as it is.

    Args:
        hours: Times of the fixes, shape (m,), increasing.
        lat: Their latitudes in degrees, shape (m,).
        lon: Their longitudes in degrees, shape (m,).
        grid: Times of the track in hours, shape (k,).

    Returns:
        Unit vectors, shape (k, 3).

    Raises:
        ValueError: If the grid goes beyond the fixes.
    """
    curve = PchipInterpolator(hours, to_unit(lat, lon), axis=0, extrapolate=False)(grid)
    if not np.isfinite(curve).all():
        raise ValueError(
            f"expected a grid within {hours[0]} to {hours[-1]} hours, got {grid[0]} to {grid[-1]}"
        )
    return curve / np.linalg.norm(curve, axis=-1, keepdims=True)
