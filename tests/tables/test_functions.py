"""Functions of a DataFrame, whatever the order of its rows and the kind of its numbers."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_array_equal

from geomndp.tables import read_functions


def test_rows_of_functions_in_any_order():
    """Whole numbers, also nullable ones, follow their function like all others."""
    frame = pd.DataFrame(
        {
            "function": ["b", "a", "b", "a", "a"],
            "x": [10, 1, 20, 2, 3],
            "y": pd.array([11, 2, 21, 3, 4], dtype="Int64"),
        }
    )
    read = read_functions(frame, inputs="x", outputs="y")
    assert_array_equal(read.x[..., 0], [[1, 2, 3], [10, 20, 0]])
    assert_array_equal(read.y[..., 0], [[2, 3, 4], [11, 21, 0]])
    assert_array_equal(read.mask, [[True, True, True], [True, True, False]])
    assert read.y.dtype == np.float64


@pytest.mark.parametrize("dated", [False, True])
def test_values_without_a_location_are_left_out_with_a_warning(dated):
    x = pd.Series([0.0, np.nan, 2.0, np.nan])
    column = pd.Timestamp("2024-05-01") + pd.to_timedelta(x, unit="D") if dated else x
    frame = pd.DataFrame({"function": 0, "x": column, "y": [1.0, 2.0, 3.0, np.nan]})
    with pytest.warns(UserWarning, match="1 of 4 rows are left out: .* a value, but no 'x'"):
        read = read_functions(frame, inputs="x", outputs="y")
    assert_array_equal(read.y[read.rows][:, 0], [1.0, 3.0])
    read_functions(frame.drop(index=1), inputs="x", outputs="y")  # no location and no value


@pytest.mark.parametrize("name", ["x", "y"])
@pytest.mark.parametrize("dtype", [object, "string"])
def test_missing_values_among_texts_are_refused_in_words(name, dtype):
    frame = pd.DataFrame({"function": [0, 0, 1], "x": [0.0, 1.0, 0.0], "y": [1.0, 2.0, 3.0]})
    frame = frame.astype({name: dtype})
    frame.loc[1, name] = pd.NA
    with pytest.raises(ValueError, match=f"expected numbers in '{name}', got numbers as text"):
        read_functions(frame, inputs="x", outputs="y")


class NoLeapDay:
    """A date as cftime has it."""

    calendar = "noleap"


DATASETS = {
    "no numbers along a dimension": (
        lambda d: d.drop_vars("x"),
        r"coordinate 'x', got 'y'; give the dimension numbers: assign_coords\(x=...\)",
    ),
    "several dimensions": (lambda d: d.expand_dims("level"), r"make one \(xarray: stack, reset_"),
    "too few dimensions": (
        lambda d: d.isel(function=0, drop=True),
        "over the dimension 'function'",
    ),
    "a calendar": (
        lambda d: d.assign_coords(x=np.array([NoLeapDay()] * 3, object)),
        r"dates of the calendar 'noleap' \(xarray: convert_calendar\('standard'\)\)",
    ),
}


@pytest.mark.parametrize("case", DATASETS)
def test_datasets_that_are_no_functions_say_what_to_do(case):
    change, message = DATASETS[case]
    dataset = xr.Dataset({"y": (("function", "x"), np.ones((2, 3)))}, {"x": [0.0, 1.0, 2.0]})
    with pytest.raises(ValueError, match=message):
        read_functions(change(dataset), function="function", inputs="x", outputs="y")


def test_a_wide_frame_is_shown_how_it_becomes_long():
    wide = pd.DataFrame(np.ones((3, 5)), columns=range(5)).assign(day=range(3))
    with pytest.raises(ValueError, match=r"id_vars=\['day'\], var_name='hour', value_name='temp'"):
        read_functions(wide, function="day", inputs="hour", outputs="temp")
    with pytest.raises(ValueError, match=r"expected a column 'function', got none$"):
        read_functions(pd.DataFrame(), inputs="x", outputs="y")
