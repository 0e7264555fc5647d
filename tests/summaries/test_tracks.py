"""Summaries of tracks: exact laws of displacements, errors against repetitions, the date line."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import evaluate, summaries
from geomndp.geometry import Sphere
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, east_and_north, to_latlon, to_unit

SHAPE = (40, 3)


def around(lat, lon, deviations, shape=SHAPE, seed=0):
    """Draws exp_m(v) with independent normal components of v: their Frechet mean is m."""
    centre = to_unit(np.asarray(lat), np.asarray(lon))
    c = np.asarray(deviations) * np.random.default_rng(seed).normal(size=(*shape, 2))
    v, length = c @ east_and_north(centre), np.linalg.norm(c, axis=-1, keepdims=True)
    y = np.cos(length) * centre + np.sinc(length / np.pi) * v
    return y, np.broadcast_to(centre, (shape[1], 3))


def distance(y, z):
    return np.arccos(np.clip(np.sum(y * z, axis=-1), -1, 1)) * EARTH_RADIUS_KM


def table(y, names=("lat", "lon")):
    time = np.datetime64("2024-09-01", "ns") + np.arange(y.shape[1]) * np.timedelta64(6, "h")
    data = {}
    for name, part, units in zip(names, to_latlon(np.asarray(y)), ("north", "east"), strict=True):
        data[name] = (("sample", "time"), part, {"units": f"degrees_{units}"})
    return xr.Dataset(data, {"time": time, "sample": np.arange(len(y))})


def test_mean_and_spread_across_the_date_line():
    y, centre = around(20.0, 179.9, (0.05, 0.05))
    samples = table(y)
    mean, error = summaries.track_mean(samples)
    away = distance(to_unit(mean.lat.values, mean.lon.values), centre)
    assert np.all(away < 4 * error.error.values)
    assert mean.lat.attrs["units"] == "degrees_north" and error.error.attrs["units"] == "km"
    # The error of a component is 0.05 / sqrt(40).
    assert_allclose(error.error, 0.05 / np.sqrt(20) * EARTH_RADIUS_KM, rtol=0.4)
    spread, error = (part.spread.values for part in summaries.track_spread(samples))
    assert np.all(np.abs(spread - np.sqrt(2) * 0.05 * EARTH_RADIUS_KM) < 4 * error)
    array, km = summaries.track_mean(y)
    assert_allclose(array, to_unit(mean.lat.values, mean.lon.values), atol=1e-9)
    frame = summaries.track_mean(samples.to_dataframe().reset_index())
    assert_allclose(frame.value.lon, mean.lon)
    assert_allclose(frame.error.error, km)


def test_errors_are_those_of_repetition():
    """Far apart on the sphere and not round, where curvature counts."""
    y, centre = around(0.0, 0.0, (0.8, 0.3), (40, 2000))
    mean, error = summaries.track_mean(y)
    away = distance(mean, centre)
    assert_allclose(np.sqrt(np.mean(error**2)), np.sqrt(np.mean(away**2)), rtol=0.1)
    y, _ = around(0.0, 0.0, (0.3, 0.1), (40, 2000))
    spread, error = summaries.track_spread(y)
    assert_allclose(np.sqrt(np.mean(error**2)), np.std(spread), rtol=0.1)


def test_error_of_the_mean_is_that_of_its_formula():
    """Two samples at the mean and two on either side of it, a radian away, both ways.

    The Hessian of half the squared distance is 1 for a sample at the mean and along the way to
    one, and a cot(a) across it.
    """
    east, north, centre = np.array([0.0, 1.0, 0.0]), np.array([0.0, 0.0, 1.0]), np.eye(3)[0]
    ends = [np.cos(1.0) * centre + np.sin(1.0) * v for v in (east, -east, north, -north)]
    mean, km = summaries.track_mean(np.stack([centre, centre, *ends])[:, None])
    assert_allclose(mean, centre[None], atol=1e-9)
    hessian = (2 + 2 + 2 / np.tan(1.0)) / 6
    expected = np.sqrt(2 * (2 / 5) / hessian**2 / 6)
    assert_allclose(km, expected * EARTH_RADIUS_KM, rtol=1e-6)


def test_closest_approach():
    """Tracks that run east along parallels pass a place on their meridian at a known distance."""
    lon = np.arange(-3.0, 4.0)
    lat = np.array([1.0, 2.0, -4.0, 0.5])
    y = to_unit(*np.broadcast_arrays(lat[:, None], lon[None]))
    samples = table(y)
    found = summaries.closest_approach(samples, 0.0, 1.0)
    assert_allclose(found.distance, np.radians(np.abs(lat)) * EARTH_RADIUS_KM)
    assert np.all(found.time == samples.time.values[4])
    mean = summaries.mean(found.time)
    assert mean.value == samples.time.values[4] and mean.error == np.timedelta64(0, "ns")
    same = summaries.closest_approach(y, 0.0, 1.0, time=np.arange(7.0))
    assert_allclose(same.distance, found.distance)
    assert_allclose(same.time, 4.0)
    frame = samples.to_dataframe().reset_index()
    assert_allclose(summaries.closest_approach(frame, 0.0, 1.0).distance, found.distance)
    frame.attrs["inputs"] = ["time"]
    shuffled = summaries.closest_approach(frame.sort_values("lon"), 0.0, 1.0)
    assert_allclose(shuffled.distance, found.distance)
    assert np.all(shuffled.time == found.time)
    near = summaries.distance_to(samples, 0.0, 1.0)
    hit = summaries.probability(near, lambda km: (km < 150).any("time"))
    assert hit.value == 0.5 and near.attrs["units"] == "km"


def test_geodesic_scores():
    y, centre = around(60.0, -179.9, (0.05, 0.1))
    truth = table(centre[None]).isel(sample=0, drop=True)
    found = summaries.track_energy_score(table(y), truth)
    score = jax.jit(lambda y, z: evaluate.energy_score(Sphere(2), y, z))
    expected = score(jnp.asarray(y), jnp.asarray(centre)) * EARTH_RADIUS_KM
    assert_allclose(found.value.energy_score, expected, rtol=1e-6)
    assert np.all(found.error.energy_score > 0)
    assert_allclose(summaries.track_energy_score(y, centre).value, expected, rtol=1e-6)
    away = distance(summaries.track_mean(y).value, centre)
    assert_allclose(summaries.track_mean_error(y, centre).value, away, rtol=1e-4)


def test_describe():
    y, _ = around(10.0, 180.0, (0.05, 0.05))
    samples = table(y, ("latitude", "longitude"))
    found = summaries.describe(samples)
    assert list(found.data_vars) == ["latitude", "longitude", "error", "spread", "spread_error"]
    frame = summaries.describe(samples.to_dataframe().reset_index())
    assert list(frame) == ["time", *found.data_vars]
    assert_allclose(frame.spread, found.spread)


def test_a_wind_beside_the_places_is_a_number():
    y, centre = around(10.0, 180.0, (0.05, 0.05))
    wind = np.random.default_rng(1).normal(30, 5, SHAPE)
    samples = table(y).assign(wind=(("sample", "time"), wind, {"units": "m s-1"}))
    expected = wind.mean(axis=0)
    for form in (samples, samples.to_dataframe().reset_index()):
        found = summaries.mean(form).value
        assert "lon" not in found
        assert_allclose(found.wind, expected)
        described = summaries.describe(form)
        assert_allclose(described.wind_mean, expected)
        assert_allclose(described.spread, summaries.track_spread(y).value)
    truth = table(centre[None]).isel(sample=0, drop=True).assign(wind=("time", expected))
    pairs = ((samples, truth), (form, truth.to_dataframe().reset_index()))
    for form, there in pairs:
        assert_allclose(summaries.crps(form, there).value.wind, summaries.crps(wind, expected)[0])
        score = summaries.track_mean_error(form, there).value.mean_error
        assert_allclose(score, summaries.track_mean_error(y, centre).value)


@pytest.mark.parametrize("name, about", [("x", {"units": "degrees_east"}), ("lon", {})])
def test_longitudes_alone_have_no_mean(name, about):
    samples = xr.Dataset({name: ("sample", [179.0, -179.0, 178.0], about)})
    frame = samples.to_dataframe().reset_index()
    frame.attrs["units"] = {name: about.get("units", "")}
    truth = np.asarray(180.0)
    for form in (samples, samples[name], frame):
        for summary in (summaries.mean, summaries.quantiles, lambda s: summaries.crps(s, truth)):
            with pytest.raises(ValueError, match=r"got longitudes in .* track_mean"):
                summary(form)


def test_latitude_and_longitude_over_dimensions_in_other_orders():
    samples = table(around(10.0, 180.0, (0.05, 0.05))[0])
    grid = xr.concat([samples, samples + 1.0], "run").transpose("sample", "run", "time")
    grid = grid.assign({name: grid[name].assign_attrs(samples[name].attrs) for name in grid})
    mixed = grid.assign(lon=grid.lon.transpose("time", "run", "sample"))
    assert_allclose(summaries.track_mean(mixed).value.lon, summaries.track_mean(grid).value.lon)
    truth = grid.isel(sample=0, drop=True)
    errors = (summaries.track_mean_error(form, truth).value.mean_error for form in (mixed, grid))
    assert_allclose(*errors)
    with pytest.raises(ValueError, match="expected 'lon' over the dimensions"):
        summaries.track_mean(grid.assign(lon=grid.lon.isel(run=0, drop=True)))


def test_wrong_places():
    y, centre = around(10.0, 0.0, (0.05, 0.05))
    with pytest.raises(ValueError, match="expected a latitude from -90 to 90, got 91"):
        summaries.distance_to(y, 91.0, 0.0)
    with pytest.raises(ValueError, match="expected a track of 3 points"):
        summaries.track_energy_score(y, centre[:2])
    for score in (summaries.track_energy_score, summaries.track_mean_error):
        with pytest.raises(ValueError, match="truth on Sphere"):
            score(y, 2.0 * centre)
    with pytest.raises(ValueError, match=r"expected time of shape \(3,\)"):
        summaries.closest_approach(y, 0.0, 0.0, time=np.arange(2.0))
