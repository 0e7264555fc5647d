"""Locations on the Earth as inputs: tables and grids, longitudes of any convention, poles."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.geometry.geodesy import east_and_north, to_unit
from geomndp.tables import (
    Variable,
    Variables,
    name_variables,
    read_functions,
    read_inputs,
    read_rows,
)

NAMES = name_variables(("lat", "lon"), ("u", "v"), "real", {"u": "m s-1"}, domain="sphere")
POTENTIAL = gn.kernels.ZonalExponential(0.5)
HODGE = gn.kernels.SphereCurlFree(POTENTIAL) + gn.kernels.SphereDivergenceFree(POTENTIAL)


def frame(**columns):
    return pd.DataFrame(columns)


@pytest.fixture(scope="module")
def model():
    process = gn.gp.GP(HODGE, noise=0.01)
    return gn.ProcessModel(process, variables=NAMES)


STATIONS = frame(
    lat=[50.0, -20.0, 80.0], lon=[10.0, 170.0, -60.0], u=[1.0, 2.0, 0.5], v=[0, 1, -1.0]
)
LON = np.array([0.0, 90.0, 180.0, -120.0, 270.0, 360.0])  # six targets everywhere: one program


def test_inputs_are_unit_vectors_with_further_columns_behind():
    assert NAMES.input_dim == 3
    x = read_inputs(NAMES, STATIONS).x
    assert_allclose(x, to_unit(STATIONS.lat.to_numpy(), STATIONS.lon.to_numpy()))
    more = name_variables(("lat", "lon", "height"), ("u",), "real", domain="sphere")
    rows = read_rows(more, STATIONS.assign(height=[1.0, 2.0, 3.0]))
    assert more.input_dim == 4
    assert_allclose(rows.x[:, :3], x)
    assert_allclose(rows.x[:, 3], [1, 2, 3])


def test_every_convention_of_longitudes_is_one_location(model):
    posterior = model.condition(STATIONS)
    wrapped = model.condition(STATIONS.assign(lon=[370.0 - 360, 170.0 - 360, 300.0]))
    lon = np.array([-180.0, 180.0, 0.0, 360.0, -90.0, 270.0])
    places = frame(lat=np.full(6, 12.0), lon=lon)
    means = posterior.mean(places)[["u", "v"]].to_numpy()
    assert_allclose(means[::2], means[1::2], atol=1e-9)
    assert_allclose(wrapped.mean(places)[["u", "v"]], means, atol=1e-9)


def test_components_at_a_pole_describe_one_vector(model):
    posterior = model.condition(STATIONS)
    for lat in (90.0, -90.0):
        found = posterior.mean(frame(lat=np.full(6, lat), lon=LON))[["u", "v"]].to_numpy()
        frames = east_and_north(np.asarray(to_unit(np.full(6, 0.999999 * lat), LON)))
        vectors = np.einsum("na,nad->nd", found, frames)
        assert_allclose(vectors, np.broadcast_to(vectors[:1], vectors.shape), atol=1e-5)
        assert np.abs(found[0] - found[1]).max() > 1e-2
    # An observation there means the same whatever longitude it is written with.
    turned = [
        frame(lat=[90.0], lon=[a], u=[u], v=[v]) for a, u, v in ((0.0, 1.0, 0.0), (90.0, 0.0, -1.0))
    ]
    target = frame(lat=[70.0], lon=[33.0])
    means = [model.condition(table).mean(target)[["u", "v"]].to_numpy() for table in turned]
    assert_allclose(means[0], means[1], atol=1e-9)


def test_float32_poles_keep_their_longitude():
    for lat in (90.0, -90.0):
        x = to_unit(np.float32([lat, lat]), np.float32([0.0, 90.0]))
        frames = east_and_north(x)
        assert x.dtype == np.float32
        assert_allclose(frames[0, 0], [0, 1, 0], atol=1e-6)
        assert_allclose(frames[1, 0], [-1, 0, 0], atol=1e-6)


def test_grids_with_poles_in_and_out(model):
    lat, lon = np.array([90.0, -90.0]), np.array([0.0, 120.0, 240.0])
    grid = xr.Dataset(coords={"lat": ("lat", lat, {"units": "degrees_north"}), "lon": lon})
    samples = model.condition(STATIONS).sample(grid, key=0, num_samples=2)
    assert samples.u.dims == ("sample", "lat", "lon")
    assert samples.u.attrs["units"] == "m s-1"
    exact = model.condition(STATIONS).mean(grid)
    pole = exact.isel(lat=0)
    angle = np.angle(pole.u.values + 1j * pole.v.values, deg=True)
    assert_allclose(np.mod(angle + lon - angle[0] + 180, 360), 180.0, atol=1e-6)


def test_functions_are_read_with_the_latitude_first():
    random = np.random.default_rng(0)
    data = {
        name: (("time", "longitude", "latitude"), random.normal(size=(4, 5, 3))) for name in "uv"
    }
    coords = {
        "time": np.arange(4),
        "longitude": ("longitude", np.arange(0.0, 360.0, 72.0), {"units": "degrees_east"}),
        "latitude": ("latitude", [-60.0, 0.0, 60.0], {"units": "degrees_north"}),
    }
    dataset = xr.Dataset(data, coords)
    functions = read_functions(
        dataset, function="time", inputs=("longitude", "latitude"), domain="sphere"
    )
    assert functions.variables.input_names == ("latitude", "longitude")
    assert functions.variables.domain == "sphere"
    assert functions.x.shape == (4, 15, 3)
    one = dataset.isel(time=1, longitude=2, latitude=2)
    row = np.argmin(np.linalg.norm(functions.x[1] - to_unit(60.0, 144.0), axis=1))
    assert_allclose(functions.y[1, row], [one.u, one.v])
    table = dataset.to_dataframe().reset_index()
    again = read_functions(
        table,
        function="time",
        inputs=("latitude", "longitude"),
        outputs=("u", "v"),
        domain="sphere",
    )
    assert_allclose(np.sort(again.x[0], axis=0), np.sort(functions.x[0], axis=0), atol=1e-12)


def test_models_on_the_sphere_are_saved_with_their_inputs(model, tmp_path):
    model.save(tmp_path / "hodge")
    loaded = gn.load(tmp_path / "hodge")
    assert loaded.variables == NAMES
    assert loaded.process == model.process
    targets = frame(lat=np.full(6, 5.0), lon=LON)
    expected = model.condition(STATIONS).mean(targets)
    assert_allclose(loaded.condition(STATIONS).mean(targets)[["u", "v"]], expected[["u", "v"]])


RADIANS = frame(lat=[0.1, -1.2, 1.5], lon=[3.0, -2.0, 0.2], u=[1.0, 1, 1], v=[1.0, 1, 1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda m: m.condition(STATIONS.assign(lat=[91.0, 0, 0])), "'lat' between -90 and 90"),
        (lambda m: m.condition(STATIONS.assign(lon=[361.0, 0, 0])), "'lon' between -360 and 360"),
        (lambda m: m.condition(RADIANS), "look like radians"),
        (lambda m: m.condition(STATIONS.assign(lat=[np.nan, 0, 0])), "expected finite 'lat'"),
        (lambda m: m.condition(2 * np.eye(3), np.zeros((3, 2))), "expected unit vectors"),
        (lambda m: m.condition(np.eye(3)[:, :2], np.zeros((3, 2))), "expected .* 3"),
        (
            lambda m: Variables((Variable("a"),), (Variable("u"),), domain="sphere"),
            "first inputs in",
        ),
        (
            lambda m: name_variables("x", "u", "real", domain="torus"),
            "expected domain to be one of",
        ),
        (
            lambda m: name_variables(("lat", "lon"), "u", "real", {"lat": "m"}, domain="sphere"),
            "expected 'lat' in 'degrees_north', got 'm'",
        ),
        (
            lambda m: gn.ProcessModel(m.process, gn.data.Normaliser(x_shift=(1.0,)), NAMES),
            "expected a normaliser that leaves x on the sphere",
        ),
        (
            lambda m: read_functions(
                frame(a=[1.0], b=[2.0], u=[0.0], function=[0]), inputs=("a", "b"), domain="sphere"
            ),
            "expected a variable that is the latitude",
        ),
    ],
)
def test_refusals(model, make, message):
    with pytest.raises(ValueError, match=message):
        make(model)


def test_one_location_near_the_origin_is_no_radian():
    assert_allclose(read_inputs(NAMES, frame(lat=[0.0], lon=[0.0])).x, [[1, 0, 0]], atol=1e-15)
    with pytest.raises(ValueError, match="look like radians"):
        read_inputs(NAMES, RADIANS)


def test_arrays_for_a_kernel_on_the_sphere_are_unit_vectors_without_names_too():
    """The kernel's own check sees no numbers where the law is compiled."""
    model = gn.ProcessModel(gn.gp.GP(POTENTIAL, noise=0.01))
    for wrong in (np.ones((2, 3)), 2 * np.eye(3), np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])):
        with pytest.raises(ValueError, match="expected unit vectors as inputs on the sphere, got"):
            model.condition(wrong, np.ones(len(wrong)))
        with pytest.raises(ValueError, match="expected unit vectors as inputs on the sphere, got"):
            model.condition(np.eye(3), np.ones(3)).mean(wrong)
    assert model.condition(np.eye(3), np.ones(3)).mean(-np.eye(3)).shape == (3, 1)
