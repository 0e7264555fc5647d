"""Tables of many functions as padded arrays."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from geomndp.tables import read_functions


def test_functions_are_read_with_their_times_and_padding(days):
    read = read_functions(days, function="day")
    assert read.x.shape == (30, 12, 1) and read.y.shape == (30, 12, 1)
    assert_array_equal(read.mask.sum(axis=1), np.where(np.arange(30) % 2 == 0, 8, 12))
    about = read.variables
    assert about.inputs[0].units == "hours" and about.outputs[0].long_name == "air temperature"
    assert_allclose(read.x[:, 0], 0.0)
    gaps = (days.time[1] - days.time[1, 0]).values / np.timedelta64(3600, "s")
    assert_allclose(read.x[1, :, 0], gaps, atol=1e-9)
    assert_allclose(read.y[read.mask][:, 0], days.temperature.values[read.mask])


def test_a_frame_of_functions_is_the_same(days):
    frame = days.to_dataframe().reset_index().dropna()
    shuffled = frame.sample(frac=1, random_state=0).sort_values(["reading"])
    shuffled.attrs["units"] = {"temperature": "degC"}
    read = read_functions(shuffled, function="day", inputs="time", outputs="temperature")
    expected = read_functions(days, function="day")
    assert_array_equal(read.mask, expected.mask)
    assert_allclose(read.x, expected.x)
    assert_allclose(read.y, expected.y)


def test_absolute_times_keep_their_date(days):
    read = read_functions(days, function="day", elapsed=False)
    assert read.variables.inputs[0].units.startswith("hours since 2024-01-01 ")
    assert np.ptp(read.x[read.mask]) > 29 * 24 - 24
