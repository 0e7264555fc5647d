"""Winds on global grids, and training fields turned about the axis and mirrored."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp.data import ContextSampler, GlobeGenerator, read_winds
from geomndp.data.winds import weather_folder
from geomndp.geometry.geodesy import to_latlon

LAT, LON = np.array([90.0, 45.0, 0.0, -45.0, -90.0]), np.arange(0.0, 360.0, 60.0)
TIME = np.array(["2018-01-01", "2018-06-01", "2026-07-01"], "datetime64[ns]")


def dataset():
    random = np.random.default_rng(0)
    values = {name: (("time", "lat", "lon"), random.normal(size=(3, 5, 6))) for name in "uv"}
    return xr.Dataset(values, {"time": TIME, "lat": LAT, "lon": LON})


@pytest.fixture
def path(tmp_path):
    dataset().to_netcdf(tmp_path / "winds.nc")
    return tmp_path / "winds.nc"


def test_grid_points_without_poles(path):
    winds, source = read_winds(path), dataset()
    lat, lon = to_latlon(winds.x)
    assert_allclose(lat, np.repeat(LAT[1:4], 6), atol=1e-12)
    assert_allclose(lon % 360, np.tile(LON, 3), atol=1e-12)
    assert_allclose(winds.wind[1, :, 1], source.v.values[1, 1:4].reshape(-1))
    assert_allclose(winds.area.sum(), 1.0)
    assert_allclose(winds.area[6] / winds.area[0], 2**0.5)


def test_all_further_dimensions_count_fields(tmp_path, path):
    levels = dataset().expand_dims(level=[200, 500]).transpose("lat", "time", "lon", "level")
    levels.to_netcdf(tmp_path / "levels.nc")
    found, one = read_winds(tmp_path / "levels.nc"), read_winds(path)
    assert_allclose(found.wind, np.repeat(one.wind, 2, axis=0))
    assert found.time.tolist() == np.repeat(one.time, 2).tolist()
    levels.isel(time=0, drop=True).to_netcdf(tmp_path / "months.nc")
    months = read_winds(tmp_path / "months.nc")
    assert_allclose(months.wind, one.wind[[0, 0]])
    assert np.isnat(months.time).all()


def test_anomalies_from_the_zonal_mean_of_some_times(path):
    winds = read_winds(path)
    train = winds.between("2018-01-01", "2019-01-01")
    assert train.tolist() == [True, True, False]
    expected = dataset().u.isel(time=[0, 1]).mean(("time", "lon")).values[1:4]
    mean = winds.zonal_mean(train)[:, 0]
    assert_allclose(mean, np.repeat(expected, 6), rtol=1e-12)
    assert_allclose(winds.anomalies(train).wind[2, :, 0], winds.wind[2, :, 0] - mean)
    with pytest.raises(ValueError, match="expected times to average over"):
        winds.anomalies(0 > train)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.drop_vars("v"), r"got no \['v'\]"),
        (lambda data: data.isel(lat=0), "expected 'u' over"),
        (lambda data: data.where(data.u < 1), "got NaN or infinity"),
    ],
)
def test_refused_files(tmp_path, change, message):
    change(dataset()).to_netcdf(tmp_path / "odd.nc")
    with pytest.raises(ValueError, match=message):
        read_winds(tmp_path / "odd.nc")


def test_folder(tmp_path, monkeypatch):
    monkeypatch.delenv("GEOMNDP_DATA", raising=False)
    with pytest.raises(ValueError, match="expected a folder of weather fields or"):
        weather_folder()
    monkeypatch.setenv("GEOMNDP_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="expected a folder of weather fields"):
        weather_folder()
    (tmp_path / "weather").mkdir()
    assert weather_folder() == tmp_path / "weather" == weather_folder(tmp_path / "weather")


def test_generator_moves_fields_as_the_earth_allows(path):
    winds = read_winds(path)
    area = jnp.asarray(np.log(winds.area), jnp.float64)
    # Eastward components name the point, northward ones the sine of the latitude.
    y = np.stack([np.arange(18.0), winds.x[:, 2]], axis=1)[None]
    generator = GlobeGenerator(
        jnp.asarray(winds.x), jnp.asarray(y), area, 7, 16, ContextSampler(few=3)
    )
    batch = eqx.filter_jit(generator.draw)(jr.key(0))
    x, y = np.asarray(batch.x), np.asarray(batch.y)
    assert_allclose(np.linalg.norm(x, axis=-1), 1.0, rtol=1e-12)
    assert_allclose(y[:, :, 1], x[:, :, 2], atol=1e-12)  # both change sign in the mirror image
    source = y[:, :, 0].astype(int)
    assert all(len(set(row)) == 7 for row in source)
    mirrored = np.sign(x[:, :, 2]) * np.sign(np.round(winds.x[source][:, :, 2], 9))
    assert {*np.unique(np.round(mirrored))} == {-1.0, 0.0, 1.0}
    turned = (x[..., 0] + 1j * x[..., 1]) / (winds.x[source] @ [1, 1j, 0])
    assert_allclose(turned, np.broadcast_to(turned[:, :1], turned.shape), atol=1e-9)
    assert np.ptp(np.angle(turned[:, 0])) > 1.0
    assert batch.context.sum() > 0
    assert np.all(np.asarray(batch.context).sum(1) < 7)


def test_points_are_drawn_by_area():
    log_area = jnp.log(jnp.asarray([0.5, 0.3, 0.2]))
    x = jnp.eye(3)
    generator = GlobeGenerator(x, x[None, :, :1], log_area, 2, 4000, None, rotate=False)
    batch = eqx.filter_jit(generator.draw)(jr.key(1))
    first = np.bincount(np.argmax(np.abs(batch.x[:, 0]), axis=1), minlength=3) / 4000
    assert_allclose(first, [0.5, 0.3, 0.2], atol=4 * 0.5 / 4000**0.5)
    with pytest.raises(ValueError, match="expected points to be a whole number >= 4, got 3"):
        GlobeGenerator(x, x[None, :, :1], log_area, 4)


def test_fields_of_a_batch_at_common_points(getkey):
    """Between the fewest and the most points, the same for all fields, turned together."""
    random = np.random.default_rng(0)
    x = random.normal(size=(30, 3))
    x = jnp.asarray(x / np.linalg.norm(x, axis=1, keepdims=True), jnp.float32)
    y = jnp.broadcast_to(jnp.arange(5.0)[:, None, None], (5, 30, 1))
    options = {"contexts": ContextSampler(few=4), "min_points": 8, "common_points": True}
    generator = GlobeGenerator(x, y, jnp.zeros(30), 12, 6, **options)
    assert generator.batching.common_inputs and generator.batching.padded
    counts = set()
    for _ in range(20):
        batch = generator.draw(getkey())
        assert np.ptp(np.asarray(batch.x), axis=0).max() == 0
        assert np.ptp(np.asarray(batch.mask), axis=0).max() == 0
        assert not np.any(np.asarray(batch.context) > np.asarray(batch.mask))
        counts.add(int(batch.mask[0].sum()))
    assert min(counts) >= 8 and max(counts) <= 12 and len(counts) > 1
    with pytest.raises(ValueError, match="num_points"):
        GlobeGenerator(x, y, jnp.zeros(30), 12, 6, min_points=13)
