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
