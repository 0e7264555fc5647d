r"""Inputs on a circle: hours of a day, days of a year, angles.

A period P of zero stands for a coordinate that has none.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from geomndp._types import Array, Float

CirclePoints = Float[Array | np.ndarray, "*n d"]


def wrap(x: CirclePoints, centre: tuple[float, ...], periods: tuple[float, ...]) -> Any:
    """Periodic coordinates within half a period of a centre.

    Args:
        x: Coordinates (..., d).
        centre: One number per coordinate, or one for all.
        periods: Period P of every coordinate.

    Returns:
        Coordinates (..., d), periodic ones in [centre - P / 2, centre + P / 2).
    """
    if not any(periods):
        return x
    if len(periods) != x.shape[-1]:
        expected, got = len(periods), x.shape
        raise ValueError(f"expected x with {expected} coordinates per point, got shape {got}")
    xp = np if isinstance(x, np.ndarray) else jnp
    middle, period = as_row("a centre", centre, x), as_row("periods", periods, x)
    safe = xp.where(period > 0, period, 1.0)
    turns = xp.floor((x - middle) / safe + 0.5)
    return xp.where(xp.broadcast_to(period > 0, x.shape), x - safe * turns, x)


def as_row(name: str, values: tuple[float, ...], like: Any) -> Any:
    """Values, one or one per coordinate, as an array that meets the last axis of `like`."""
    if len(values) not in (1, like.shape[-1]):
        expected, got = len(values), like.shape
        raise ValueError(f"expected {name} with {expected} coordinates per point, got shape {got}")
    xp = np if isinstance(like, np.ndarray) else jnp
    row = xp.broadcast_to(xp.asarray(values, dtype=like.dtype), like.shape[-1:])
    return xp.expand_dims(row, tuple(range(like.ndim - 1)))


def opposite_of_gap(values: np.ndarray, period: float) -> float:
    """Point of the circle opposite to the largest gap between values.

    Within half a period of it the values are one stretch. Where gaps tie, as between the hours of a
    day, the stretch starts at the smallest value.

    Args:
        values: Numbers (n,), in any turn.
        period: Period P > 0.
    """
    start = float(np.min(values))
    turned = np.unique(np.mod(values - start, period))
    ends = np.append(turned[1:], turned[0] + period)
    gaps = ends - turned
    widest = gaps >= gaps.max() * (1 - 1e-6)
    last = int(np.flatnonzero(widest)[-1])
    return start + float(turned[last] + 0.5 * gaps[last] - 0.5 * period)


def extents(x: np.ndarray, periods: tuple[float, ...]) -> np.ndarray:
    """Range of each coordinate; of a periodic one the shortest arc that holds all points.

    Args:
        x: Points (n, d).
        periods: Period P of every coordinate; empty where none has one.
    """
    found = np.ptp(x, axis=0)
    for i, period in enumerate(periods):
        if period:
            turned = np.unique(np.mod(x[:, i], period))
            found[i] = period - np.diff(np.append(turned, turned[0] + period)).max()
    return found


def embed(x: np.ndarray, periods: tuple[float, ...]) -> np.ndarray:
    """Points with every periodic coordinate on a circle in the plane, of circumference P.

    Args:
        x: Points (n, d).
        periods: Period P of every coordinate; empty where none has one.

    Returns:
        Points (n, d + number of periodic coordinates); near points keep their distances.
    """
    if not any(periods):
        return x
    columns = []
    for column, period in zip(x.T, periods, strict=True):
        angle = 2 * np.pi * column / period if period else column
        radius = period / (2 * np.pi)
        columns += [radius * np.cos(angle), radius * np.sin(angle)] if period else [column]
    return np.stack(columns, axis=1)
