"""Functions of a DataFrame, whatever the order of its rows and the kind of its numbers."""

import numpy as np
import pandas as pd
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
