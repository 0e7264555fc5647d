"""Geodesy on a spherical Earth: latitude and longitude in degrees, and unit vectors.

The axes are those of geocentric coordinates: x through (0, 0), y through 90 degrees east, z north.
JAX arrays stay on their device; everything else becomes a NumPy array.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation

EARTH_RADIUS_KM = 6371.0088
"""Mean radius of the Earth (IUGG): one radian of a great circle."""

NEAR_POLE = 1e-17
"""Smallest distance from the axis, below what float64 gives, of a point with a longitude."""


def _namespace(*values):
    return jnp if any(isinstance(value, jax.Array) for value in values) else np


def to_unit(lat, lon):
    """Unit vectors of latitudes and longitudes.

    Args:
        lat: Latitudes in degrees, from -90 to 90, shape (...).
        lon: Longitudes in degrees, of any range, shape (...).

    Returns:
        Unit vectors, shape (..., 3).

    Raises:
        ValueError: If a latitude is beyond a pole.
    """
    xp = _namespace(lat, lon)
    if _validation.concrete(lat) and np.any(np.abs(lat) > 90 + 1e-6):
        raise ValueError(f"expected latitudes from -90 to 90, got {np.max(np.abs(lat))}")
    lat, lon = xp.radians(xp.asarray(lat)), xp.radians(xp.asarray(lon))
    # A pole keeps the direction of its longitude, which float32 would reverse.
    level = xp.maximum(xp.cos(lat), NEAR_POLE)
    return xp.stack([level * xp.cos(lon), level * xp.sin(lon), xp.sin(lat)], axis=-1)


def to_latlon(y):
    """Latitudes and longitudes of unit vectors.

    Args:
        y: Unit vectors, shape (..., 3).

    Returns:
        Latitudes and longitudes in degrees, the latter in [-180, 180), each of shape (...).

    Raises:
        ValueError: If the last axis has another length than 3.
    """
    xp = _namespace(y)
    y = xp.asarray(y)
    if y.shape[-1:] != (3,):
        raise ValueError(f"expected unit vectors of shape (..., 3), got shape {y.shape}")
    lat = xp.degrees(xp.arctan2(y[..., 2], xp.hypot(y[..., 0], y[..., 1])))
    return lat, wrap_longitude(xp.degrees(xp.arctan2(y[..., 1], y[..., 0])))


def wrap_longitude(lon):
    """Longitudes in [-180, 180).

    Args:
        lon: Longitudes in degrees, of any range.
    """
    xp = _namespace(lon)
    lon = xp.asarray(lon)
    # Untouched where it is in range already: the remainder would round it.
    return xp.where((lon >= -180) & (lon < 180), lon, (lon + 180) % 360 - 180)


def east_and_north(y):
    """Orthonormal frame of the tangent planes.

    At the poles, where every direction is the same, east is that of the meridian of Greenwich.

    Args:
        y: Unit vectors, shape (..., 3).

    Returns:
        Frames of shape (..., 2, 3): a row to the east, one to the north.
    """
    xp = _namespace(y)
    pole = (y[..., 0] == 0) & (y[..., 1] == 0)
    # Before the division, so that gradients at a pole are finite too.
    along = xp.where(pole, xp.ones_like(y[..., 0]), y[..., 0])
    level = xp.hypot(along, y[..., 1])
    east = xp.stack([-y[..., 1] / level, along / level, xp.zeros_like(along)], axis=-1)
    return xp.stack([east, xp.cross(y, east)], axis=-2)
