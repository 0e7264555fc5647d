"""Places on the Earth: latitude and longitude in degrees, and unit vectors.

The axes are those of geocentric coordinates: x through (0, 0), y through 90 degrees east, z north.
"""

from __future__ import annotations

import numpy as np

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth (IUGG): one radian of a great circle."""


def to_unit(lat, lon) -> np.ndarray:
    """Unit vectors (..., 3) of places; longitudes may run past 180."""
    lat, lon = np.radians(np.asarray(lat)), np.radians(np.asarray(lon))
    if lat.size and not np.nanmax(np.abs(lat)) <= np.pi / 2 + 1e-9:
        raise ValueError(
            f"expected latitudes from -90 to 90, got {np.degrees(np.nanmax(np.abs(lat)))}"
        )
    level = np.cos(lat)
    return np.stack([level * np.cos(lon), level * np.sin(lon), np.sin(lat)], axis=-1)


def to_latlon(y) -> tuple[np.ndarray, np.ndarray]:
    """Latitudes and longitudes in [-180, 180) of unit vectors (..., 3)."""
    y = np.asarray(y)
    if y.shape[-1:] != (3,):
        raise ValueError(f"expected unit vectors of shape (..., 3), got shape {y.shape}")
    lat = np.degrees(np.arctan2(y[..., 2], np.hypot(y[..., 0], y[..., 1])))
    return lat, wrap(np.degrees(np.arctan2(y[..., 1], y[..., 0])))


def wrap(lon) -> np.ndarray:
    """Longitudes in [-180, 180)."""
    lon = np.asarray(lon)
    # Untouched where it is in range already: the remainder would round it.
    return np.where((lon >= -180) & (lon < 180), lon, (lon + 180) % 360 - 180)
