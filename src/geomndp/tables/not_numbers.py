"""What a column holds that should have held numbers, in words."""

from __future__ import annotations

import re
from datetime import date, time

import numpy as np

from geomndp._text_columns import MAYBE_THOUSANDS

DATES = (
    "dates as text or objects (pandas.to_datetime makes datetimes of them, with dayfirst=True of "
    "30/8/2024; a file needs 2024-08-30, or a day above 12 that tells the order)"
)
MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*[- .,]+\d"
DATED = re.compile(rf"\d{{1,4}}([-/.])\d\d?\1\d{{1,4}}\b|(\d\d?[- .]+)?{MONTH}", re.IGNORECASE)
"""A date in any of the usual orders: 2024-08-30, 30.8.2024, 8/30/24, 30 Aug 2024."""
AMBIGUOUS = (
    "are decimals or thousands meant? write 1234.5 (pandas: read_csv(path, sep=';', decimal=',', "
    "thousands='.') or its like)"
)
HOURS = "write hours as numbers, 6.5 for 06:30, or datetimes, 2024-08-30T06:30"
MARK = r"\W*$"
"""A sign for a missing value."""
NUMBER = r"[-+]?\d[\d.]*"
ADVICE = {
    r"\d{1,2}:\d\d\b": HOURS,
    MARK: "leave it empty where a value is missing (pandas: na_values=[{cell!r}])",
    r"[<>≤≥]": "a limit is no value: leave it empty, or write the number that shall stand for it",
    r"[-+]?[\d.,'\s]+$": AMBIGUOUS,
    r"\d{4}-?W\d\d": "write a day of the week, 2024-01-29 for 2024-W05",
    rf"{NUMBER}\s*([^\W\d]|[%°])\D*$": "write the number alone and its unit in the header: 'y [%]'",
}
"""What to do about a text, by a pattern of its beginning."""


def no_numbers(values: np.ndarray) -> str:
    """Say in words what a column without numbers holds."""
    kinds = {"M": "datetimes", "m": "durations", "b": "true and false", "c": "complex"}
    if values.dtype.kind in kinds:
        return kinds[values.dtype.kind]
    texts = [cell for cell in values.flat if isinstance(cell, str)]
    for row, cell in enumerate(values.flat):
        if isinstance(cell, date) or hasattr(cell, "to_timestamp"):
            return DATES
        if hasattr(cell, "calendar"):  # of cftime
            return f"dates of the calendar {cell.calendar!r} (xarray: convert_calendar('standard'))"
        if isinstance(cell, time):
            return f"times of the day; {HOURS}"
        if isinstance(cell, str) and not _is_number(cell):
            return DATES if cell is texts[0] and DATED.match(cell.strip()) else _text(values, row)
    with_points = [text for text in texts if "." in text]
    if with_points and all(re.fullmatch(MAYBE_THOUSANDS, text) for text in with_points):
        return f"text, {with_points[0]!r} and its like; {AMBIGUOUS}"
    return "numbers as text or objects (pandas.to_numeric makes numbers of them)"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _text(values: np.ndarray, row: int) -> str:
    """Say what the text in a column of numbers is, and what to do where that is known."""
    cell, numbers = values.flat[row], [_is_number(str(cell)) for cell in values.flat]
    said = f"text, {cell[:40]!r} in row {row}"
    if row == 0 and len(numbers) > 1 and all(numbers[1:]) and not cell[0].isdigit():
        if any(map(str.isalpha, cell)) or "%" in cell:
            return f"{said} alone; write a unit in the header, as in 'time [hours]'"
    for pattern, advice in ADVICE.items():
        if re.match(pattern, cell):
            return f"{said}; {advice.format(cell=cell)}"
    if not any(map(str.isdigit, cell)) and np.mean(numbers) > 0.5:
        return f"{said}; {ADVICE[MARK].format(cell=cell)}"
    return said
