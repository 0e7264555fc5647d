"""Fields over the Earth on maps and globes: where arrows start, and where they point."""

import matplotlib
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import plot
from geomndp.geometry.geodesy import east_and_north, to_latlon, to_unit
from geomndp.plot.land import rings

matplotlib.use("Agg")
pyplot = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def closed():
    yield
    pyplot.close("all")


def arrows(ax):
    return [part for part in ax.collections if type(part).__name__ == "Quiver"]


def random_field(n, p, s=3):
    random = np.random.default_rng(1)
    x = random.normal(size=(n, 3))
    return x / np.linalg.norm(x, axis=1, keepdims=True), random.normal(size=(s, n, p))


def test_map_shows_mean_components_at_longitudes_and_latitudes():
    x, y = random_field(9, 2)
    ax = plot.field_map(x, y, context=(x[:2], y[0, :2]), scale=3.0, title="wind")
    field, observed = arrows(ax)
    lat, lon = to_latlon(x)
    middle = slice(9, 18)  # between the turns to the west and to the east
    assert_allclose(field.XY[middle], np.stack([lon, lat], 1), atol=1e-9)
    assert_allclose(np.stack([field.U, field.V], 1)[middle], y.mean(axis=0))
    assert_allclose(observed.U[2:4], y[0, :2, 0])
    assert ax.get_title() == "wind"
    assert field.scale == pytest.approx(1 / 3.0)


def test_globe_shows_the_half_that_is_seen_and_turns_vectors():
    x, y = random_field(40, 2, s=1)
    ax = plot.globe(x, y[0], centre=(35.0, -120.0))
    (field,) = arrows(ax)
    middle = np.asarray(to_unit(35.0, -120.0))
    frame, seen = east_and_north(middle), x @ middle > 0
    assert_allclose(field.XY, x[seen] @ frame.T, atol=1e-12)
    # An arrow is the derivative of the projected point along its vector.
    vectors = np.einsum("na,nad->nd", y[0], east_and_north(x))[seen]
    moved = x[seen] + 1e-6 * vectors
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    expected = (moved - x[seen]) @ frame.T / 1e-6
    assert_allclose(np.stack([field.U, field.V], 1), expected, atol=1e-4)


@pytest.mark.parametrize("centre", [(0.0, 0.0), (90.0, 0.0), (-90.0, 45.0), (10.0, 180.0)])
def test_land_stays_on_the_disc(centre):
    ax = plot.globe(*random_field(5, 1, s=1), centre=centre)
    land = ax.collections[0].get_paths()
    assert 0 < len(land) < len(rings()) + 1
    corners = np.concatenate([path.vertices for path in land])
    assert np.isfinite(corners).all()
    assert np.linalg.norm(corners, axis=1).max() < 1 + 1e-9


def test_tables_are_drawn_as_arrays_are():
    lat, lon = np.array([-90.0, 0.0, 60.0]), np.array([0.0, 120.0, 240.0, 359.0])
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    dims = ("lat", "lon")
    coords = {"lat": ("lat", lat, {"units": "degrees_north"}), "lon": lon}
    grid = xr.Dataset({"u": (dims, values[0]), "v": (dims, values[1])}, coords)
    lats, lons = (part.reshape(-1) for part in np.meshgrid(lat, lon, indexing="ij"))
    x, y = np.asarray(to_unit(lats, lons)), values.reshape(2, -1).T
    table = pd.DataFrame({"lat": lats, "lon": lons, "u": y[:, 0], "v": y[:, 1]})
    expected = arrows(plot.globe(x, y))[0]
    for ax in (plot.globe(grid), plot.globe(table, context=table.iloc[:3])):
        found = arrows(ax)[0]
        order = [np.lexsort(np.round(part.XY, 9).T) for part in (expected, found)]
        assert_allclose(found.U[order[1]], expected.U[order[0]], atol=1e-9)
    scalars = plot.field_map(grid[["u"]]).collections[-1]
    assert_allclose(np.sort(scalars.get_array()[:12]), np.sort(y[:, 0]))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda x, y: plot.field_map(x, np.zeros((1, 9, 3))), "expected one output or two"),
        (lambda x, y: plot.field_map(x[:, :2], y), "expected inputs"),
        (lambda x, y: plot.field_map(2 * x, y), "expected unit vectors"),
        (lambda x, y: plot.globe(x, y, centre=(1.0,)), "expected a centre"),
        (lambda x, y: plot.globe(x, y, centre=(100.0, 0.0)), "expected latitudes from -90 to 90"),
        (lambda x, y: plot.globe(x, y, context=3), "expected observations"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(ValueError, match=message):
        make(*random_field(9, 2))
