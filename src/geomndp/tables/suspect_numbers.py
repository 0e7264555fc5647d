"""Numbers that stand for something else: for a missing value, as -999 does, or for a date."""

from __future__ import annotations

import re

import numpy as np

from geomndp._warnings import warn_at_request

NINES = re.compile(r"9+(\.9+)?")
"""Digits of markers such as -999 and 99.9."""
LIMITS = (32767.0, 32768.0, 65535.0, 2147483647.0, 2147483648.0)
"""Largest numbers of integer types, which loggers write where they have none."""
HUGE = 1e20
"""Size of the default fill values of formats, of which no unit makes a measurement."""
MIN_OTHERS = 5
"""Different other values below which none is far from them."""
MIN_NEGATIVE = 99.0
"""Size from which a marker is one as the only negative value, however far the others range."""


def warn_of_markers(name: str, values: np.ndarray) -> None:
    """Warn of numbers far from all others that look like markers of missing values.

    These are repeated nines, the limits of integer types, fill values, and zeros where no other
    value is near them.

    Args:
        name: Name of the column.
        values: Its values, of any shape; NaN is missing.
    """
    known = values[np.isfinite(values)]
    numbers, counts = np.unique(known, return_counts=True)
    found, inside = [], np.ones(len(numbers), bool)
    for row in (0, len(numbers) - 1, 1, len(numbers) - 2):
        rest = numbers[inside & (np.arange(len(numbers)) != row)]
        if len(rest) >= MIN_OTHERS and _is_marker(numbers[row], int(counts[row]), rest):
            found.append(row)
            inside[row] = False
    if found:
        rest, listed = numbers[inside], ", ".join(f"{numbers[row]:.10g}" for row in found)
        warn_at_request(
            f"{sum(counts[row] for row in found)} of {len(known)} values of {name!r} are {listed}, "
            f"far from all others ({rest[0]:g} to {rest[-1]:g}): if that stands for a missing "
            f"value, it is now taken for a measured one; leave it empty instead (pandas: "
            f"read_csv(path, na_values=[{listed}]))",
            UserWarning,
        )


def _is_marker(value: float, count: int, others: np.ndarray) -> bool:
    """Whether a number looks like a marker among others, sorted."""
    size, low, high = abs(value), others[0], others[-1]
    if value == 0:
        marker = count > 1
    else:
        marker = size in LIMITS or size >= HUGE or bool(NINES.fullmatch(f"{size:.10g}"))
    gap = low - value if value < low else value - high
    alone = value <= -MIN_NEGATIVE and low >= 0
    return bool(marker and (gap > high - low or alone))


def warn_of_written_dates(name: str, values: np.ndarray) -> None:
    """Warn of dates that are written as whole numbers, 20240831, whose differences are no times.

    Args:
        name: Name of the input.
        values: Its values, of any shape; NaN is missing.
    """
    numbers = np.unique(values[np.isfinite(values)])
    if len(numbers) < 2 or not np.all((numbers > 1.8e7) & (numbers < 2.2e7) & (numbers % 1 == 0)):
        return
    whole = numbers.astype(int)
    month, day = whole // 100 % 100, whole % 100
    if np.all((month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)):
        year, last = divmod(int(whole[-1]), 10000)
        text = f"{year}-{last // 100:02d}-{last % 100:02d}"
        warn_at_request(
            f"{name!r} holds whole numbers such as {whole[-1]}, which look like dates: as numbers "
            f"the last day of a month is far from the next day; write {text} (pandas: "
            f"to_datetime({name!r} column, format='%Y%m%d'))",
            UserWarning,
        )
