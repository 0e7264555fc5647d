"""Functions on a grid of latitudes and longitudes."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.geometry.geodesy import to_unit
from geomndp.kernels import Diagonal, GlobeTable, Modulated, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck

LAT, LON = np.arange(-90.0, 91.0, 30.0), np.arange(-180.0, 180.0, 60.0)
VALUES = np.cos(np.radians(LAT))[:, None] * np.sin(np.radians(LON)) + np.radians(LAT)[:, None]


def at(lat, lon):
    return GlobeTable(VALUES, 2)(jnp.asarray(to_unit(np.asarray(lat), np.asarray(lon))))


def test_values_of_the_grid_and_between():
    lat, lon = (part.reshape(-1) for part in np.meshgrid(LAT[1:-1], LON, indexing="ij"))
    assert_allclose(at(lat, lon), np.repeat(VALUES[1:-1].reshape(-1, 1), 2, axis=1), atol=1e-12)
    assert_allclose(at(lat, lon + 360), at(lat, lon), atol=1e-12)
    quarter = 0.75 * VALUES[2:4, 1] + 0.25 * VALUES[2:4, 2]
    expected = (quarter[0] + 2 * quarter[1]) / 3
    assert_allclose(at([-10.0], [-105.0]), [[expected, expected]], atol=1e-12)


def test_it_is_continuous_at_the_date_line_and_at_the_poles():
    lat = np.linspace(-80, 80, 7)
    assert_allclose(at(lat, np.full(7, 179.9999999)), at(lat, np.full(7, -180.0)), atol=1e-7)
    assert_allclose(at(np.full(6, 90.0), LON), np.pi / 2, atol=1e-12)
    assert_allclose(at(np.full(6, -89.9999999), LON), -np.pi / 2, atol=1e-7)


def test_one_row_is_refused():
    with pytest.raises(ValueError, match="expected at least two rows of a table"):
        GlobeTable(np.ones((1, 4)))


@pytest.mark.parametrize("x", [[[50.0, 10.0]], [[0.0, 0.0, 3.0]]])
def test_locations_that_are_no_unit_vectors_are_refused(x):
    with pytest.raises(ValueError, match="expected unit vectors"):
        GlobeTable(VALUES)(jnp.asarray(x))


def test_white_noise_of_one_factor_per_point_has_one_diffusion_time_per_point():
    """A network whose outputs are observed together takes noisy observations then."""
    x = jnp.asarray(to_unit(np.array([10.0, -40.0]), np.array([20.0, 150.0])))
    table = GlobeTable(2 + VALUES**2, 2)
    kernel = Modulated(Diagonal(White(), 2), table)
    noising = OrnsteinUhlenbeck(kernel, LinearSchedule(1e-4, 15.0))
    std = table(x)
    assert_allclose(kernel.gram(x).diagonal(), std**2, rtol=1e-12)
    times = noising.integrated_time_of_noise(x, jnp.asarray([0.5, 2.0]))
    assert_allclose(times, np.log1p(np.array([0.5, 2.0]) / np.asarray(std)[:, 0] ** 2), rtol=1e-12)
