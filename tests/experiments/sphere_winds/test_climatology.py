"""Mean winds of the season and land, on made-up winds whose answers are known."""

import numpy as np
from numpy.testing import assert_allclose

from geomndp.data.winds import WindFields
from geomndp.experiments.sphere_winds.climatology import monthly_climatology
from geomndp.experiments.sphere_winds.land import land_share
from geomndp.geometry.geodesy import to_unit

LAT, LON = np.arange(60.0, -61.0, -30.0), np.arange(0.0, 360.0, 45.0)


def winds(values, time):
    """Fields of the same value everywhere, north to south."""
    lats, lons = (part.reshape(-1) for part in np.meshgrid(LAT, LON, indexing="ij"))
    rows, area = np.repeat(np.arange(len(LAT)), len(LON)), np.cos(np.radians(lats))
    wind = np.broadcast_to(np.asarray(values)[:, None, None], (len(values), len(lats), 2))
    wind = wind + lats[None, :, None] / 10  # linear in latitude
    return WindFields(to_unit(lats, lons), wind, time, rows, area / area.sum())


def test_means_are_linear_between_the_middles_of_months():
    time = np.arange("1990-01", "1992-01", dtype="datetime64[M]").astype("datetime64[ns]")
    months, year = np.arange(24) % 12, np.repeat([-1.0, 1.0], 12)
    climatology = monthly_climatology(winds(months + year, time))
    assert_allclose(climatology.mean[:, 0, 0, 0], np.arange(12) - 6)
    assert_allclose(climatology.std, 1)
    x = np.asarray(to_unit(np.array([15.0, -75.0]), np.array([350.0, -10.0])))
    days = 365.25 / 12 * np.array([0.5, 0, 6.5])  # the middle of January, its first, of July
    dates = np.datetime64("2018-01-01", "ns") + (days * 86_400e9).astype("timedelta64[ns]")
    found = climatology.mean_at(x, dates)
    assert found.shape == (3, 2, 2)
    season = np.array([0.0, 5.5, 6.0])  # the turn of the year is half-way from 11 back to 0
    assert_allclose(found[:, 0, 1], season + 1.5, atol=1e-6)
    assert_allclose(found[:, 1, 0], season - 6, atol=1e-6)  # held beyond the last row


def test_shares_of_land():
    share = land_share()
    assert share.shape == (61, 120)
    area = np.cos(np.radians(np.arange(-90, 91, 3)))[:, None]
    assert abs(np.sum(share * area) / np.sum(area) / 120 - 0.29) < 0.01
    for lat, lon, land in ((24, 15, 1), (0, -150, 0), (-84, 0, 1), (66, 174, 1), (60, 120, 1)):
        assert share[(lat + 90) // 3, (lon + 180) // 3] == land
