"""Wrong tables: each is refused before any computation, in one sentence that says what to do."""

import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from geomndp.tables import Variable, Variables, name_variables

KEY = jr.key(0)


def stated(frame, **units):
    frame = frame.copy()
    frame.attrs["units"] = units
    return frame


def filled(dataset, **attributes):
    values = dataset.temperature.copy()
    values[1] = -9999.0
    return dataset.assign(temperature=values.assign_attrs(attributes))


STATIONS = {
    "missing column": (
        lambda m, t: m.condition(t.drop(columns="temperature")),
        r"expected a column 'temperature', got 'time'$",
    ),
    "missing variable": (
        lambda m, t: m.condition(t[["temperature"]].to_xarray()),
        "expected a variable or coordinate 'time', got 'temperature', 'index'",
    ),
    "complex values": (
        lambda m, t: m.condition(t.assign(temperature=t.temperature + 1j)),
        "expected numbers in 'temperature', got complex",
    ),
    "infinite value": (
        lambda m, t: m.condition(t.assign(temperature=[1.0, np.nan, 2.0, 3.0, np.inf])),
        "expected finite 'temperature', got NaN or infinity in rows 4",
    ),
    "missing time": (
        lambda m, t: m.condition(t.assign(time=t.time.where(t.index != 3))),
        "'time', got NaN or infinity in rows 3",
    ),
    "noise of other rows": (
        lambda m, t: m.condition(t, noise=pd.Series(0.1, index=t.index[::-1])),
        "expected noise with the index of the table, got another; give noise.to_numpy()",
    ),
    "noise at other points": (
        lambda m, t: m.condition(
            (d := t.set_index("time").to_xarray()), noise=0.1 + 0 * d.temperature[::-1]
        ),
        "expected noise at the coordinates 'time' of the table, got others",
    ),
    "mask of other rows": (
        lambda m, t: m.condition(t, mask=pd.Series(1, index=t.index[::-1])),
        "expected mask with the index of the table, got another; give mask.to_numpy()",
    ),
    "mask of other targets": (
        lambda m, t: m.log_prob(t, mask=pd.Series(1, index=t.index[::-1])),
        "expected mask with the index of the table",
    ),
    "fill values": (
        lambda m, t: m.condition(filled(t.set_index("time").to_xarray(), _FillValue=-9999.0)),
        "for missing values in 'temperature' .*, got the fill value -9999.0 of its attribute _Fill",
    ),
    "packed values": (
        lambda m, t: m.condition(filled(t.set_index("time").to_xarray(), scale_factor=0.01)),
        "expected decoded values in 'temperature' .*, got scale_factor=0.01",
    ),
    "empty": (lambda m, t: m.condition(t.iloc[:0]), "got an empty one; model.sample needs no"),
    "mixed units": (
        lambda m, t: m.condition(stated(t, temperature="K")),
        "expected 'temperature' in 'degc', got 'kelvin'; convert it first",
    ),
    "length for time": (
        lambda m, t: m.condition(stated(t.assign(time=range(5)), time="km")),
        "expected 'time' in 'hours', got 'km'",
    ),
    "repeated column": (
        lambda m, t: m.condition(pd.concat([t, t[["temperature"]]], axis=1)),
        "expected one column 'temperature', got 2",
    ),
    "text": (
        lambda m, t: m.condition(t.assign(time=["early", "late", "2024", "", "later"])),
        "expected numbers in 'time', got text, 'early' in row 0$",
    ),
    "dates as text": (
        lambda m, t: m.condition(t.assign(time=t.time.dt.strftime("%d.%m.%Y %H:%M"))),
        r"numbers in 'time', got dates as text or objects \(pandas.to_datetime makes",
    ),
    "dates without times": (
        lambda m, t: m.condition(t.assign(time=t.time.dt.date)),
        "numbers in 'time', got dates as text or objects",
    ),
    "months": (
        lambda m, t: m.condition(t.assign(time=t.time.dt.to_period("M"))),
        "numbers in 'time', got dates as text or objects",
    ),
    "booleans": (
        lambda m, t: m.condition(t.assign(temperature=True)),
        "expected numbers or times in 'temperature', got true and false",
    ),
    "datetimes for values": (
        lambda m, t: m.condition(t.assign(temperature=t.time)),
        "expected numbers in 'temperature', got datetimes",
    ),
    "too many dimensions": (
        lambda m, t: m.condition(t.set_index("time").to_xarray().expand_dims(member=2)),
        r"dimensions \('time',\) of the inputs, got \('member', 'time'\)",
    ),
    "periods": (
        lambda m, t: m.condition(
            t.assign(temperature=pd.period_range("2024", periods=5)).set_index("time").to_xarray()
        ),
        "expected numbers or times in 'temperature', got period",
    ),
    "a column alone": (
        lambda m, t: m.condition(t.temperature),
        "expected a DataFrame, a Dataset or arrays, got a Series",
    ),
    "values without a name": (
        lambda m, t: m.condition(t.set_index("time").temperature.to_xarray().rename(None)),
        "expected a DataFrame, a Dataset or arrays, got a DataArray without a name",
    ),
    "numbers, then datetimes": (
        lambda m, t: m.condition(t.assign(time=range(5))).sample(t, key=KEY),
        "expected numbers for 'time' as in the observations, got datetimes",
    ),
    "negative noise": (
        lambda m, t: m.condition(t.assign(error=-1.0), noise="error"),
        "expected noise >= 0",
    ),
    "errors for noise": (
        lambda m, t: m.condition(stated(t.assign(error=1.0), error="K"), noise="error"),
        r"expected variances in 'error' \(\(degc\)2\), got units 'K'$",
    ),
    "unknown noise": (
        lambda m, t: m.condition(t, noise="error"),
        "expected a column 'error'",
    ),
    "two tables": (
        lambda m, t: m.condition(t[["time"]], t[["temperature"]]),
        "expected inputs and outputs in one table",
    ),
    "two tables of a density": (
        lambda m, t: m.log_prob(t[["time"]], t[["temperature"]]),
        "expected inputs and outputs in one table",
    ),
    "a sample dimension": (
        lambda m, t: m.sample(xr.Dataset(coords={"time": ("sample", [1.0])}), key=KEY),
        "expected locations without a dimension 'sample'",
    ),
    "no names": (
        lambda m, t: m.with_variables("x", "y").condition(t),
        "expected a column 'x', got 'time', 'temperature'",
    ),
    "times for a length": (
        lambda m, t: m.with_variables("time", "temperature").condition(t),
        "expected numbers for 'time'",
    ),
    "too many outputs": (
        lambda m, t: m.with_variables("time", ("a", "b")),
        "expected 1 outputs, got 2: 'a', 'b'",
    ),
    "units of nothing": (
        lambda m, t: m.with_variables("a", "b", units={"c": "m"}),
        r"units of inputs and outputs, got them for \['c'\]",
    ),
}
TRACKS = {
    "radians": (
        lambda m, t: m.condition(np.radians(t)),
        "which look like radians; state their units",
    ),
    "stated radians": (
        lambda m, t: m.condition(stated(t, lat="radians", lon="rad")),
        "expected 'lat' in 'degrees_north', got 'radians'",
    ),
    "beyond the pole": (
        lambda m, t: m.condition(t.assign(lat=[0.0, 91.5, 0.0, 0.0])),
        "between -90 and 90 degrees, got 91.5 in row 1",
    ),
    "wild longitude": (
        lambda m, t: m.condition(t * [1, 100]),
        "between -360 and 360 degrees",
    ),
    "swapped": (
        lambda m, t: m.condition(stated(t, lat="degrees_east", lon="degrees_north")),
        "expected 'lat' in 'degrees_north', got 'degrees_east'",
    ),
    "degrees as arrays": (
        lambda m, t: m.condition(np.arange(4.0)[:, None], t.to_numpy()),
        r"expected y of the context of shape \(4, 3\)",
    ),
    "errors in km": (
        lambda m, t: m.condition(stated(t.assign(error=20.0), error="km"), noise="error"),
        r"\(\(radians\)2\), got units 'km'; noise_from_km makes it from errors in km$",
    ),
    "one name for a location": (
        lambda m, t: m.with_variables("time", "location"),
        "latitude, longitude",
    ),
}


def refused(call, message, *arguments):
    with pytest.raises(ValueError, match=message) as error:
        call(*arguments)
    text = str(error.value)
    assert text.startswith("expected") and "\n" not in text and len(text) < 200


@pytest.mark.parametrize("case", STATIONS)
def test_wrong_readings(case, stations, readings):
    refused(*STATIONS[case], stations, readings)


@pytest.mark.parametrize("case", TRACKS)
def test_wrong_tracks(case, tracks, fixes):
    refused(*TRACKS[case], tracks, fixes)


def test_wrong_names(stations, readings):
    nameless = type(stations)(stations.noising, stations.score)
    refused(lambda: nameless.condition(readings), "model.with_variables")
    refused(lambda: name_variables("x", "x", "real"), "different names")
    refused(lambda: name_variables("x", "y", "torus"), "codomain")
    refused(lambda: name_variables("x", (1,), "real"), "names of outputs")
    locations = (Variable("lat", "degrees_north"), Variable("lon"))
    refused(lambda: Variables((Variable("t"),), locations, "sphere"), "degrees_east on the sphere")
    for name in ("", "sample"):
        refused(lambda name=name: Variable(name), "a name of its own")


def test_small_degrees_pass_if_they_are_said_to_be(tracks, fixes):
    near = stated(fixes / 200, lat="degrees_north", lon="degrees_east")
    assert tracks.condition(near).observations.y.shape == (4, 3)
