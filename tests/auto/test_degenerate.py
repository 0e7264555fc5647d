"""Values that a law with a density cannot describe are said."""

import warnings

import numpy as np
import pandas as pd
import pytest

from geomndp.auto.degenerate import warn_of_own_dates, warn_of_values
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


def test_an_output_that_is_a_property_of_its_function_is_said(table):
    with pytest.warns(UserWarning, match="'rain' is the same at all points of every function: giv"):
        check(table.assign(rain=np.sin(table.day)))


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


@pytest.mark.parametrize("days_apart, symmetry", [(0, "none"), (1, "translation"), (0.1, "none")])
def test_dates_that_functions_share_or_that_do_not_matter_pass(table, days_apart, symmetry):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_own_dates(dated(table, days_apart), symmetry)


def test_dates_of_their_own_are_said(table):
    with pytest.warns(UserWarning, match=r"every function has dates 'hour' of its own \(0% of"):
        warn_of_own_dates(dated(table, 1.0), "none")


def dated(table, days_apart):
    hours = pd.to_timedelta(table.hour + 24 * days_apart * table.day, unit="h")
    table = table.assign(hour=pd.Timestamp("2024-01-01") + hours)
    return read_functions(table, function="day", inputs="hour", outputs="wind", elapsed=False)
