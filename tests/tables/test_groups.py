"""The order of functions, by their labels."""

import pandas as pd
import pytest

from geomndp.tables.groups import check_order_of_labels


@pytest.mark.parametrize(
    "labels",
    [[1, 2, 10], ["run01", "run02", "run10"], ["2024-01-02", "2024-01-10"], ["a", "b"], ["7", "A"]],
)
def test_labels_whose_order_is_that_in_time_pass(labels):
    check_order_of_labels(pd.DataFrame({"run": labels}), "run")


def test_labels_that_count_in_another_order_are_refused():
    with pytest.raises(ValueError, match="is that in time, got 'run10' before 'run2'; write num"):
        check_order_of_labels(pd.DataFrame({"run": ["run1", "run2", "run10"]}), "run")
