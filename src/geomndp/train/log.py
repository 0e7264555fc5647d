"""What a run saw, as arrays and as a CSV file that survives being killed."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from geomndp import _files

COLUMNS = ("step", "loss", "gradient_norm", "seconds")


class History(NamedTuple):
    """Means over stretches of steps that end at `steps`, and seconds of training until then."""

    steps: np.ndarray
    loss: np.ndarray
    gradient_norm: np.ndarray
    seconds: np.ndarray


class Log:
    """Rows of a run, kept in memory and, with a path, appended to a file at once."""

    def __init__(self, path: Path | None, *, upto: int = 0, write: bool = True):
        """Take over the rows up to a step from an earlier part of the run, drop later ones."""
        self._rows = [] if path is None else [row for row in _read(path) if row[0] <= upto]
        self._file = None
        if path is not None and write:
            with _files.whole(path) as part, part.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows([COLUMNS, *self._rows])
            self._file = path.open("a", newline="", encoding="utf-8")

    @property
    def seconds(self) -> float:
        """Seconds of training so far, earlier parts of the run included."""
        return self._rows[-1][3] if self._rows else 0.0

    def append(self, step: int, loss: float, gradient_norm: float, seconds: float) -> None:
        """Add a row."""
        row = (step, loss, gradient_norm, seconds)
        self._rows.append(row)
        if self._file is not None:
            csv.writer(self._file).writerow(row)
            self._file.flush()

    def history(self) -> History:
        """All rows as arrays."""
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(COLUMNS)
        steps, *rest = (np.asarray(column) for column in columns)
        return History(steps.astype(int), *(column.astype(float) for column in rest))

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()


def _read(path: Path) -> list[tuple[int, float, float, float]]:
    """Rows of a file; a last line cut short by a kill is no row."""
    if not path.exists():
        return []
    rows = []
    text = path.read_text(encoding="utf-8")
    for line in csv.reader(text[: text.rfind("\n") + 1].splitlines()[1:]):
        step, *values = line
        rows.append((int(step), *map(float, values)))
    return rows
