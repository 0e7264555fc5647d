"""Units of a column of variances: the squares of an output's, written in any way."""

import pytest
import xarray as xr

from geomndp.tables import noise_from_km
from geomndp.tables.units import check_variance, powers


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
    [("m", ["m"]), ("km2", ["m"]), ("m s-1", ["m s-1"]), ("K", [""]), ("MPa2", ["mPa"])],
)
def test_others_do_not(have, outputs):
    with pytest.raises(ValueError, match="expected variances in 'error'"):
        check_variance("error", have, outputs, sphere=False)


def test_on_the_sphere_they_are_square_radians():
    for have in ("rad2", "radian2", "radians^2"):
        check_variance("error", have, ["degrees_north", "degrees_east"], sphere=True)
    for have in ("km", "km2", "degrees2"):
        with pytest.raises(ValueError, match="noise_from_km"):
            check_variance("error", have, ["degrees_north", "degrees_east"], sphere=True)
    noise = noise_from_km(xr.DataArray([20.0], dims="time", attrs={"units": "km"}))
    assert powers(noise.attrs["units"]) == {"radians": 2}
