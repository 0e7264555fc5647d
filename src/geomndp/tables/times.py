"""Datetimes and durations as numbers.

Nanoseconds in 64 bits span 292 years either way and wrap silently beyond, also where NumPy takes
the difference of two moments in different units. Moments are therefore compared in whole seconds.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from geomndp.tables.units import SECONDS

PLAIN = re.compile(r"\d{4}-\d\d(?:-\d\d(?:[T ][\d:.]+)?)?$")
"""ISO 8601 as NumPy reads it to any digit; it would take 20240830 for a year."""


def seconds(gaps: np.ndarray) -> np.ndarray:
    """Durations as floats; NaN where they are missing."""
    return np.asarray(gaps / np.timedelta64(1, "s"))


def seconds_since(values: np.ndarray, start: np.ndarray | np.datetime64) -> np.ndarray:
    """Datetimes as seconds after `start`, in any units and centuries; NaN where missing."""
    whole = values.astype("datetime64[s]") - start.astype("datetime64[s]")
    return seconds(whole) + _fraction(values) - _fraction(start)


def _fraction(values: np.ndarray | np.datetime64) -> np.ndarray:
    """Part of a second by which datetimes exceed whole ones."""
    return seconds(np.asarray(values - values.astype("datetime64[s]")))


def as_moment(time_origin: Any) -> str:
    """Write a datetime of any kind as a text (ISO 8601), in UTC if it has a zone."""
    given: Any = time_origin
    try:
        if isinstance(time_origin, str) and not PLAIN.match(time_origin):
            given = datetime.fromisoformat(time_origin)
        if getattr(given, "tzinfo", None) is not None:
            given = given.astimezone(UTC).replace(tzinfo=None)
        moment = np.datetime64(given) if not isinstance(given, (int, float)) else None
    except (TypeError, ValueError):
        moment = None
    if moment is None or np.isnat(moment):
        raise ValueError(f"expected time_origin to be a datetime, got {time_origin!r}")
    return str(moment)


def per_function(values: np.ndarray, elapsed: bool) -> tuple[np.ndarray, str]:
    """Times (b, n) of functions as numbers, and the unit that suits the longest function.

    Datetimes count from the earliest of their function if `elapsed`, else from that of all.
    """
    if np.all(np.isnat(values)):
        raise ValueError("expected times, got none that is known")
    first = _earliest(values)
    moments = values.dtype.kind == "M"
    gaps = seconds_since(values, first) if moments else seconds(values - first)
    longest = np.nanmax(gaps)
    unit = next((u for u in ("days", "hours", "minutes") if longest > 2 * SECONDS[u]), "seconds")
    if not moments:
        return seconds(values) / SECONDS[unit], unit
    if elapsed:
        return gaps / SECONDS[unit], unit
    start = np.nanmin(values).astype("datetime64[s]")
    date = str(start).replace("T", " ")
    return seconds_since(values, start) / SECONDS[unit], f"{unit} since {date}"


def _earliest(values: np.ndarray) -> np.ndarray:
    """First known time of every function; one without any keeps none."""
    latest = np.array(np.iinfo(np.int64).max).astype(values.dtype)
    first = np.min(np.where(np.isnat(values), latest, values), axis=1, keepdims=True)
    return np.where(first == latest, np.array("NaT", values.dtype), first)
