"""From cells to fixes: times, positions and numbers, with a report of invalid cells."""

from __future__ import annotations

import numpy as np

from geomndp.data.ibtracs.layout import NUMBERS
from geomndp.data.ibtracs.report import ReadProblem, ReadReport
from geomndp.data.ibtracs.text import RawTable
from geomndp.geometry.geodesy import wrap_longitude


class _Ledger:
    """Rows still in use, and the problems found so far."""

    def __init__(self, raw: RawTable):
        self.rows, self.sids = raw.rows, raw.columns["SID"]
        self.problems = list(raw.problems)
        self.use = np.ones(len(raw.rows), dtype=bool)

    def drop(self, wrong: np.ndarray, reason: str, values) -> None:
        """Leave out rows, each for the first reason found."""
        wrong = wrong & self.use
        self._note(wrong, reason, values, True)
        self.use &= ~wrong

    def blank(self, wrong: np.ndarray, reason: str, values) -> None:
        """Keep rows, one cell of which is taken as blank."""
        self._note(wrong & self.use, reason, values, False)

    def _note(self, wrong, reason, values, dropped):
        for i in np.flatnonzero(wrong):
            problem = ReadProblem(self.rows[i], str(self.sids[i]), reason, str(values[i]), dropped)
            self.problems.append(problem)


def _numbers(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers (NaN for a blank) and where a cell is neither a number nor blank."""
    import pandas as pd

    if cells.dtype.kind in "fiu":
        return cells.astype(float), np.zeros(len(cells), dtype=bool)
    values = np.asarray(pd.to_numeric(cells.astype(object), errors="coerce"), dtype=float)
    return values, ~np.isfinite(values) & (cells != "")


def _times(cells: np.ndarray, ledger: _Ledger) -> np.ndarray:
    import pandas as pd

    ledger.drop(cells == "", "no time", cells)
    index = pd.to_datetime(cells.astype(object), errors="coerce", format="%Y-%m-%d %H:%M:%S")
    parsed = np.asarray(index, dtype="datetime64[s]")
    ledger.drop(np.isnat(parsed), "unreadable time", cells)
    return parsed


def _position(raw: RawTable, ledger: _Ledger) -> tuple[np.ndarray, np.ndarray]:
    degrees = []
    for name, label, low, high in zip(
        raw.position, ("latitude", "longitude"), (-90, -360), (90, 360), strict=True
    ):
        cells = raw.columns[name]
        values, unreadable = _numbers(cells)
        ledger.drop(unreadable, f"unreadable {label}", cells)
        ledger.drop(np.isnan(values), f"no {label}", cells)
        ledger.drop(~((values >= low) & (values <= high)), f"{label} out of range", cells)
        degrees.append(values)
    return degrees[0], np.asarray(wrap_longitude(degrees[1]))


def _drop_repeated(frame, ledger: _Ledger) -> None:
    """One fix per storm and time: the first stands, whether or not the others agree with it."""
    fixes = frame[ledger.use]
    repeated = fixes.duplicated(["SID", "ISO_TIME"], keep="first")
    if not repeated.any():
        return
    first = fixes.groupby(["SID", "ISO_TIME"])[["LAT", "LON"]].transform("first")
    same = (first == fixes[["LAT", "LON"]]).all(axis=1)
    positions = (frame["LAT"].astype(str) + " " + frame["LON"].astype(str)).to_numpy()
    for agrees, reason in ((True, "repeated fix"), (False, "second, different fix at one time")):
        wrong = np.zeros(len(frame), dtype=bool)
        wrong[fixes.index[repeated & (same == agrees)]] = True
        ledger.drop(wrong, reason, positions)


def clean(raw: RawTable, source: str):
    """Fixes as a DataFrame sorted by storm and time, in the file's order of storms, and a report.

    Longitudes are in [-180, 180), times datetime64[s], numbers float with NaN for a blank.

    Args:
        raw: Cells of a file.
        source: Its name.

    Returns:
        The DataFrame and the report.
    """
    import pandas as pd

    ledger = _Ledger(raw)
    ledger.drop(raw.columns["SID"] == "", "no storm", raw.rows)
    columns = dict(raw.columns)
    columns["ISO_TIME"] = _times(columns["ISO_TIME"], ledger)
    columns["LAT"], columns["LON"] = _position(raw, ledger)
    for name in NUMBERS & columns.keys():
        columns[name], unreadable = _numbers(raw.columns[name])
        ledger.blank(unreadable, f"unreadable {name}", raw.columns[name])
    frame = pd.DataFrame(columns)
    _drop_repeated(frame, ledger)
    frame = frame[ledger.use].reset_index(drop=True)
    storm = pd.factorize(frame["SID"])[0]
    order = np.lexsort((np.asarray(frame["ISO_TIME"]), storm))
    rows = len(raw.rows) + len(raw.problems)
    return frame.iloc[order].reset_index(drop=True), ReadReport(
        (source,), rows, len(frame), tuple(ledger.problems)
    )
