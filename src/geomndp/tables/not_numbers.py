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
DIGITS = r"[-+]?[\d.,'\s]+$"
ADVICE = {
    r"\d{1,2}:\d\d\b": HOURS,
    MARK: "leave it empty where a value is missing (pandas: na_values=[{cell!r}])",
    r"[−–]": "write a minus as '-'",
    r"[<>≤≥]": "a limit is no value: leave it empty, or write the number that shall stand for it",
    DIGITS: AMBIGUOUS,
    r"\d{4}-?W\d\d": "write a day of the week, 2024-01-29 for 2024-W05",
    r"[-+]?\d[\d.,]*\s*[^\d\s.,:;/-]\D*$": "write the number alone, its unit in the header: y [%]",
}
"""What to do about a text, by a pattern of its beginning."""


def no_numbers(values: np.ndarray) -> str:
    """Say in words what a column without numbers holds."""
    kinds = {"M": "datetimes", "m": "durations", "b": "true and false", "c": "complex"}
    if values.dtype.kind in kinds:
        return kinds[values.dtype.kind]
    for cell in values.flat:
        if isinstance(cell, date) or hasattr(cell, "to_timestamp"):
            return DATES
        if hasattr(cell, "calendar"):  # of cftime
            return f"dates of the calendar {cell.calendar!r} (xarray: convert_calendar('standard'))"
        if isinstance(cell, time):
            return f"times of the day; {HOURS}"
    return _texts(values)


def _texts(values: np.ndarray) -> str:
    """Say what the texts of a column are, of which those that are no numbers matter most."""
    texts = {row: cell for row, cell in enumerate(values.flat) if isinstance(cell, str)}
    strange = [row for row, text in texts.items() if not _is_number(text)]
    if strange and strange[0] == min(texts) and DATED.match(texts[strange[0]].strip()):
        return DATES
    if strange:
        without_digits = [row for row in strange if not re.match(DIGITS, texts[row])]
        return _text(values, [*without_digits, *strange][0])
    with_points = [text for text in texts.values() if "." in text]
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
    if row == 0 and len(numbers) > 1 and all(numbers[1:]) and not cell[:1].isdigit():
        if any(map(str.isalpha, cell)) or "%" in cell:
            return f"{said} alone; write a unit in the header, as in 'time [hours]'"
    for pattern, advice in ADVICE.items():
        if re.match(pattern, cell):
            return f"{said}; {advice.format(cell=cell)}"
    if not any(map(str.isdigit, cell)) and np.mean(numbers) > 0.5:
        return f"{said}; {ADVICE[MARK].format(cell=cell)}"
    return said
