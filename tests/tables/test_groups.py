"""The order of functions, by their labels."""

import numpy as np
import pandas as pd
import pytest

from geomndp.tables import read_functions
from geomndp.tables.groups import function_labels, read_groups


@pytest.mark.parametrize(
    "labels",
    [
        [1, 2, 10],
        ["run1", "run2", "run10"],
        ["1", "2", "10", "x"],
        ["2024-01-02", "2024-01-10", "2024-2-1"],
        ["a", "b", "c1", "c02"],
    ],
)
def test_numbers_in_labels_count_as_numbers(labels):
    shuffled = np.random.default_rng(0).permutation(len(labels))
    column = pd.Series([labels[row] for row in shuffled])
    assert function_labels("run", column).tolist() == shuffled.tolist()


def test_functions_and_their_groups_have_one_order():
    runs = ["run10", "run2", "run1", "run2"]
    table = pd.DataFrame({"run": runs, "x": range(4), "y": [10.0, 2.0, 1.0, 2.5]})
    table["person"] = ["c", "b", "a", "b"]
    functions = read_functions(table, function="run", inputs="x", outputs="y")
    assert functions.y[:, 0, 0].tolist() == [1.0, 2.0, 10.0]
    assert read_groups(table, "person", "run")[1] == ("a", "b", "c")
