"""Datetimes and durations as numbers."""

from __future__ import annotations

import numpy as np

from geomndp.tables.units import SECONDS


def seconds(gaps: np.ndarray) -> np.ndarray:
    """Durations as floats; NaN where they are missing."""
    numbers = gaps.astype("timedelta64[ns]").astype(np.int64) / 1e9
    return np.where(np.isnat(gaps), np.nan, numbers)


def per_function(values: np.ndarray, elapsed: bool) -> tuple[np.ndarray, str]:
    """Times (b, n) of functions as numbers, and the unit that suits the longest function.

    Datetimes count from the earliest of their function if `elapsed`, else from that of all.
    """
    if np.all(np.isnat(values)):
        raise ValueError("expected times, got none that is known")
    first = _earliest(values)
    longest = np.nanmax(seconds(values - first))
    unit = next((u for u in ("days", "hours", "minutes") if longest > 2 * SECONDS[u]), "seconds")
    if values.dtype.kind == "m":
        return seconds(values) / SECONDS[unit], unit
    if elapsed:
        return seconds(values - first) / SECONDS[unit], unit
    start = np.nanmin(values).astype("datetime64[s]")
    date = str(start).replace("T", " ")
    return seconds(values - start) / SECONDS[unit], f"{unit} since {date}"


def _earliest(values: np.ndarray) -> np.ndarray:
    """First known time of every function; one without any keeps none."""
    latest = np.array(np.iinfo(np.int64).max).astype(values.dtype)
    first = np.min(np.where(np.isnat(values), latest, values), axis=1, keepdims=True)
    return np.where(first == latest, np.array("NaT", values.dtype), first)
