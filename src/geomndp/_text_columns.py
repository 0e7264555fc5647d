"""Texts of a file as numbers and datetimes, where only one reading is possible.

"1,234" may be more than a thousand or little more than one, and 3/4/2024 a day of March or of
April. Such a column is read if the column itself settles it. Otherwise it stays text, which is
refused where its numbers are asked for.
"""

from __future__ import annotations

import re
from collections.abc import Container
from typing import Any, NamedTuple

from geomndp import _time_zones

LEADING_ZERO = r"[+-]?0\d"
"""Begin of a label such as 007."""
DECIMAL_COMMA = r"[+-]?(?:\d+|\d*,\d+)(?:[eE][+-]?\d+)?"
POINTS_TOO = r"[+-]?\d{1,3}(?:\.\d{3})*(?:,\d+)?"
"""A number with points between thousands and a decimal comma: 1.234,5."""
MAYBE_THOUSANDS = r"[+-]?[1-9]\d{0,2}[.,]\d{3}"
"""A number whose comma or point may stand before decimals or between thousands."""
DATE = r"^(\d{1,2})([./-])(\d{1,2})\2(\d{4})(?:(?:T|,? +)(\d{1,2}:\d\d.*))?$"
"""A date with its year last, and perhaps a time of the day."""
DECIMAL_COMMAS = "decimal commas"
LISTED = 5
"""Columns that are named at most."""


class Reading(NamedTuple):
    """What a column of texts is read as, with words for what was assumed."""

    values: Any
    assumed: str = ""
    zoned: bool | None = None
    """Of datetimes whether all state a time zone or all do not, None for some."""


def is_text(column: Any) -> bool:
    """Whether a column holds texts, some of which may be missing, in any version of pandas."""
    import pandas as pd

    return pd.api.types.infer_dtype(column) in ("string", "empty")


def read_texts(frame: Any, labels: Container[str], separator: str) -> list[str]:
    """Replace columns of texts by the numbers, or the datetimes (UTC), that they hold.

    Whether datetimes state a time zone is noted in `frame.attrs`.

    Args:
        frame: Columns as a file has them.
        labels: Names of columns of labels, which stay texts where numbers would lose something.
        separator: Sign between the columns: where it is no comma, commas may stand before decimals.

    Returns:
        What was assumed, and in which columns.
    """
    texts = {name: frame[name] for name in frame if is_text(frame[name])}
    commas = separator != ","
    found = {name: _read(column, name in labels, commas) for name, column in texts.items()}
    if commas:
        found |= {name: Reading(texts[name]) for name in _doubtful(found, texts, labels, separator)}
    assumed: dict[str, list[str]] = {}
    for name, reading in found.items():
        frame[name] = reading.values
        assumed.setdefault(reading.assumed, []).append(repr(name))
    dated = [name for name in found if frame[name].dtype.kind == "M"]
    frame.attrs[_time_zones.NOTE] = {name: found[name].zoned for name in dated}
    return [f"{how} in {_listed(names)}" for how, names in assumed.items() if how]


def _doubtful(
    found: dict[str, Reading], texts: dict[str, Any], labels: Container[str], separator: str
) -> list[str]:
    """Columns of numbers whose points may stand between thousands, as other columns do not deny.

    Semicolons are the separator of those who write decimal commas.
    """
    with_points = [n for n in found if texts[n].str.contains(".", regex=False).any()]
    plain = [n for n in with_points if n not in labels and found[n].values.dtype.kind == "f"]
    plain = [name for name in plain if not found[name].assumed]
    doubtful = [name for name in plain if _maybe_thousands(texts[name], ".")]
    with_commas = any(reading.assumed == DECIMAL_COMMAS for reading in found.values())
    return doubtful if with_commas or (separator == ";" and doubtful == plain) else []


def _read(texts: Any, label: bool, commas: bool) -> Reading:
    """Read one column, as it is if nothing else is certain."""
    import pandas as pd

    known, numbers = texts.dropna(), _as_numbers(texts)
    if numbers.count() == len(known):
        lossy = len(known) < len(texts) or known.str.match(LEADING_ZERO).any()
        lossy = lossy or numbers.nunique() < known.nunique()
        return Reading(texts if label and lossy else numbers)
    if commas and not label and (decimals := _with_commas(known)) is not None:
        return Reading(decimals.reindex(texts.index), DECIMAL_COMMAS)
    dates, order = _year_first(known)
    try:
        moments = pd.to_datetime(dates, format="ISO8601", utc=True).dt.tz_localize(None)
    except (ValueError, TypeError, OverflowError):
        return Reading(texts)
    return Reading(moments.reindex(texts.index), order, _time_zones.all_zoned(dates))


def _with_commas(texts: Any) -> Any:
    """Numbers of texts with decimal commas; None where these may be something else."""
    both = (texts.str.contains(",") & texts.str.contains(".", regex=False)).any()
    fits = texts.str.fullmatch(POINTS_TOO if both else DECIMAL_COMMA).all()
    if not fits or _maybe_thousands(texts, ","):
        return None
    return _as_numbers(texts.str.replace(".", "", regex=False).str.replace(",", "."))


def _as_numbers(texts: Any) -> Any:
    """Numbers, NaN where a text is none."""
    import pandas as pd

    return pd.to_numeric(texts, errors="coerce")


def _maybe_thousands(texts: Any, sign: str) -> bool:
    """Whether every such sign may stand between thousands as well as before decimals."""
    signed = texts[texts.str.contains(sign, regex=False, na=False)]
    return len(signed) > 0 and bool(signed.str.fullmatch(MAYBE_THOUSANDS).all())


def _year_first(texts: Any) -> tuple[Any, str]:
    """Dates as ISO 8601 has them if one of them tells the order of day and month, and the order."""
    if not re.match(DATE, texts.iloc[0]):
        return texts, ""
    parts = texts.str.extract(DATE)
    first, second = (_as_numbers(parts[column]) > 12 for column in (0, 2))
    if parts[0].isna().any() or first.any() == second.any():
        return texts, ""
    day, month = (0, 2) if first.any() else (2, 0)
    date = parts[3] + "-" + parts[month].str.zfill(2) + "-" + parts[day].str.zfill(2)
    order = "days before months" if first.any() else "months before days"
    return date + ("T" + parts[4]).fillna(""), order


def _listed(names: list[str]) -> str:
    """A few names, or how many there are."""
    return ", ".join(names) if len(names) <= LISTED else f"{len(names)} columns"
