"""Target locations as they are typed: ranges and lists of numbers or datetimes; no JAX."""

from __future__ import annotations

import re

import numpy as np

from geomndp import _time_zones

MAX_TARGETS = 1_000_000
FORMS = (
    "start:stop:step, start:stop:30pts, numbers or, for datetimes, 2024-08-30/2024-09-04/6h or "
    "2024-08-30,2024-09-04"
)
DATE = re.compile(r"\d{4}(-\d\d(-\d\d([T ].+)?)?)?$|\d{8}(T.+)?$")
"""A date that begins with the year, whose order of day and month nobody mistakes."""
LISTED_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].+)?$")
"""A date that is no number."""


def numbers(text: str) -> np.ndarray:
    """Numbers or datetimes of one input.

    Args:
        text: A range or a list, in one of the `FORMS`.

    Raises:
        ValueError: If it is in no such form, or has too many locations.
    """
    try:
        if dates := typed_dates(text):
            values = _listed(dates) if "/" not in text else _datetimes(*text.split("/"))
        elif ":" not in text:
            values = np.array([float(part) for part in text.split(",")])
        else:
            values = _range(*text.split(":"))
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ValueError(f"expected a range ({FORMS}), got {text!r}") from error
    if values is None:
        raise ValueError(
            f"expected start:stop:step with 2 to {MAX_TARGETS} steps, or "
            f"start:stop:30pts for 30 points, "
            f"got {text!r}"
        )
    if not 0 < len(values) <= MAX_TARGETS or (
        values.dtype.kind == "f" and not np.isfinite(values).all()
    ):
        raise ValueError(f"expected 1 to {MAX_TARGETS} finite numbers or datetimes, got {text!r}")
    return values


def _range(start: str, stop: str, step: str) -> np.ndarray | None:
    """Numbers from `start` to `stop`; None where so many steps do not lead there."""
    first, last = float(start), float(stop)
    if not np.isfinite([first, last]).all():
        raise ValueError("expected finite numbers")
    if step.endswith("pts"):
        count = int(step.removesuffix("pts"))
        return np.linspace(first, last, count) if count <= MAX_TARGETS else None
    count = np.floor((last - first) / float(step) + 1e-9) + 1
    return first + float(step) * np.arange(int(count)) if 1 < count <= MAX_TARGETS else None


def _datetimes(start: str, stop: str, step: str) -> np.ndarray:
    """Datetimes from `start` to `stop`, in UTC where they have a zone."""
    import pandas as pd

    if not (DATE.match(start) and DATE.match(stop)):
        raise ValueError("expected years first: other orders mean several days")
    first, last = pd.Timestamp(start), pd.Timestamp(stop)
    offset = pd.tseries.frequencies.to_offset(step)
    if isinstance(offset, pd.offsets.Tick):
        count = (last - first).total_seconds() / (offset.nanos * 1e-9)
        if not count <= MAX_TARGETS:
            raise ValueError(f"expected at most {MAX_TARGETS} datetimes")
    dates = pd.date_range(first, last, freq=offset)
    return (dates if dates.tz is None else dates.tz_convert("UTC").tz_localize(None)).to_numpy()


def _listed(dates: list[str]) -> np.ndarray:
    """Datetimes of a list, in UTC where they have a zone."""
    import pandas as pd

    if _time_zones.all_zoned(dates) is None:
        raise ValueError("expected all datetimes with a time zone or all without")
    return pd.to_datetime(dates, format="ISO8601", utc=True).tz_localize(None).to_numpy()


def typed_dates(text: str) -> list[str]:
    """Datetimes of a list, or the two ends of a range of datetimes; none for numbers.

    Args:
        text: A range or a list.
    """
    if text.count("/") == 2:
        return text.split("/")[:2]
    parts = text.split(",")
    return parts if all(LISTED_DATE.match(part) for part in parts) else []
