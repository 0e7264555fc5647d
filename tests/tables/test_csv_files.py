"""CSV files are read as they look: what pandas would shift, cut or rename without a word."""

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from geomndp._table_files import read_table

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
    "a first column without a name": ",x,y\n1,0.0,0.5\n2,1.0,-0.5\n",
}


def table(tmp_path, text: str) -> pd.DataFrame:
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    return read_table(str(tmp_path / "data.csv"))


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


def test_other_signs_than_commas_and_other_encodings_are_refused(tmp_path):
    with pytest.raises(
        ValueError, match=r"parted by semicolons, not commas .*sep=';', decimal=','"
    ):
        table(tmp_path, "x;y\n0;0,5\n")
    with pytest.raises(ValueError, match=r"parted by tabs, not commas .*sep='\\t'\)"):
        table(tmp_path, "x\ty\n0\t0.5\n")
    (tmp_path / "data.csv").write_bytes("x,temp\u00e9rature\n0,1\n".encode("latin1"))
    with pytest.raises(ValueError, match=r"not in UTF-8 .*encoding='latin1'"):
        read_table(str(tmp_path / "data.csv"))
