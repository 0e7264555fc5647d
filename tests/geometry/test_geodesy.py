"""Latitude, longitude and unit vectors."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.geometry.geodesy import to_latlon, to_unit


def test_there_and_back():
    lat, lon = np.array([90.0, -90.0, 12.5, -70.0, 0.0]), np.array([0.0, 0.0, -179.9, 359.0, 180.0])
    there = to_unit(lat, lon)
    assert_allclose(np.linalg.norm(there, axis=-1), 1)
    back = to_latlon(there)
    assert_allclose(back[0], lat, atol=1e-12)
    assert_allclose(back[1], [0, 0, -179.9, -1, -180], atol=1e-9)
    with pytest.raises(ValueError, match="latitudes from -90 to 90, got 95"):
        to_unit([10.0, 95.0], [0.0, 0.0])
