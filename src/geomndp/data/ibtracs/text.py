"""NOAA's CSV layout: names, a row of units, then one fix per row with a space for a blank."""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from geomndp.data.ibtracs.layout import UNITS, position_columns, wanted_columns
from geomndp.data.ibtracs.report import ReadProblem


class RawTable(NamedTuple):
    """Cells as they stand in a file, blanks as empty strings, with the line number of every row."""

    columns: dict[str, np.ndarray]
    rows: np.ndarray
    position: tuple[str, str]
    problems: list[ReadProblem]


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line numbers and cells; a file that ends too early is an error."""
    opener = gzip.open if path.suffix == ".gz" else open
    line = 0
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace", newline="") as stream:
            reader = csv.reader(stream)
            for cells in reader:
                line = reader.line_num
                if cells:
                    yield line, cells
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(
            f"expected a complete gzip file, got {path.name}, broken after line {line}: {error}"
        ) from error
    except csv.Error as error:
        raise ValueError(
            f"expected comma-separated values in {path.name}, got, after line {line}: {error}"
        ) from error


def _ends_in_line_end(path: Path) -> bool:
    if path.suffix == ".gz":
        return True  # a gzip file that is cut short does not decompress
    with path.open("rb") as stream:
        stream.seek(0, 2)
        stream.seek(max(stream.tell() - 1, 0))
        return stream.read(1) in (b"\n", b"\r")


def _is_units_row(names: list[str], cells: list[str]) -> bool:
    units = [cell for name, cell in zip(names, cells, strict=False) if name in UNITS]
    return bool(units) and all(cell.strip().startswith("degrees") for cell in units)


def _header(path: Path, lines) -> list[str]:
    _, first = next(lines, (0, []))
    if not first:
        raise ValueError(f"expected a row of column names in {path.name}, got an empty file")
    names = [name.strip().lstrip("\ufeff").upper() for name in first]
    twice = sorted({name for name in names if name and names.count(name) > 1})
    if twice:
        raise ValueError(f"expected each column once in {path.name}, got {twice} twice")
    return names


def read_text(path: Path, *, agency: str | None, extra: tuple[str, ...]) -> RawTable:
    """Cells of a CSV file, plain or compressed by gzip.

    Args:
        path: The file.
        agency: Agency of the positions, None for IBTrACS' own.
        extra: Further columns to read.

    Returns:
        The cells, with the line of every row, and rows that could not be read.

    Raises:
        ValueError: If the file is damaged or lacks columns.
    """
    lines = _rows(path)
    names = _header(path, lines)
    position = position_columns(agency, names)
    wanted = wanted_columns(names, position, extra, path.name)
    index = [names.index(name) for name in wanted]
    storm = names.index("SID")
    kept, line_numbers, problems, cells, line = [], [], [], names, 1
    for line, cells in lines:
        if line == 2 and _is_units_row(names, cells):
            continue
        if len(cells) == len(names):
            kept.append([cells[i].strip() for i in index])
            line_numbers.append(line)
            continue
        sid = cells[storm].strip() if storm < len(cells) else ""
        counted = f"{len(cells)} cells for {len(names)} columns"
        problems.append(ReadProblem(f"line {line}", sid, "wrong number of cells", counted, True))
    if len(cells) < len(names) and not _ends_in_line_end(path):
        raise ValueError(
            f"expected a complete file, got {path.name}, which ends within line {line}"
        )
    table = np.array(kept, dtype=object).reshape(len(kept), len(wanted))
    rows = np.array([f"line {number}" for number in line_numbers], dtype=object)
    return RawTable(dict(zip(wanted, table.T, strict=True)), rows, position, problems)
