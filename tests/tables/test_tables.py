"""Tables in and out: they mean what the arrays mean, and keep what they say of themselves."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import ProcessModel, load
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential
from geomndp.samplers import Amortised
from geomndp.tables import Variable, Variables, noise_from_km, read_inputs
from geomndp.tables.xarray_adapter import as_frame

from .conftest import HOURS, SCALE, SHIFT, arrays

KEY = jr.key(1)
FEW = {"key": KEY, "num_samples": 2, "sampler": Amortised(4)}


def test_a_frame_means_its_arrays(stations, readings):
    x, y = arrays(readings)
    expected = stations.condition(x, y).sample(x + 1.0, **FEW)
    later = readings.assign(time=readings.time + pd.Timedelta("1h"))
    found = stations.condition(readings).sample(later, **FEW)
    assert list(found) == ["sample", "time", "temperature"]
    assert found.attrs["units"] == {"temperature": "degC"}
    assert_allclose(found.temperature, expected.reshape(-1))
    assert_array_equal(found["sample"], np.repeat([0, 1], 5))
    assert_array_equal(found.time[5:], later.time)


@pytest.mark.parametrize("index", [[4, 2, 0], list("abc"), [0, 0, 1]], ids=str)
def test_means_keep_the_index_of_their_rows(gp, index):
    """Assigned as a column of the table, a mean belongs to the row whose location it has."""
    posterior = ProcessModel(gp).with_variables("time", "temperature").condition([0.0], [1.0])
    table = pd.DataFrame({"time": [2.0, 0.0, 1.0]}, index=index)
    means, rows = posterior.mean(table), posterior.mean(table.reset_index(drop=True))
    assert_array_equal(means.index, table.index)
    assert_array_equal(means.temperature, rows.temperature)
    assert_array_equal(posterior.quantile(0.9, table).index, table.index)
    indexed = table.set_index("time").assign(other=0.0)
    indexed["found"] = posterior.mean(indexed).temperature  # not of time 1 in the row of time 2
    assert_array_equal(indexed.found, rows.temperature)
    assert list(posterior.mean(indexed)) == ["temperature"]  # a name is a column or a level


def test_a_dataset_means_its_arrays_and_keeps_its_attributes(stations, readings, grid, tmp_path):
    x, y = arrays(readings)
    posterior = stations.condition(readings.set_index("time").to_xarray())
    expected = stations.condition(x, y).sample(jnp.asarray([[-6.0], [-2.0], [2.0], [6.0]]), **FEW)
    found = posterior.sample(grid, **FEW)
    assert found.temperature.dims == ("sample", "time")
    assert found.temperature.attrs == {"units": "degC"}
    assert found.time.attrs == grid.time.attrs and found.height.attrs == {"units": "m"}
    assert found.attrs == {"title": "mast", "Conventions": "CF-1.11"}
    assert found["sample"].attrs["standard_name"] == "realization"
    xr.testing.assert_equal(found.time, grid.time)
    assert_allclose(found.temperature.values[..., None], expected)
    assert_allclose(posterior.sample(grid.time, **FEW).temperature, found.temperature)
    path = tmp_path / "found.nc"
    found.to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path, engine="h5netcdf") as again:
        xr.testing.assert_identical(again.load(), found)


def test_a_grid_of_two_dimensions(stations):
    """Inputs on different dimensions span a grid, in the order of the inputs."""
    model = dataclasses.replace(stations, normaliser=None, variables=None)
    model = model.with_variables(("north", "east"), "depth")
    grid = xr.Dataset(coords={"east": [0.0, 1.0], "north": ("row", [0.0, 0.5, 1.0])})
    found = model.sample(grid, **FEW)
    assert found.depth.dims == ("sample", "row", "east")
    x = [[n, e] for n in (0.0, 0.5, 1.0) for e in (0.0, 1.0)]
    expected = model.sample(jnp.asarray(x), **FEW)
    assert_allclose(found.depth.values.reshape(2, 6, 1), expected)
    assert_array_equal(found.north, [0.0, 0.5, 1.0])
    one = found.isel(sample=0).transpose("east", "row")
    flat = model.condition(jnp.asarray(x), expected[0]).observations
    assert_allclose(model.condition(one).observations.y, flat.y)


def test_log_densities_are_in_the_units_of_the_table(stations, readings):
    """Those of the process whose lengths are hours and whose values are degrees."""
    x, y = arrays(readings)
    kernel = SquaredExponential(1.5 * HOURS, SCALE**2)
    gp = GP(kernel, mean=lambda x: jnp.full((len(x), 1), SHIFT), noise=0.01 * SCALE**2)
    assert_allclose(stations.log_prob(readings), gp.log_prob(x, y), atol=0.03)
    first, rest = readings.iloc[:2], readings.iloc[2:]
    truth = gp.condition(x[:2], y[:2]).log_prob(x[2:], y[2:])
    assert_allclose(stations.condition(first).log_prob(rest), truth, atol=0.03)
    # Without observations times count from the table's own first.
    assert_allclose(read_inputs(stations.variables, rest).x, x[2:] - x[2:3])


@pytest.mark.parametrize("units", ["hours", "h", "minutes", "days", "", "timedelta"])
def test_times_in_any_unit(stations, readings, units):
    x, y = arrays(readings)
    hours = {"hours": 1, "h": 1, "": 1, "minutes": 60, "days": 1 / 24}
    if units == "timedelta":
        time = (readings.time - readings.time[0]).to_numpy()
        table = xr.Dataset({"temperature": ("time", y[:, 0])}, {"time": time})
    else:
        table = pd.DataFrame({"time": x[:, 0] * hours[units], "temperature": y[:, 0]})
        table.attrs["units"] = {"time": units}
    read = stations.condition(table).observations
    assert_allclose(read.x, stations.condition(x, y).observations.x, atol=1e-12)


def test_absolute_times_count_from_their_date(stations, readings):
    model = stations.with_variables("time", "temperature", units={"time": "hours since 2024-03-01"})
    read = model.condition(readings).observations
    assert_allclose(read.x[:, 0] * HOURS, [6.0, 9.0, 12.0, 15.0, 18.0])
    zoned = readings.assign(time=readings.time.dt.tz_localize("Europe/Madrid"))
    assert_allclose(model.condition(zoned).observations.x[:, 0] * HOURS, [5.0, 8.0, 11, 14, 17])


def test_tracks_in_degrees(tracks, fixes):
    noise = noise_from_km(20.0)
    posterior = tracks.condition(fixes, noise=noise)
    seen = posterior.observations
    assert_allclose(seen.noise, 9.855e-6, rtol=1e-3)
    assert_allclose(seen.x[:, 0], [0.0, 0.25, 0.5, 0.75])
    assert_allclose(jnp.linalg.norm(seen.y, axis=1), 1.0)
    found = posterior.sample(fixes.to_xarray(), **FEW)
    assert found.lat.dims == ("sample", "time") and not set(found.coords) & {"lat", "lon"}
    assert found.lat.attrs == {"units": "degrees_north", "standard_name": "latitude"}
    assert found.lon.attrs == {"units": "degrees_east", "standard_name": "longitude"}
    assert np.all(np.abs(found.lat) <= 90) and np.all(found.lon < 180)
    y = tracks.condition(seen.x, seen.y, noise=noise).sample(seen.x, **FEW)
    assert_allclose(np.sin(np.radians(found.lat)), y[..., 2], atol=1e-12)


def test_noise_of_every_row(stations, readings):
    x, y = arrays(readings)
    variances = np.linspace(0.1, 1.0, 5)
    named = stations.condition(readings.assign(error=variances), noise="error")
    plain = stations.condition(x, y, variances)
    assert_allclose(named.observations.noise, plain.observations.noise)


def test_names_and_units_travel_with_the_model(learnt, readings, tmp_path):
    learnt.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert eqx.tree_equal(again, learnt) and again.variables == learnt.variables
    first, second = (m.condition(readings).observations for m in (learnt, again))
    assert eqx.tree_equal(first, second)


def test_round_trip_of_units_and_places_is_the_identity(stations, tracks):
    y = jnp.linspace(-20.0, 40.0, 7)[:, None]
    units = stations.normaliser
    assert_allclose(units.inverse_y(units.forward_y(y)), y, rtol=1e-14)
    assert_allclose(units.inverse_x(units.forward_x(y)), y, rtol=1e-14)
    locations = np.array([[10.0, -180.0], [-89.0, 179.5], [0.0, 0.0], [55.5, -7.25]])
    names = tracks.variables
    assert_allclose(names.from_values(names.to_values(locations)), locations, atol=1e-12)
    real = Variables((Variable("x"),), (Variable("y"),))
    assert real.from_values(real.to_values(locations)) is locations


def test_rows_may_stand_twice(stations, readings):
    """A repeated row is one more observation, as it is in arrays."""
    twice = pd.concat([readings, readings.iloc[[2]]])
    assert stations.condition(twice).observations.y.shape == (6, 1)


def test_a_tidy_frame_has_coordinates_first_and_all_units():
    levels = xr.DataArray([[1.0, 2.0]], dims=("sample", "row"), attrs={"units": "K"})
    depth = xr.DataArray([5.0, 6.0], dims="row", attrs={"units": "m"})
    dataset = xr.Dataset({"level": levels}).assign_coords(depth=depth, mooring=("row", ["a", "b"]))
    frame = as_frame(dataset.assign_coords(sample=[0]))
    assert list(frame) == ["sample", "depth", "mooring", "level"]
    assert frame.attrs == {"units": {"depth": "m", "level": "K"}}
