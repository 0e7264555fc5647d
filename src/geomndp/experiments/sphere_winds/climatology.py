r"""Mean winds of the season, from monthly means of other years, and how much they vary.

The mean of a wind at the location x on the date d is

$\bar w(x, d) = z(x) + \kappa \, [c(x, d) - \langle c \rangle_z(x)],$

with z the zonal mean of the training times, c the climatology of the FNOC monthly winds (1982 to
1992) between the middles of months, $\langle c \rangle_z$ its zonal mean over the training times
and one factor $\kappa$, of least squares over the training times.
"""

from __future__ import annotations

import os
from typing import NamedTuple

import numpy as np
from scipy.interpolate import RegularGridInterpolator

from geomndp._types import Float
from geomndp.data.winds import WindFields, read_winds, weather_folder
from geomndp.experiments.sphere_fields.winds import FILE, TRAINING
from geomndp.geometry.geodesy import to_latlon

MONTHLY_FILE = "fnoc_wind_monthly_2p5deg.nc"
SMALLEST_STD = 0.05
"""m/s: monthly means over land are constant here and there."""


class Climatology(NamedTuple):
    """Monthly winds of many years.

    Attributes:
        lat: Latitudes of a grid in degrees, rising, shape (r,).
        lon: Its longitudes in degrees, rising over one turn, shape (c,).
        mean: Mean of every month, (east, north) in m/s, shape (12, r, c, 2).
        std: Root mean square of what single months differ from it, shape (r, c).
    """

    lat: Float[np.ndarray, " r"]
    lon: Float[np.ndarray, " c"]
    mean: Float[np.ndarray, "12 r c 2"]
    std: Float[np.ndarray, "r c"]

    def mean_at(self, x: Float[np.ndarray, "n 3"], time: np.ndarray) -> Float[np.ndarray, "t n 2"]:
        """Means at unit vectors and times, linear between the middles of months.

        Args:
            x: Unit vectors, shape (n, 3).
            time: Times, shape (t,).
        """
        months = np.stack([self._on_grid(month, x) for month in self.mean])
        days = (time - time.astype("datetime64[Y]")) / np.timedelta64(1, "D")
        position = days / 365.25 * 12 - 0.5
        first = np.floor(position).astype(int)
        share = (position - first)[:, None, None]
        return (1 - share) * months[first % 12] + share * months[(first + 1) % 12]

    def std_at(self, x: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " n"]:
        """Standard deviations at unit vectors (n, 3)."""
        return self._on_grid(self.std, x)

    def _on_grid(self, values: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Values between those of the grid, closed around the Earth; at the poles the last ones."""
        lat, lon = to_latlon(x)
        turned = (np.asarray(lon) - self.lon[0]) % 360 + self.lon[0]
        closed = np.concatenate([values, values[:, :1]], axis=1)
        between = RegularGridInterpolator((self.lat, [*self.lon, self.lon[0] + 360]), closed)
        return between(np.stack([np.clip(lat, self.lat[0], self.lat[-1]), turned], axis=1))


def read_climatology(folder: str | os.PathLike | None = None) -> Climatology:
    """Climatology of the monthly winds.

    Args:
        folder: Folder of the weather fields; by default `weather` in $GEOMNDP_DATA.
    """
    return monthly_climatology(read_winds(weather_folder(folder) / MONTHLY_FILE))


def monthly_climatology(winds: WindFields) -> Climatology:
    """Means of the months, and the smoothed standard deviation about them.

    Args:
        winds: Monthly means of years, on a grid.
    """
    lat, lon = map(np.asarray, to_latlon(winds.x))
    rows = int(winds.rows.max()) + 1
    lat, lon = lat.reshape(rows, -1)[:, 0], lon.reshape(rows, -1)[0] % 360
    fields = winds.wind.reshape(len(winds.wind), rows, -1, 2)
    order = np.argsort(lat)
    lat, fields = lat[order], fields[:, order][:, :, np.argsort(lon)]
    month = winds.time.astype("datetime64[M]").astype(int) % 12
    mean = np.stack([fields[month == m].mean(axis=0) for m in range(12)])
    std = np.sqrt(np.mean((fields - mean[month]) ** 2, axis=(0, 3)))
    return Climatology(lat, np.sort(lon), mean, _smooth(np.maximum(std, SMALLEST_STD)))


def _smooth(values: np.ndarray) -> np.ndarray:
    """Two passes of weights (1, 2, 1) / 4 along both directions."""
    for _ in range(2):
        values = (np.roll(values, 1, 1) + 2 * values + np.roll(values, -1, 1)) / 4
        padded = np.pad(values, ((1, 1), (0, 0)), "edge")
        values = (padded[:-2] + 2 * values + padded[2:]) / 4
    return values


def seasonal_anomalies(
    folder: str | os.PathLike | None = None, climatology: Climatology | None = None
) -> WindFields:
    """All GFS fields as anomalies from the mean of the season.

    Args:
        folder: Folder of the weather fields; by default `weather` in $GEOMNDP_DATA.
        climatology: That of the monthly winds; by default it is read.
    """
    winds = read_winds(weather_folder(folder) / FILE)
    climatology = read_climatology(folder) if climatology is None else climatology
    training = winds.between(*TRAINING)
    zonal = winds.anomalies(training)
    season = winds._replace(wind=climatology.mean_at(winds.x, winds.time)).anomalies(training)
    mean, y = season.wind[training], zonal.wind[training]
    weight = winds.area[None, :, None]
    factor = np.sum(weight * mean * y) / np.sum(weight * mean**2)
    return zonal._replace(wind=zonal.wind - factor * season.wind)
