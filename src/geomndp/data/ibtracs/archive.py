"""Reading IBTrACS: fixes as a pandas DataFrame or an xarray Dataset, and a report."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from geomndp.data.ibtracs.clean import clean
from geomndp.data.ibtracs.layout import NUMBERS
from geomndp.data.ibtracs.locate import locate
from geomndp.data.ibtracs.netcdf import read_netcdf
from geomndp.data.ibtracs.report import ReadProblem, ReadReport
from geomndp.data.ibtracs.text import read_text

if TYPE_CHECKING:
    import pandas
    import xarray

PER_STORM = ("SEASON", "NUMBER", "NAME", "TRACK_TYPE", "SOURCE")


@dataclass(frozen=True)
class Archive:
    """Best tracks and what could not be read.

    Attributes:
        frame: One fix per row, sorted by storm and time.
        report: Rows and cells that could not be read.
    """

    frame: pandas.DataFrame
    report: ReadReport

    def __len__(self) -> int:
        """Number of storms."""
        return len(set(self.frame["SID"]))

    def dataset(self) -> xarray.Dataset:
        """Tracks as in NOAA's NetCDF files.

        Returns:
            Variables (storm, date_time), filled up to the longest storm.
        """
        return storms_dataset(self.frame)


def storms_dataset(frame: pandas.DataFrame) -> xarray.Dataset:
    """Fixes of a table as arrays (storm, date_time).

    Args:
        frame: One fix per row, as in `Archive.frame`.

    Returns:
        The arrays; NaN, NaT and "" are filling.
    """
    import pandas as pd
    import xarray as xr

    storm, sids = pd.factorize(frame["SID"])
    counts = np.bincount(storm, minlength=len(sids))
    point = frame.groupby("SID", sort=False).cumcount().to_numpy()
    shape, first = (len(sids), int(counts.max(initial=0))), point == 0
    variables: dict = {"numobs": ("storm", counts)}
    for name in frame.columns.drop("SID"):
        values = frame[name].to_numpy()
        if name in PER_STORM:
            kept = values[first]
            variables[name.lower()] = ("storm", kept if name in NUMBERS else kept.astype(str))
            continue
        if values.dtype.kind == "M":
            filled = np.full(shape, np.datetime64("NaT"), dtype=values.dtype)
        elif values.dtype.kind == "f":
            filled = np.full(shape, np.nan)
        else:
            filled, values = np.full(shape, "", dtype=object), values.astype(str)
        filled[storm, point] = values
        variables["time" if name == "ISO_TIME" else name.lower()] = (
            ("storm", "date_time"),
            filled if filled.dtype != object else filled.astype(str),
        )
    data = xr.Dataset(variables, coords={"sid": ("storm", np.asarray(sids, dtype=str))})
    data["lat"].attrs = {"units": "degrees_north"}
    data["lon"].attrs = {"units": "degrees_east"}
    return data


def _read_file(path: Path, agency: str | None, extra: tuple[str, ...]):
    if path.suffix in (".nc", ".nc4"):
        return clean(read_netcdf(path, agency=agency, extra=extra), path.name)
    if path.suffix == ".csv" or path.suffixes[-2:] == [".csv", ".gz"]:
        return clean(read_text(path, agency=agency, extra=extra), path.name)
    raise ValueError(f"expected a file ending in .csv, .csv.gz or .nc, got {path.name}")


def read(
    path: str | os.PathLike | None = None,
    *,
    agency: str | None = None,
    columns: tuple[str, ...] = (),
) -> Archive:
    """Read official or compact IBTrACS files.

    Where several files hold a storm the first one's stands.

    Args:
        path: A file or folder, by default $GEOMNDP_IBTRACS.
        agency: Agency of the positions (`"usa"`, `"tokyo"`, `"bom"`, ...), whose rows without a
            position are in the report; by default IBTrACS' own, merged from all agencies.
        columns: Further columns to read, as they stand.

    Returns:
        Fixes and a report.

    Raises:
        ValueError: If a file is damaged or lacks columns.
        FileNotFoundError: If there is no archive.

    Example:
        >>> archive = read("ibtracs.ALL.list.v04r01.csv")
        >>> print(archive.report)
    """
    import pandas as pd

    extra = tuple(name.upper() for name in columns)
    files = [_read_file(file, agency, extra) for file in locate(path)]
    frame, report = files[0]
    for more, further in files[1:]:
        twice = more["SID"].isin(frame["SID"]).to_numpy()
        again = [
            ReadProblem(
                f"row {i} of {further.sources[0]}", sid, "storm of an earlier file", "", True
            )
            for i, sid in zip(np.flatnonzero(twice), more["SID"][twice], strict=True)
        ]
        kept = further.kept - len(again)
        further = ReadReport(further.sources, further.rows, kept, (*further.problems, *again))
        frame, report = pd.concat([frame, more[~twice]], ignore_index=True), report + further
    return Archive(frame, report)
