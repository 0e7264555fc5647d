"""CSV files with a header, as pandas reads them; what it would read wrongly is refused in words.

pandas takes values beyond the header for row labels, cuts a line off at a "#" anywhere, renames
the second of two columns of one name, and makes one number of the labels 007 and 7: each gives
other values than the file shows, without a word.
"""

from __future__ import annotations

import codecs
import re
import warnings
from collections import Counter
from collections.abc import Container
from typing import Any

from geomndp import _time_zones

UNITS = re.compile(r"(.*\S)\s*\[(.*)\]")
"""A header that states units: time [hours]."""
LEADING_ZERO = re.compile(r"[+-]?0\d")
"""A label such as 007."""

QUOTE, QUOTED = re.compile(rb'(^|,) *"'), re.compile(rb'(^|,) *"(?:[^"]|"")*"(?!")')
"""Begin of a quoted text, and one that ends in its line; a quote in a text is written twice."""


def read_csv(path: str, labels: Container[str] = ()) -> Any:
    """Read columns; ISO 8601 becomes datetimes, units in the header are kept apart.

    Args:
        path: The file, in UTF-8, with commas between columns. Lines that begin with "#" and empty
            rows are left out; of columns with one name each gets its number, as "y (column 2)".
        labels: Names of columns whose values are labels: they stay texts where numbers would lose
            something, as 007 and 1.10 would.

    Returns:
        A DataFrame with `units` and the zones of datetimes in its `attrs`.

    Raises:
        ValueError: If columns are not separated by commas, rows are longer than the header, or the
            text is not in UTF-8.
    """
    try:
        return _read(path, labels)
    except UnicodeDecodeError:
        raise ValueError(
            "not in UTF-8 (spreadsheets: save as CSV UTF-8; pandas: "
            "read_csv(path, encoding='latin1').to_csv(path, index=False))"
        ) from None


def _read(path: str, labels: Container[str]) -> Any:
    import pandas as pd

    options: dict[str, Any] = {"skipinitialspace": True, "skiprows": _comment_lines(path)}
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, **options)
    names = [None if pd.isna(name) else str(name).strip() for name in header.iloc[0]]
    if len(names) == 1 and names[0] is not None:
        _check_commas(names[0])
    single, units = _read_names(names)
    texts = [number for number, name in enumerate(single) if name in labels]
    frame = _read_rows(path, len(names), options | {"dtype": dict.fromkeys(texts, str)})
    frame.columns = single
    frame = frame.dropna(how="all").reset_index(drop=True)
    if not len(frame):
        frame = frame.astype(float)
    for column in range(frame.shape[1]):
        frame.isetitem(column, _stripped(frame.iloc[:, column]))
    kept = {single[column] for column in texts if not _as_numbers(frame, column)}
    frame.attrs |= {"units": units, _time_zones.NOTE: _parse_datetimes(frame, kept)}
    return frame


def _check_commas(header: str) -> None:
    """Refuse columns between which other signs than commas stand."""
    for sign, words, code in ((";", "semicolons", "';', decimal=','"), ("\t", "tabs", "'\\t'")):
        if sign in header:
            raise ValueError(
                f"columns parted by {words}, not commas (pandas: read_csv(path, sep={code})"
                ".to_csv(path, index=False))"
            )


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


def _stripped(column: Any) -> Any:
    """Texts without the spaces around them, which nobody sees; what is then empty is missing."""
    import pandas as pd

    if not pd.api.types.is_string_dtype(column):
        return column
    texts = column.str.strip()
    return texts.where(texts != "")


def _as_numbers(frame: Any, column: int) -> bool:
    """Make numbers of the texts of a column; false if they are numbers that would lose something.

    Leading zeros, and the difference of labels that are one number, as 1.1 and 1.10 are.
    """
    import pandas as pd

    texts: Any = frame.iloc[:, column]
    values: Any = pd.to_numeric(texts, errors="coerce")
    if values.isna().any() or not len(values):
        return bool((values.isna() & texts.notna()).any())
    if texts.str.match(LEADING_ZERO).any() or values.nunique() < texts.nunique():
        return False
    frame.isetitem(column, values)
    return True


def _parse_datetimes(frame: Any, kept: Container[str]) -> dict[str, bool | None]:
    """Replace columns of datetimes by such in UTC; whether each states a time zone."""
    import pandas as pd

    zoned = {}
    for column, (name, dtype) in enumerate(frame.dtypes.items()):
        if name not in kept and not pd.api.types.is_numeric_dtype(dtype):
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
