"""How far points of one function extend, and how close they lie to each other."""

from __future__ import annotations

import numpy as np
from scipy.spatial import KDTree

from geomndp.data import circle

CROWD = 16
"""Points that crowd."""


def spacing(x: np.ndarray, periods: tuple[float, ...] = ()) -> float:
    """Median distance of the points of one function to the nearest other; zero if there is none.

    Args:
        x: Points (n, d).
        periods: Period of every coordinate, zero where it has none; empty where none has one.
    """
    apart = np.unique(circle.embed(x, periods) if periods else x, axis=0)
    if len(apart) < 2:
        return 0.0
    return float(np.median(KDTree(apart).query(apart, k=2)[0][:, 1]))


def crowding(x: np.ndarray, periods: tuple[float, ...] = ()) -> float | None:
    """Smallest radius about a point of one function that holds 15 others; None of fewer points.

    Args:
        x: Points (n, d).
        periods: Period of every coordinate, zero where it has none; empty where none has one.
    """
    if len(x) < CROWD:
        return None
    points = circle.embed(x, periods) if periods else x
    return float(KDTree(points).query(points, k=CROWD)[0][:, -1].min())


def extents(x: np.ndarray, periods: tuple[float, ...] = ()) -> np.ndarray:
    """Range of each coordinate of points (n, d); of a periodic one the shortest arc of all."""
    return circle.extents(x, periods) if periods else np.ptp(x, axis=0)
