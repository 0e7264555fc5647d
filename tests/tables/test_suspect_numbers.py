"""Numbers that stand for a missing value or for a date are said, ordinary ones are not."""

import warnings

import numpy as np
import pandas as pd
import pytest

from geomndp.evaluate.table_tasks import read_function_rows
from geomndp.tables import Variable, Variables, read_functions
from geomndp.tables.suspect_numbers import warn_of_markers, warn_of_written_dates

TEMPERATURES = np.linspace(-12.0, 35.0, 40).round(1)
FLOWS = np.linspace(0.0, 5e4, 40)
PRESSURES = np.linspace(983.0, 1042.0, 40).round(1)
MARKED = {
    "nines": ([*TEMPERATURES, -999.0, -999.0], "2 of 42 values of 'y' are -999, far from all"),
    "with a point": ([*TEMPERATURES, -99.9], "1 of 41 values of 'y' are -99.9"),
    "above": ([*TEMPERATURES, 999.9], r"na_values=\[999.9\]"),
    "two of them": ([*TEMPERATURES, -999.0, -9999.0], "2 of 42 values of 'y' are -9999, -999"),
    "wide": ([*FLOWS, -999.0], r"others \(0 to 50000\)"),
    "an integer's limit": ([*PRESSURES, -32768.0], "are -32768"),
    "a fill value": ([*FLOWS, 9.969209968386869e36], r"are 9.969209968e\+36"),
    "zeros": ([*PRESSURES, 0.0, 0.0], "2 of 42 values of 'y' are 0, far from all others"),
}
ORDINARY = {
    "temperatures": TEMPERATURES,
    "flows": [*FLOWS, 99999.0],
    "one zero": [*PRESSURES, 0.0],
    "counts": [0.0] * 30 + list(range(10)),
    "shares": [*np.linspace(0.0, 99.0, 40), 99.9],
    "two states": [0.0] * 20 + [1.0] * 20,
    "an outlier": [*TEMPERATURES, -300.0],
    "nothing": [np.nan],
}


@pytest.mark.parametrize("values, message", MARKED.values(), ids=MARKED)
def test_markers_of_missing_values_are_said(values, message):
    with pytest.warns(UserWarning, match=message):
        warn_of_markers("y", np.asarray(values))


@pytest.mark.parametrize("values", ORDINARY.values(), ids=ORDINARY)
def test_ordinary_values_pass(values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_markers("y", np.asarray(values))


def test_dates_that_are_whole_numbers_are_said():
    with pytest.warns(UserWarning, match="'x' holds whole numbers such as 20240201.*2024-02-01"):
        warn_of_written_dates("x", np.asarray([[20240131.0, 20240201.0], [20240131.0, np.nan]]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for other in ([20240131.0], [20240131.0, 20240199.0], [2024.0, 2025.0]):
            warn_of_written_dates("x", np.asarray(other))


def test_tables_to_learn_from_and_to_evaluate_on_are_looked_at():
    x = np.tile(np.arange(20.0), 2)
    table = pd.DataFrame({"id": np.repeat(["a", "b"], 20), "x": x, "y": np.sin(x)})
    table.loc[7, "y"] = -999.0
    with pytest.warns(UserWarning, match="1 of 40 values of 'y' are -999"):
        read_functions(table, function="id", inputs="x", outputs="y")
    variables = Variables((Variable("x"),), (Variable("y"),))
    with pytest.warns(UserWarning, match="1 of 40 values of 'y' are -999"):
        read_function_rows(table, variables, "id")
    table.loc[3, "id"] = None
    with pytest.raises(ValueError, match="'id' to name the function of every row, got none in row"):
        read_function_rows(table, variables, "id")


def test_functions_are_called_by_their_labels():
    table = pd.DataFrame({"id": ["c", "a", "a", "d"], "x": [0.0, 0, 1, 0], "y": [np.nan, 1, 2, 3]})
    table.loc[3, "x"] = np.nan
    with (
        pytest.warns(UserWarning, match="1 of 4 rows are left out"),
        pytest.raises(ValueError, match="got none in function 'c', 'd': leave out functions"),
    ):
        read_functions(table, function="id", inputs="x", outputs="y")


TEXTS = {
    ".": r"got text, '\.' in row 1; leave it empty where a value is missing",
    "1,000": "got text, '1,000' in row 1; are decimals or thousands meant",
    "06:30": "got text, '06:30' in row 1; write hours as numbers, 6.5 for 06:30",
    "30/8/2024": "got text, .30/8/2024. in row 1$",
    "n.d.": r"leave it empty where a value is missing \(pandas: na_values=\['n.d.'\]\)",
    "12 %": r"write the number alone, its unit in the header: y \[%\]",
    "1.234,50 €": r"write the number alone, its unit in the header: y \[%\]",
    "−1.5": "write a minus as '-'",
    "<0.1": "a limit is no value: leave it empty",
    "2024-W05": "write a day of the week",
    "2.0": "got numbers as text or objects .*pandas.to_numeric",
}


@pytest.mark.parametrize("cell", TEXTS)
def test_a_text_among_numbers_is_shown(cell):
    table = pd.DataFrame({"id": ["a", "a", "a"], "x": [0.0, 1.0, 2.0], "y": ["1.0", cell, "2"]})
    with pytest.raises(ValueError, match=TEXTS[cell]):
        read_functions(table, function="id", inputs="x", outputs="y")


def test_a_row_of_units_and_points_that_may_be_thousands_are_told_apart():
    table = pd.DataFrame({"id": ["a", "a"], "x": ["km", "1.5"], "y": ["1.234", "15.234"]})
    with pytest.raises(ValueError, match=r"'km' in row 0 alone; write a unit in the header, as"):
        read_functions(table, function="id", inputs="x", outputs="y")
    with pytest.raises(ValueError, match="text, '' in row 0; leave it empty where a value is"):
        read_functions(table.assign(x=["", "1.5"]), function="id", inputs="x", outputs="y")
    with pytest.raises(ValueError, match="'<0,1' in row 1; a limit is no value"):
        read_functions(table.assign(x=["1,5", "<0,1"]), function="id", inputs="x", outputs="y")
    with pytest.raises(ValueError, match=r"got text, '1.234' and its like; are decimals or"):
        read_functions(table.assign(x=[0, 1]), function="id", inputs="x", outputs="y")
    with pytest.raises(ValueError, match=r"outputs=... that says whether 'y' is one, got text"):
        read_functions(table.assign(x=[0, 1], z=[0, 1]), function="id", inputs="x")


@pytest.mark.parametrize("day", ["30/8/2024", "30.8.24", "30 August 2024", "Aug-2024"])
def test_a_column_of_dates_as_text_is_called_one(day):
    table = pd.DataFrame({"id": ["a", "a"], "x": [day, day], "y": [1.0, 2.0]})
    with pytest.raises(ValueError, match=r"got dates as text or .*dayfirst=True of 30/8/2024"):
        read_functions(table, function="id", inputs="x", outputs="y")


def test_a_count_of_rows_without_a_name_is_no_output():
    table = pd.DataFrame({"Unnamed: 0": [3, 1, 2], "id": 1, "x": [0.0, 1.0, 2.0], "y": [1.0, 3, 2]})
    assert read_functions(table, function="id", inputs="x").variables.output_names == ("y",)
    table["Unnamed: 0"] = [0.5, 0.7, 0.1]
    found = read_functions(table, function="id", inputs="x").variables.output_names
    assert found == ("Unnamed: 0", "y")
