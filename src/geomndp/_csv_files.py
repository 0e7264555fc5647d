"""CSV files with a header, as pandas reads them; what it would read wrongly is refused in words.

pandas takes values beyond the header for row labels, cuts a line off at a "#" anywhere, renames
the second of two columns of one name, and makes one number of the labels 007 and 7: each gives
other values than the file shows, without a word. What texts mean is in `_text_columns`.
"""

from __future__ import annotations

import codecs
import functools
import re
import warnings
from collections import Counter
from collections.abc import Container
from typing import Any

from geomndp._text_columns import is_text, read_texts

UNITS = re.compile(r"(.*\S)\s*\[(.*)\]")
"""A header that states units: time [hours]."""
SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs"}
"""Signs between columns, and what they are called."""
NO_ROW = re.compile(r"#|sep=.$|[,;\s]*$", re.IGNORECASE)
"""Begin of a comment, the line by which a spreadsheet names the separator, and an empty row."""
LINE = re.compile(r"line \d+")
ASSUMED = "assumed"
"""Entry of `frame.attrs`: what the file does not state, in words."""

NO_SEPARATOR = re.compile(r"\[[^]]*\]|(?<=,)\t+|\t+(?=,)")
"""Parts of a header that separate no columns: units, and tabs beside commas."""


def read_csv(path: str, labels: Container[str] = ()) -> Any:
    """Read columns; ISO 8601 becomes datetimes, units in the header are kept apart.

    Args:
        path: The file, in UTF-8 or UTF-16, with commas, semicolons or tabs between columns, as its
            header has them; decimal commas may stand where columns are separated otherwise. Lines
            that begin with "#" and empty rows are left out; of columns with one name each gets its
            number, as "y (column 2)".
        labels: Names of columns whose values are labels: they stay texts where numbers would lose
            something, as 007 and 1.10 would.

    Returns:
        A DataFrame with `units`, the zones of datetimes and what was assumed in its `attrs`.

    Raises:
        ValueError: If the header has several separators, rows are longer than the header, or the
            text is in another encoding.
    """
    try:
        return _read(path, labels)
    except UnicodeError:
        raise ValueError(
            "no text in UTF-8 (spreadsheets: save as CSV UTF-8; Python: "
            "p = pathlib.Path(path); p.write_text(p.read_text('cp1252'), 'utf-8'))"
        ) from None


def _read(path: str, labels: Container[str]) -> Any:
    import pandas as pd

    encoding = _encoding(path)
    skipped, separator = _skipped_lines(path, encoding)
    options: dict[str, Any] = {"skipinitialspace": True, "skiprows": skipped}
    options |= {"sep": separator, "encoding": encoding}
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, **options)
    names = [None if pd.isna(name) else str(name).strip() for name in header.iloc[0]]
    single, units = _read_names(names)
    commas = separator != ","
    texts = [number for number, name in enumerate(single) if commas or name in labels]
    frame = _read_rows(path, len(names), options | {"dtype": dict.fromkeys(texts, str)})
    frame.columns = single
    for column in range(frame.shape[1]):
        frame.isetitem(column, _stripped(frame.iloc[:, column]))
    frame = frame.dropna(how="all").reset_index(drop=True)
    if not len(frame):
        frame = frame.astype(float)
    assumed = [f"{SEPARATORS[separator]} between columns"] if commas else []
    assumed += read_texts(frame, labels, separator)
    frame.attrs |= {"units": units, ASSUMED: "; ".join(assumed)}
    return frame


def _encoding(path: str) -> str:
    """UTF-16 where the file begins with its mark, else UTF-8."""
    with open(path, "rb") as file:
        mark = file.read(2)
    return "utf-16" if mark in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _skipped_lines(path: str, encoding: str) -> tuple[list[int], str]:
    """Numbers of the lines that are left out, as pandas counts, to which a text of several is one.

    The second is the sign between columns, as the first line of the header has it.
    """
    numbers, number, inside, separator = [], 0, False, ""
    with open(path, encoding=encoding) as lines:
        for line in lines:
            if not inside and NO_ROW.match(line):
                numbers.append(number)
            else:
                separator = separator or _separator(line)
                inside = _ends_inside(line, separator, inside) if '"' in line else inside
            number += not inside
    return numbers, separator or ","


@functools.cache
def _quotes(separators: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Begin of a quoted text after one of these signs, and one that ends in its line.

    A quote in a text is written twice; one elsewhere in a value begins nothing.
    """
    begin = rf'(^|[{separators}]) *"'
    return re.compile(begin), re.compile(begin + r'(?:[^"]|"")*"(?!")')


def _ends_inside(line: str, separator: str, inside: bool) -> bool:
    """Whether a line ends inside of a quoted text, in which it may have begun."""
    quote, quoted = _quotes(separator)
    closed = quoted.sub(r"\1", f'"{line}' if inside else line)
    return quote.search(closed) is not None


def _separator(header: str) -> str:
    """The sign between the columns' names, texts in quotes left out; a comma for one column."""
    if "\0" in header:
        raise UnicodeError("UTF-16 without a mark")
    quote, quoted = _quotes("".join(SEPARATORS))
    bare = NO_SEPARATOR.sub("", quote.split(quoted.sub(r"\1", header.rstrip("\n")))[0])
    found = [sign for sign in SEPARATORS if sign in bare]
    if len(found) > 1:
        listed = " and ".join(SEPARATORS[sign] for sign in found)
        raise ValueError(
            f"{listed} in the header, one of which separates columns; put names that contain the "
            "other in double quotes"
        )
    return found[0] if found else ","


def _read_rows(path: str, num_names: int, options: dict[str, Any]) -> Any:
    """Rows as long as the header, or longer by an empty value after a last comma."""
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            return pd.read_csv(path, low_memory=False, index_col=False, **options)
        except (pd.errors.ParserWarning, pd.errors.ParserError) as loss:
            if "EOF" in str(loss):  # within a text in quotes
                raise
            where = LINE.search(str(loss)) or ["a row"]
            raise ValueError(
                f"{num_names} names in the header and more values in {where[0]}: decimal commas, a "
                "column without a name, or a title above the names (begin it with #)?"
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
    if len({*single}) < len(single):
        raise ValueError(f"several columns of one name: {', '.join(map(repr, plain))}")
    return single, {n: match[2] for n, match in zip(single, stated, strict=True) if match}


def _stripped(column: Any) -> Any:
    """Texts without the spaces around them, which nobody sees; what is then empty is missing."""
    if not is_text(column):
        return column
    texts = column.str.strip()
    return texts.where(texts != "")
