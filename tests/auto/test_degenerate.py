"""Values that a law with a density cannot describe are said."""

import warnings

import numpy as np
import pandas as pd
import pytest

from geomndp.auto.degenerate import warn_of_values
from geomndp.tables import read_functions

FUNCTIONS, POINTS = 12, 8


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    day, hour = np.divmod(np.arange(FUNCTIONS * POINTS), POINTS)
    values = rng.normal(size=(2, len(day)))
    return pd.DataFrame({"day": day, "hour": hour, "wind": values[0], "rain": values[1]})


def check(table):
    warn_of_values(read_functions(table, function="day", inputs="hour", outputs=["wind", "rain"]))


def test_ordinary_values_pass(table):
    table.loc[::3, "rain"] = np.nan
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(table)
        check(table.round(1))


def test_one_value_that_many_are(table):
    dry = table.assign(rain=table.rain.clip(lower=0.3))
    with pytest.warns(UserWarning, match="of the values of 'rain' are 0.3: to a law with a dens"):
        check(dry)


def test_inputs_at_which_all_functions_agree(table):
    start = table.assign(wind=table.wind.where(table.hour != 2, 7.0))
    message = r"at 1 of 8 inputs all functions have the same 'wind', first at \(2\) the value 7"
    with pytest.warns(UserWarning, match=message):
        check(start)
    table.loc[5, "rain"] = np.nan  # functions of different lengths and gaps
    with pytest.warns(UserWarning, match=message):
        check(start.drop(index=[0, 1]))


def test_rows_that_were_written_twice(table):
    table.loc[::5, "rain"] = np.nan
    with pytest.warns(UserWarning, match="96 of 192 rows repeat another row of their function"):
        check(pd.concat([table, table]))
    again = table.assign(wind=table.wind + 1)  # another measurement at the same inputs
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check(pd.concat([table, again]))
