"""What a column holds that should have held numbers, in words."""

from __future__ import annotations

import re
from datetime import date

import numpy as np

DATES = (
    "dates as text or objects (pandas.to_datetime makes datetimes of them, with dayfirst=True of "
    "30/8/2024; in a file write 2024-08-30)"
)
CLOCK = re.compile(r"\d{1,2}:\d\d\b")
"""A time of the day: 06:30."""
DATED = re.compile(r"\s*\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b")
"""A date in any of the usual orders: 2024-08-30, 30.8.2024, 8/30/24."""


def no_numbers(values: np.ndarray) -> str:
    """Say in words what a column without numbers holds."""
    kinds = {"M": "datetimes", "m": "durations", "b": "true and false", "c": "complex"}
    if values.dtype.kind in kinds:
        return kinds[values.dtype.kind]
    alone = True  # no number stands before
    for row, cell in enumerate(values.flat):
        if isinstance(cell, date) or hasattr(cell, "to_timestamp"):
            return DATES
        if isinstance(cell, str) and not _is_number(cell):
            return DATES if alone and DATED.match(cell) else _text(cell, row)
        alone = alone and not isinstance(cell, str)
    return "numbers as text or objects (pandas.to_numeric makes numbers of them)"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(cell: str, row: int) -> str:
    """Say what the text in a column of numbers is, and what to do where that is known."""
    said = f"text, {cell[:40]!r} in row {row}"
    if CLOCK.match(cell):
        return f"{said}; write hours as numbers, 6.5 for 06:30, or datetimes, 2024-08-30T06:30"
    if not any(letter.isalnum() for letter in cell):
        return f"{said}; leave it empty where a value is missing (pandas: na_values=[{cell!r}])"
    return said
