"""How far points of one function extend, how close they lie, and whether rounding moves them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from geomndp.data import circle

CROWD = 16
"""Points that crowd."""
FAR = 64.0
"""Distance from zero, in ranges of the inputs, at which float32 has lost six bits or more."""
COARSE = 0.05
"""Share of the distance to the nearest other point by which rounding may move one."""


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


class Rounding(NamedTuple):
    """The column of inputs that rounding changes most: spacing there, and how far points move."""

    column: int
    spacing: float
    moved: float


def coarse_rounding(x: np.ndarray, dtype: Any) -> Rounding | None:
    """Whether rounding moves far inputs by much of the distance to the nearest other.

    Columns may have different units: distances are those after every column has range one.

    Args:
        x: Points (n, d) of one function; of low precision they count as rounded already.
        dtype: Floating-point type that they are to have.

    Returns:
        The worst column; None where all points stay apart.
    """
    if len(x) < 2:
        return None
    moved = _moved(x, dtype)
    x, ranges = x.astype(np.float64), np.ptp(x, axis=0).astype(np.float64)
    far = (ranges > 0) & (np.abs(x).max(axis=0) > FAR * ranges) & (moved > 0)
    if not far.any():
        return None
    scale = np.where(ranges > 0, ranges, 1.0)
    typical, shares = spacing(x / scale), np.where(far, moved / scale, 0.0)
    worst = int(np.argmax(shares))
    if shares[worst] <= COARSE * typical:
        return None
    return Rounding(worst, float(typical * scale[worst]), float(moved[worst]))


def _moved(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Largest move of every column, shape (d,)."""
    if x.dtype.kind == "f" and x.dtype.itemsize < 8:
        return np.spacing(np.abs(x).max(axis=0)).astype(np.float64) / 2
    return np.abs(x.astype(dtype).astype(np.float64) - x).max(axis=0)


ADVICE = (
    "subtract a common origin, or give float64 arrays of NumPy to a model that has a normaliser or "
    "sees inputs through their differences only"
)


def refuse_coarse(x: np.ndarray, dtype: Any, advice: str = ADVICE) -> None:
    """Refuse far inputs (n, d) that rounding to a dtype moves by much of their spacing.

    Args:
        x: Points (n, d) of one function.
        dtype: Floating-point type that they are to have.
        advice: What helps, for the message.

    Raises:
        ValueError: With the spacing, and by how much points move.
    """
    if (found := coarse_rounding(x, dtype)) is None:
        return
    near = float(x[:, found.column].max())
    raise ValueError(
        f"expected inputs whose spacing {np.dtype(dtype)} can hold, got x near {near:.6g} with a "
        f"spacing of {found.spacing:.3g}, which rounding moves by up to {found.moved:.3g}: {advice}"
    )
