"""Errors of a file with units become variances that a model takes."""

from contextlib import nullcontext

import pytest
import xarray as xr

from geomndp.cli.predict import _with_noise
from geomndp.tables import name_variables, read_rows


@pytest.mark.parametrize(("codomain", "units"), [("sphere", "km"), ("real", "degrees_north")])
def test_errors_with_units(codomain, units):
    variables = name_variables("time", ("lat", "lon"), codomain)
    data = {name: ("time", [10.0, 20.0]) for name in ("lat", "lon")}
    data["error"] = ("time", [1.0, 2.0], {"units": units})
    table = xr.Dataset(data, {"time": ("time", [0.0, 1.0], {"units": "days"})})
    table, name = _with_noise(table, "error", variables)
    assert table.time.attrs == {"units": "days"}
    noise = read_rows(variables, table, name).noise
    assert noise[1] == 4 * noise[0] > 0


@pytest.mark.parametrize(
    ("codomain", "outputs", "units", "refused"),
    [
        ("sphere", ("lat", "lon"), "m", "expected standard deviations in 'error' in km, got units"),
        ("real", "temp", "m", "in 'error' in degC, got units 'm'"),
        ("real", "temp", "K", ""),
        ("real", "temp", "degC", ""),
        ("real", "temp", "", ""),
    ],
)
def test_errors_in_other_units_are_refused(codomain, outputs, units, refused):
    stated = {"temp": "degC"} if codomain == "real" else {}
    variables = name_variables("time", outputs, codomain, units=stated)
    data = {name: ("time", [10.0, 20.0]) for name in variables.output_names}
    data["error"] = ("time", [1.0, 2.0], {"units": units})
    table = xr.Dataset(data, {"time": ("time", [0.0, 1.0])})
    with pytest.raises(ValueError, match=refused) if refused else nullcontext():
        _with_noise(table, "error", variables)
