"""The measurement of models of clean processes, on the exact score."""

import pytest

from geomndp.score import GaussianScore


@pytest.mark.slow
def test_the_exact_score_meets_the_bounds(import_benchmark):
    """The mean's error is that of 256 samples, 1/16 of a standard deviation."""
    check = import_benchmark("known_noise")
    rows = check.evaluated(GaussianScore(check.CLEAN), num=24, num_samples=256)
    assert len(rows) == 7 and all(row.met for row in rows), rows
    assert abs(rows[0].value) < 4 * rows[0].error + 1e-3
