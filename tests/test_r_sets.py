"""The benchmark on sets of R packages: rounding, and functions that teach or evaluate."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def r_sets(import_benchmark):
    return import_benchmark("r_sets")


@pytest.mark.parametrize("step", [0.05, 1.0, 100.0])
def test_rounded_values_get_noise_over_their_step_alone(r_sets, step):
    random = np.random.default_rng(0)
    rounded = step * np.round(random.normal(0.0, 40.0, 500))
    rounded[3] = np.nan
    noisy = r_sets.without_rounding(rounded, random)
    change = (noisy - rounded)[np.isfinite(rounded)]
    assert np.isnan(noisy[3]) and np.all(np.abs(change) <= step / 2)
    assert np.std(change) > 0.25 * step
    fine = random.normal(size=500)
    np.testing.assert_array_equal(r_sets.without_rounding(fine, random), fine)


def test_functions_that_evaluate_are_whole_groups_or_the_last(r_sets):
    rows = [(f"f{i:02d}", i // 2, x, i + x) for i in range(60) for x in (0.0, 1.0)]
    table = pd.DataFrame(rows, columns=["curve", "person", "x", "y"])
    grouped = r_sets.RSet("", "", "curve", "x", ("y",), {"groups": "person"})
    train, test = r_sets.divide(grouped, table)
    assert len(train) + len(test) == len(table) and 20 <= len(test) <= 28
    assert not {*train.person} & {*test.person}
    ordered = grouped._replace(options={"ordered": True})
    assert [*dict.fromkeys(r_sets.divide(ordered, table)[1].curve)] == [
        f"f{i:02d}" for i in range(48, 60)
    ]
