"""The tracks a model learns from: the paper's selection, on a 3-hourly grid."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from geomndp import _validation
from geomndp.data.ibtracs.archive import read
from geomndp.data.ibtracs.resample import resample
from geomndp.geometry.geodesy import to_latlon

if TYPE_CHECKING:
    import pandas
    import xarray

HOURS_A_DAY = 24.0


@dataclass(frozen=True)
class Tracks:
    """Tracks of equal length, one row per storm.

    Attributes:
        x: Days since the first fix, shape (s, n, 1).
        y: Positions as unit vectors, shape (s, n, 3).
        sid: Identifiers of the storms.
        season: Their years.
        basin: Basins of the first fixes.
        start: Times of the first fixes.
        native: Numbers of points that are fixes and not interpolated.
        left_out: Numbers of storms that were not selected, by reason.
    """

    x: np.ndarray
    y: np.ndarray
    sid: np.ndarray
    season: np.ndarray
    basin: np.ndarray
    start: np.ndarray
    native: np.ndarray
    left_out: dict[str, int]

    def __len__(self) -> int:
        return len(self.sid)

    def take(self, index) -> Tracks:
        """A subset of the storms.

        Args:
            index: Indices or a mask.

        Returns:
            Their tracks.
        """
        names = ("x", "y", "sid", "season", "basin", "start", "native")
        return replace(self, **{name: getattr(self, name)[index] for name in names})

    def spread(self, num: int) -> Tracks:
        """Storms spread evenly over these, which are in order of time.

        Args:
            num: How many; all, if there are fewer.

        Returns:
            Their tracks.
        """
        _validation.at_least(1, num=num)
        return self.take(np.linspace(0, len(self) - 1, min(num, len(self))).round().astype(int))

    def dataset(self) -> xarray.Dataset:
        """Tracks as an xarray Dataset.

        Returns:
            Latitudes and longitudes in degrees, and times, (storm, point).
        """
        import xarray as xr

        lat, lon = to_latlon(self.y)
        steps = np.round(self.x[..., 0] * 86400).astype("timedelta64[s]")
        per_storm = {
            name: ("storm", getattr(self, name)) for name in ("sid", "season", "basin", "start")
        }
        return xr.Dataset(
            {
                "lat": (("storm", "point"), lat, {"units": "degrees_north"}),
                "lon": (("storm", "point"), lon, {"units": "degrees_east"}),
                "time": (("storm", "point"), self.start[:, None] + steps),
            },
            coords=per_storm,
        )

    def frame(self) -> pandas.DataFrame:
        """Tracks as a pandas DataFrame.

        Returns:
            One point per row.
        """
        data = self.dataset().to_dataframe().reset_index()
        return data.filter(["sid", "season", "basin", "point", "time", "lat", "lon"])


def select(
    frame: pandas.DataFrame,
    *,
    points: int = 50,
    hours: float = 3.0,
    track_types: tuple[str, ...] = ("main",),
    max_gap_hours: float = 24.0,
    dtype=np.float64,
) -> Tracks:
    """Select tracks as the paper does: main ones, on a 3-hourly grid from the first fix, cut to 50.

    A storm is long enough if its last fix is `(points - 1) * hours` after the first one or later;
    storms reported every 6 hours are interpolated, as IBTrACS itself does, and fixes off the grid
    serve the interpolation.

    Args:
        frame: Fixes, as in `Archive.frame`.
        points: Points of a track.
        hours: Hours between them.
        track_types: Types of tracks to select.
        max_gap_hours: Longest time without a fix; storms with a longer one are left out.
        dtype: Floating-point type of the tracks.

    Returns:
        The tracks, and how many storms were left out.

    Raises:
        ValueError: If the rows of a storm are not together.
    """
    _validation.at_least(2, points=points)
    _validation.positive(hours=hours, max_gap_hours=max_gap_hours)
    grid = hours * np.arange(points)
    left_out = {"other track types": 0, "too short": 0, "too long a gap": 0}
    kept, curves = [], []
    for _, storm in _storms(frame):
        if storm["TRACK_TYPE"][0] not in track_types:
            left_out["other track types"] += 1
            continue
        time = (storm["ISO_TIME"] - storm["ISO_TIME"][0]) / np.timedelta64(1, "h")
        if time[-1] < grid[-1]:
            left_out["too short"] += 1
            continue
        inside = slice(np.searchsorted(time, grid[-1]) + 1)
        if np.diff(time[inside]).max() > max_gap_hours:
            left_out["too long a gap"] += 1
            continue
        curves.append(resample(time, storm["LAT"], storm["LON"], grid))
        heads = [storm[name][0] for name in ("SID", "SEASON", "BASIN", "ISO_TIME")]
        kept.append((*heads, int(np.isin(grid, time).sum())))
    return _tracks(kept, curves, grid / HOURS_A_DAY, left_out, dtype)


def _storms(frame):
    """(SID, columns) of every storm, in the order of the table."""
    names = ("SID", "SEASON", "BASIN", "ISO_TIME", "LAT", "LON", "TRACK_TYPE")
    columns = {name: frame[name].to_numpy() for name in names}
    sid = columns["SID"]
    starts = np.flatnonzero(np.r_[True, sid[1:] != sid[:-1]]) if len(sid) else np.array([], int)
    if len(set(sid[starts])) != len(starts):
        raise ValueError("expected the rows of each storm together, got a table in another order")
    for low, high in zip(starts, np.r_[starts[1:], len(sid)], strict=True):
        yield sid[low], {name: values[low:high] for name, values in columns.items()}


def _tracks(kept, curves, days, left_out, dtype) -> Tracks:
    sid, season, basin, start, native = zip(*kept, strict=True) if kept else [()] * 5
    shape = (len(kept), len(days))
    return Tracks(
        np.broadcast_to(days[None, :, None], (*shape, 1)).astype(dtype),
        np.array(curves, dtype=dtype).reshape(*shape, 3),
        np.array(sid, dtype=str),
        np.nan_to_num(np.array(season, dtype=float), nan=-1).astype(int),
        np.array(basin, dtype=str),
        np.array(start, dtype="datetime64[s]"),
        np.array(native, dtype=int),
        left_out,
    )


def cyclones(path: str | os.PathLike | None = None, **options) -> Tracks:
    """Read an archive and select tracks as the paper does.

    Args:
        path: A file or folder, by default $GEOMNDP_IBTRACS.
        **options: Those of `select`: `points`, `hours`, ...

    Returns:
        The tracks.

    Example:
        >>> tracks = cyclones()
        >>> tracks.y.shape  # storms, points, unit vectors
        (5403, 50, 3)
    """
    return select(read(path).frame, **options)
