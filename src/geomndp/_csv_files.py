"""CSV files with a header, as pandas reads them; what it would read wrongly is refused in words.

pandas takes values beyond the header for row labels, cuts a line off at a "#" anywhere, and renames
the second of two columns of one name: each gives other numbers than the file shows, without a word.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections import Counter
from typing import Any

from geomndp import _time_zones

UNITS = re.compile(r"(.*\S)\s*\[(.*)\]")
"""A header that states units: time [hours]."""

QUOTE, QUOTED = re.compile(rb'(^|,) *"'), re.compile(rb'(^|,) *"(?:[^"]|"")*"(?!")')
"""Begin of a quoted text, and one that ends in its line; a quote in a text is written twice."""


def read_csv(path: str) -> Any:
    """Read columns; ISO 8601 becomes datetimes, units in the header are kept apart.

    Args:
        path: The file, in UTF-8, with commas between columns. Lines that begin with "#" and empty
            rows are left out; of columns with one name each gets its number, as "y (column 2)".

    Returns:
        A DataFrame with `units` and the zones of datetimes in its `attrs`.

    Raises:
        ValueError: If columns are not separated by commas, or rows are longer than the header.
    """
    import pandas as pd

    options: dict[str, Any] = {"skipinitialspace": True, "skiprows": _comment_lines(path)}
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, **options)
    names = [None if pd.isna(name) else str(name).strip() for name in header.iloc[0]]
    if len(names) == 1 and names[0] is not None and ";" in names[0]:
        raise ValueError(
            "columns parted by semicolons, not commas (pandas: read_csv(path, sep=';', "
            "decimal=',').to_csv(path, index=False))"
        )
    frame = _read_rows(path, len(names), options)
    frame.columns, units = _read_names(names)
    frame = frame.dropna(how="all").reset_index(drop=True)
    if not len(frame):
        frame = frame.astype(float)
    frame.attrs |= {"units": units, _time_zones.NOTE: _parse_datetimes(frame)}
    return frame


def _comment_lines(path: str) -> list[int]:
    """Numbers of the lines that begin with "#", as pandas counts: texts may be several lines."""
    numbers, number, inside = [], 0, False
    with open(path, "rb") as lines:
        for line in lines:
            if not inside and line.removeprefix(codecs.BOM_UTF8).startswith(b"#"):
                numbers.append(number)
            elif b'"' in line:
                inside = _ends_inside(line, inside)
            number += not inside
    return numbers


def _ends_inside(line: bytes, inside: bool) -> bool:
    """Whether a line ends inside of a quoted text, in which it may have begun."""
    closed = QUOTED.sub(rb"\1", b'"' + line if inside else line)
    return QUOTE.search(closed) is not None


def _read_rows(path: str, num_names: int, options: dict[str, Any]) -> Any:
    """Rows as long as the header, or longer by an empty value after a last comma."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(path, low_memory=False, index_col=False, **options)
        except pd.errors.ParserWarning as loss:
            raise ValueError(
                f"{num_names} names in the header and more values in a row: decimal commas, or a "
                "column without a name?"
            ) from loss


def _read_names(names: list[str | None]) -> tuple[list[str], dict[str, str]]:
    """Names of the columns, each once, and their units."""
    stated = [UNITS.fullmatch(name or "") for name in names]
    plain = [
        match[1] if match else (name or f"Unnamed: {number}")
        for number, (name, match) in enumerate(zip(names, stated, strict=True))
    ]
    count = Counter(plain)
    single = [
        name if count[name] == 1 else f"{name} (column {number})"
        for number, name in enumerate(plain, 1)
    ]
    return single, {n: match[2] for n, match in zip(single, stated, strict=True) if match}


def _parse_datetimes(frame: Any) -> dict[str, bool | None]:
    """Replace columns of datetimes by such in UTC; whether each states a time zone."""
    import pandas as pd

    zoned = {}
    for column, (name, dtype) in enumerate(frame.dtypes.items()):
        if not pd.api.types.is_numeric_dtype(dtype):
            texts = frame.iloc[:, column]
            frame.isetitem(column, _as_datetimes(texts))
            if frame.dtypes.iloc[column].kind == "M":
                zoned[name] = _time_zones.all_zoned(texts.dropna())
    return zoned


def _as_datetimes(column: Any) -> Any:
    """Datetimes in UTC without a zone, or the column as it is."""
    import pandas as pd

    try:
        return pd.to_datetime(column, format="ISO8601", utc=True).dt.tz_localize(None)
    except (ValueError, TypeError, OverflowError):
        return column
