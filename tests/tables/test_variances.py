"""Units of a column of variances: the squares of an output's, written in any way."""

import numpy as np
import pytest
import xarray as xr

from geomndp.tables import noise_from_km
from geomndp.tables.known_noise import warn_about_size
from geomndp.tables.units import check_deviation, check_variance, powers


@pytest.mark.parametrize(
    ("have", "outputs"),
    [
        ("", ["m"]),
        ("m2", ["metres"]),
        ("m^2", ["m"]),
        ("m2 s-2", ["m/s"]),
        ("m2/s2", ["m s-1"]),
        ("(m s-1)2", ["m s-1", "m s-1"]),
        ("(m/s)**2", ["m s-1"]),
        ("K2", ["kelvin"]),
        ("degC2", ["Celsius"]),
        ("1", ["1"]),
        ("W2 m-4", ["W m-2"]),
        ("km2", ["", ""]),
    ],
)
def test_squares_pass(have, outputs):
    check_variance("error", have, outputs, sphere=False)


@pytest.mark.parametrize(
    ("have", "outputs"),
    [
        ("m", ["m"]),
        ("km2", ["m"]),
        ("m s-1", ["m s-1"]),
        ("K", [""]),
        ("MPa2", ["mPa"]),
        ("K2", ["kelvin", "mm"]),
    ],
)
def test_others_do_not(have, outputs):
    with pytest.raises(ValueError, match="expected variances in 'error'"):
        check_variance("error", have, outputs, sphere=False)


def test_deviations_are_in_the_units_of_all_outputs():
    check_deviation("error", "K", ["degC", "", "kelvin"], sphere=False)
    with pytest.raises(ValueError, match="in 'error' in kelvin and mm, got units 'K'"):
        check_deviation("error", "K", ["kelvin", "mm"], sphere=False)


def test_on_the_sphere_they_are_square_radians():
    for have in ("rad2", "radian2", "radians^2"):
        check_variance("error", have, ["degrees_north", "degrees_east"], sphere=True)
    for have in ("km", "km2", "degrees2"):
        with pytest.raises(ValueError, match="noise_from_km"):
            check_variance("error", have, ["degrees_north", "degrees_east"], sphere=True)
    noise = noise_from_km(xr.DataArray([20.0], dims="time", attrs={"units": "km"}))
    assert powers(noise.attrs["units"]) == {"radians": 2}


def sensors(spread, noise, size=400):
    """Values of one output with so much noise about clean ones, in rows of ten."""
    rng = np.random.default_rng(0)
    variances = np.broadcast_to(np.asarray(noise, float), (size,)).reshape(-1, 10, 1)
    y = rng.normal(5.0, np.sqrt(spread + variances))
    return y, variances


@pytest.mark.parametrize(
    ("spread", "noise", "stated"),
    [
        (1.0, 0.5, 1.0),  # as it is
        (0.0, 2.0, 1.0),  # of values that are nothing but noise
        (0.05, np.tile([0.01, 1.0], 200), 1.0),  # two types of sensors
        (1.0, 0.5, np.where(np.arange(400) % 10 == 0, 1e6, 1.0)),  # values that do not count
    ],
)
def test_known_noise_that_the_values_may_have(spread, noise, stated):
    y, variances = sensors(spread, noise)
    warn_about_size(["y"], y, np.reshape(variances.ravel() * stated, y.shape))


@pytest.mark.parametrize(("spread", "noise", "stated"), [(0.2, 0.04, 0.5), (1.0, 0.5, 4.0)])
def test_known_noise_larger_than_the_values_vary(spread, noise, stated):
    """A standard deviation for a variance, and other units."""
    y, variances = sensors(spread, noise)
    with pytest.warns(UserWarning, match=r"known noise of 'y' is larger than its values allow: "):
        warn_about_size(["y"], y, np.full_like(variances, stated))
