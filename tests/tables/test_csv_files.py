"""CSV files are read as they look: what pandas would shift, cut or rename without a word."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from geomndp._table_files import read_table
from geomndp.tables import read_functions

PLAIN = "x,y\n0.0,0.5\n1.0,-0.5\n"
SAME = {
    "a comma after every row": "x,y\n0.0,0.5,\n1.0,-0.5,\n",
    "a comma after every line": "x,y,\n0.0,0.5,\n1.0,-0.5,\n",
    "empty rows": "x,y\n\n0.0,0.5\n,\n1.0,-0.5\n,\n",
    "spaces in the header": "x , y \n0.0,0.5\n1.0,-0.5\n",
    "a byte order mark": "\ufeffx,y\n0.0,0.5\n1.0,-0.5\n",
    "comments": "# made by hand\nx,y\n0.0,0.5\n#0.5,7\n1.0,-0.5\n",
    "a comment after a byte order mark": "\ufeff# by hand\nx,y\n0.0,0.5\n1.0,-0.5\n",
    "units": "x [km],y [m]\n0.0,0.5\n1.0,-0.5\n",
    "a number sign in a text": "x,station,y\n0.0,mast 1,0.5\n1.0,mast #2,-0.5\n",
    "a text of two lines before a comment": (
        'station,x,y\n"mast ""1""\n# north",0.0,0.5\n# 5" more\nmast 2",1.0,-0.5\n# end\n'
    ),
    "a quote within a value": 'x,note,y\n0.0,mast; "A,0.5\n# 0.5,b,7\n1.0,mast\t"B,-0.5\n',
    "tabs beside commas": "x,\ty\n0.0,\t0.5\n1.0,\t-0.5\n",
    "other signs in units": "x [km;deg],y [m\t]\n0.0,0.5\n1.0,-0.5\n",
    "a first column without a name": ",x,y\n1,0.0,0.5\n2,1.0,-0.5\n",
}


def table(tmp_path, text: str, *labels: str) -> pd.DataFrame:
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    return read_table(str(tmp_path / "data.csv"), *labels)


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_files_that_look_alike_read_alike(tmp_path, text):
    assert_array_equal(table(tmp_path, text)[["x", "y"]], table(tmp_path, PLAIN))


@pytest.mark.parametrize("rows", ["0,0,0,5\n1,0,-0,5\n", "0,0,5\n1,-0,5\n"], ids=["both", "one"])
def test_decimal_commas_are_refused(tmp_path, rows):
    with pytest.raises(ValueError, match="2 names in the header and more values in a row: dec"):
        table(tmp_path, "x,y\n" + rows)


@pytest.mark.parametrize("header", ["x,y,y", "x,y [m],y [ft]"])
def test_of_two_columns_of_one_name_none_is_taken(tmp_path, header):
    frame = table(tmp_path, f"{header}\n0.0,0.5,7\n1.0,-0.5,7\n")
    assert list(frame.columns) == ["x", "y (column 2)", "y (column 3)"]
    assert_array_equal(frame["y (column 3)"], [7, 7])


def test_a_name_that_other_columns_would_get_is_refused(tmp_path):
    with pytest.raises(ValueError, match="several columns of one name: 'y', 'y'"):
        table(tmp_path, "y,y,y (column 2)\n0.0,0.5,7\n")


def test_named_levels_of_an_index_are_columns_but_no_outputs(tmp_path):
    frame = pd.DataFrame({"function": ["a", "a"], "x": [0.0, 1.0], "y": [1.0, 2.0]})
    frame.index = pd.Index([5, 7], name="number")
    frame.to_parquet(tmp_path / "data.parquet")
    read = read_table(str(tmp_path / "data.parquet"))
    assert list(read["number"]) == [5, 7]
    assert read_functions(read, inputs="x").variables.output_names == ("y",)
    frame.set_index("x", drop=False).to_parquet(tmp_path / "data.parquet")
    assert list(read_table(str(tmp_path / "data.parquet"))["x"]) == [0.0, 1.0]


LABELS = {
    "leading zeros": (["007", "007", "7"], ["007", "007", "7"]),
    "leading zeros alone": (["007", "012"], ["007", "012"]),
    "decimals": (["1.10", "1.1"], ["1.10", "1.1"]),
    "more digits than a float has": (["9007199254740993", "9007199254740992.0"], None),
    "whole numbers": (["7", "10"], [7, 10]),
    "four digits": (["0012", "0013"], ["0012", "0013"]),
    "texts": (["007", "A7"], ["007", "A7"]),
    "spaces around them": (['"A "', "A ", " A"], ["A", "A", "A"]),
}


@pytest.mark.parametrize("written, expected", LABELS.values(), ids=LABELS)
def test_labels_that_differ_in_the_file_stay_apart(tmp_path, written, expected):
    text = "id,x\n" + "".join(f"{label},{row}\n" for row, label in enumerate(written))
    (tmp_path / "data.csv").write_text(text)
    assert list(read_table(str(tmp_path / "data.csv"), "id")["id"]) == (expected or written)


def test_labels_of_days_are_datetimes_and_inputs_with_zeros_numbers(tmp_path):
    (tmp_path / "data.csv").write_text("day,hour\n2024-01-02,06\n2024-01-03,12\n")
    frame = read_table(str(tmp_path / "data.csv"), "day")
    assert frame["day"].dtype.kind == "M" and list(frame["hour"]) == [6, 12]


def test_other_encodings_are_refused(tmp_path):
    (tmp_path / "data.csv").write_bytes("x,temp\u00e9rature\n0,1\n".encode("latin1"))
    with pytest.raises(ValueError, match=r"no text in UTF-8 .*read_text\('cp1252'\), 'utf-8'"):
        read_table(str(tmp_path / "data.csv"))


EUROPEAN = {
    "semicolons": ("x;y\n0,0;0,5\n1;-0,5\n", "semicolons.*; decimal commas in 'x', 'y'$"),
    "tabs": ("x\ty\n0\t,5\n1\t-0,5\n", "tabs between columns; decimal commas in 'y'$"),
    "points": ("x;y\n0;0.5\n1;-0.5\n", "semicolons between columns$"),
    "names in quotes": ('x;"a, b";y\n0;1,5;0.5\n1;2;-0.5\n', "decimal commas in 'a, b'$"),
    "the line of a spreadsheet": ("sep=;\r\nx;y\r\n0;0,5\r\n1;-5e-1\r\n", None),
    "ends, empty rows, comments": ("\ufeff# a,b\n;;\nx;y;\n\n0;0,5;\n;;\n1;-0,5;\n", None),
}


@pytest.mark.parametrize("text, said", EUROPEAN.values(), ids=EUROPEAN)
def test_other_separators_are_read_and_said(tmp_path, text, said):
    with pytest.warns(UserWarning, match=said or "CSV read with semicolons"):
        assert_array_equal(table(tmp_path, text)[["x", "y"]], table(tmp_path, PLAIN))


NUMBERS = {
    "all three digits": (["1,234", "12"], None),
    "not all three digits": (["1,234", "12,5"], [1.234, 12.5]),
    "less than one": (["1,234", "0,125"], [1.234, 0.125]),
    "points between thousands": (["1.234,5", "-12"], [1234.5, -12]),
    "points between some thousands": (["1.234,5", "1234,5"], None),
    "commas and points": (["1,5", "2.5"], None),
    "commas between thousands": (["1,234.5", "2,5"], None),
    "two commas": (["1,234,567", "2,5"], None),
    "points that may be thousands": (["1.234", "12.345"], None),
    "points that are none": (["1.234", "0.5"], [1.234, 0.5]),
    "a limit": (["<0,1", "0,5"], None),
    "all missing": (["", "NA"], [np.nan, np.nan]),
}


@pytest.mark.parametrize("written, numbers", NUMBERS.values(), ids=NUMBERS)
def test_commas_stand_before_decimals_where_nothing_else_fits(tmp_path, written, numbers):
    text = "id;x;y\n" + "".join(f"01;0,5;{cell}\n" for cell in written)
    with pytest.warns(UserWarning, match="decimal commas in 'x'"):
        frame = table(tmp_path, text, "id")
    assert_array_equal(frame["y"], written if numbers is None else numbers)
    assert list(frame["id"]) == ["01", "01"]


@pytest.mark.parametrize(
    "sign, other, read", [(";", "2", False), (";", "2.5", True), ("\t", "2", True)]
)
def test_points_between_semicolons_may_stand_between_thousands(tmp_path, sign, other, read):
    with pytest.warns(UserWarning, match="between columns$"):
        frame = table(tmp_path, f"x;y\n{other};1.234\n1;12.345\n".replace(";", sign))
    assert list(frame["y"]) == ([1.234, 12.345] if read else ["1.234", "12.345"])


DATES = {
    "days first": (["1.12.2024", "31.12.2024"], ["2024-12-01", "2024-12-31"]),
    "months first": (
        ["12/1/2024 6:30", "12/31/2024 18:30"],
        ["2024-12-01T06:30", "2024-12-31T18:30"],
    ),
    "times with a zone": (
        ["13-1-2024T06:30Z", "14-01-2024, 06:30+01"],
        ["2024-01-13T06:30", "2024-01-14T05:30"],
    ),
    "no order": (["1.12.2024", "12.12.2024"], None),
    "two orders": (["12/31/2024", "31/12/2024"], None),
    "no such day": (["31.2.2024"], None),
    "half a day": (["31/12/2024 6:30 PM"], None),
    "short years": (["31.12.24"], None),
}


@pytest.mark.parametrize("written, expected", DATES.values(), ids=DATES)
def test_dates_are_read_where_one_tells_their_order(tmp_path, written, expected):
    text = "day,x\n" + "".join(f'"{cell}",1\n' for cell in written)
    if expected is None:
        assert list(table(tmp_path, text)["day"]) == written
        return
    with pytest.warns(
        UserWarning, match="read with (days before months|months before days) in 'day'"
    ):
        assert_array_equal(table(tmp_path, text)["day"], np.array(expected, "datetime64"))
