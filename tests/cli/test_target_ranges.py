"""Target locations as they are typed."""

import numpy as np
import pytest

from geomndp.cli.target_ranges import numbers

DAYS = {
    "2023-02-01/2023-02-03/1D": ["2023-02-01", "2023-02-02", "2023-02-03"],
    "2023-02-01,2023-02-03": ["2023-02-01", "2023-02-03"],
    "2023-02-01": ["2023-02-01"],
    "2023-02-01T06:00+01:00,2023-02-01T06:00Z": ["2023-02-01T05", "2023-02-01T06"],
    "20230201/20230202/1D": ["2023-02-01", "2023-02-02"],
}


@pytest.mark.parametrize("text", DAYS)
def test_datetimes(text):
    assert list(numbers(text)) == [np.datetime64(day) for day in DAYS[text]]


def test_numbers():
    assert list(numbers("0,0.5,2")) == [0, 0.5, 2] and list(numbers("2023")) == [2023]
    assert list(numbers("0:1:0.5")) == [0, 0.5, 1] and list(numbers("0:1:3pts")) == [0, 0.5, 1]


@pytest.mark.parametrize(
    "text",
    ["01.02.2023/05.02.2023/1D", "1/2/2023", "2023-02-01T06:00Z,2023-02-01T06:00", "2023-13-01"],
)
def test_what_may_mean_several_days_is_refused(text):
    """Days first read as months first, as pandas does, are other days."""
    with pytest.raises(ValueError, match=r"a range .start:stop:step, .* or 2024-08-30,2024"):
        numbers(text)
