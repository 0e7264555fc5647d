"""Winds on a global grid as tangent fields: anomalies from a zonal mean, without the pole rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geomndp._types import Bool, Float
from geomndp.geometry.geodesy import to_unit

VARIABLE = "GEOMNDP_DATA"
FOLDER = "weather"
COMPONENTS, GRID = ("u", "v"), ("lat", "lon")


class WindFields(NamedTuple):
    """Fields of (east, north) components at the points of a grid, latitude by latitude.

    Attributes:
        x: Unit vectors of the grid points without the poles, shape (n, 3).
        wind: Components in m/s, shape (t, n, 2).
        time: Times (UTC), shape (t,).
        rows: Number of the latitude of every point, shape (n,).
        area: Share of the sphere that belongs to every point, shape (n,).
    """

    x: Float[np.ndarray, "n 3"]
    wind: Float[np.ndarray, "t n 2"]
    time: np.ndarray
    rows: np.ndarray
    area: Float[np.ndarray, " n"]

    def between(self, first: str, last: str) -> Bool[np.ndarray, " t"]:
        """Which times lie in a period.

        Args:
            first: Its beginning, as ISO 8601 writes it.
            last: Its end, which does not belong to it.
        """
        return (self.time >= np.datetime64(first)) & (self.time < np.datetime64(last))

    def zonal_mean(self, times: Bool[np.ndarray, " t"]) -> Float[np.ndarray, "n 2"]:
        """Mean over some times and all longitudes, at every point.

        Args:
            times: Which times, shape (t,).

        Raises:
            ValueError: If there is none.
        """
        if not np.any(times):
            raise ValueError("expected times to average over, got none")
        mean = self.wind[times].mean(axis=0)
        count = np.bincount(self.rows).astype(float)[:, None]
        total = np.stack([np.bincount(self.rows, part) for part in mean.T], axis=1)
        return (total / count)[self.rows]

    def anomalies(self, times: Bool[np.ndarray, " t"]) -> "WindFields":
        """Differences from the zonal mean over some times, of all times.

        Args:
            times: Over which the mean is taken, shape (t,).
        """
        return self._replace(wind=self.wind - self.zonal_mean(times)[None])


def weather_folder(folder: str | os.PathLike | None = None) -> Path:
    """Folder of the weather fields.

    Args:
        folder: The folder; by default `weather` in $GEOMNDP_DATA.

    Raises:
        ValueError: If neither is given.
        FileNotFoundError: If there is no such folder.
    """
    if folder is None:
        root = os.environ.get(VARIABLE)
        if not root:
            raise ValueError(f"expected a folder of weather fields or ${VARIABLE}, got neither")
        folder = Path(root) / FOLDER
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"expected a folder of weather fields, got {folder}")
    return Path(folder)


def read_winds(path: str | os.PathLike) -> WindFields:
    """Read the wind components `u` and `v` over latitude, longitude and what counts fields.

    Args:
        path: A netCDF file, its latitudes and longitudes in degrees under `lat` and `lon`.

    Returns:
        The fields without the rows at the poles, in double precision. All further dimensions,
        such as time and level, count fields; times are those of the coordinate `time`, not a
        time (NaT) where there is none.

    Raises:
        ValueError: If variables or dimensions are missing, or a value is.
    """
    import xarray as xr

    with xr.open_dataset(path) as dataset:
        return _fields(dataset.load(), Path(path).name)


def _fields(dataset: Any, name: str) -> WindFields:
    if absent := [part for part in (*COMPONENTS, *GRID) if part not in dataset.variables]:
        raise ValueError(f"expected {', '.join((*COMPONENTS, *GRID))} in {name}, got no {absent}")
    if odd := [part for part in COMPONENTS if not {*GRID} <= {*dataset[part].dims}]:
        raise ValueError(f"expected {odd[0]!r} over {GRID} in {name}, got {dataset[odd[0]].dims}")
    counting = tuple(dim for dim in dataset["u"].dims if dim not in GRID)
    arrays = [dataset[part].transpose(*counting, *GRID).values for part in COMPONENTS]
    shape = (-1, *arrays[0].shape[len(counting) :])
    wind = np.stack([part.astype(float).reshape(shape) for part in arrays], axis=-1)
    if not np.isfinite(wind).all():
        raise ValueError(f"expected winds without gaps in {name}, got NaN or infinity")
    time = np.full(len(wind), np.datetime64("NaT", "ns"))
    if "time" in counting:
        sizes = {dim: dataset.sizes[dim] for dim in counting}
        time = dataset["time"].variable.set_dims(sizes).transpose(*counting).values.reshape(-1)
    lat, lon = dataset["lat"].values.astype(float), dataset["lon"].values.astype(float)
    keep = np.abs(lat) < 90  # a pole's row is one vector, written once per longitude
    lats, lons = (part.reshape(-1) for part in np.meshgrid(lat[keep], lon, indexing="ij"))
    rows = np.repeat(np.arange(int(keep.sum())), len(lon))
    weight = np.cos(np.radians(lats))
    x = np.asarray(to_unit(lats, lons))
    return WindFields(x, wind[:, keep].reshape(len(wind), -1, 2), time, rows, weight / weight.sum())
