"""What a column holds that should have held numbers, in words."""

from __future__ import annotations

import re
from datetime import date

import numpy as np

from geomndp._text_columns import MAYBE_THOUSANDS

DATES = (
    "dates as text or objects (pandas.to_datetime makes datetimes of them, with dayfirst=True of "
    "30/8/2024; a file needs 2024-08-30, or a day above 12 that tells the order)"
)
DATED = re.compile(r"\s*\d{1,4}([-/.])\d{1,2}\1\d{1,4}\b")
"""A date in any of the usual orders: 2024-08-30, 30.8.2024, 8/30/24."""
AMBIGUOUS = (
    "are decimals or thousands meant? write 1234.5 (pandas: read_csv(path, sep=';', decimal=',', "
    "thousands='.') or its like)"
)
NUMBER = r"[-+]?\d[\d.]*"
ADVICE = {
    r"\d{1,2}:\d\d\b": "write hours as numbers, 6.5 for 06:30, or datetimes, 2024-08-30T06:30",
    r"\W*$": "leave it empty where a value is missing (pandas: na_values=[{cell!r}])",
    r"[<>≤≥]": "a limit is no value: leave it empty, or write the number that shall stand for it",
    r"[-+\d.,'\s]+$": AMBIGUOUS,
    r"\d{4}-?W\d\d": "write a day of the week, 2024-01-29 for 2024-W05",
    rf"{NUMBER}\s*([^\W\d]|[%°])": "write the number alone and its unit in the header: 'y [%]'",
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
        if isinstance(cell, str) and not _is_number(cell):
            return DATES if cell is texts[0] and DATED.match(cell) else _text(values, row)
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
    cell, others = values.flat[row], [str(cell) for cell in values.flat[1:]]
    said = f"text, {cell[:40]!r} in row {row}"
    if row == 0 and others and all(map(_is_number, others)) and not cell[0].isdigit():
        if any(map(str.isalpha, cell)) or "%" in cell:
            return f"{said} alone; write a unit in the header, as in 'time [hours]'"
    for pattern, advice in ADVICE.items():
        if re.match(pattern, cell):
            return f"{said}; {advice.format(cell=cell)}"
    return said
