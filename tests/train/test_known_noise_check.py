"""The measurement of models of clean processes, on the exact score."""

import importlib
from pathlib import Path

import pytest

from geomndp.score import GaussianScore

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.slow
def test_the_exact_score_meets_the_bounds(monkeypatch):
    """The mean's error is that of 256 samples, 1/16 of a standard deviation."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    check = importlib.import_module("known_noise")
    rows = check.evaluated(GaussianScore(check.CLEAN), num=24, num_samples=256)
    assert len(rows) == 7 and all(row.met for row in rows), rows
    assert abs(rows[0].value) < 4 * rows[0].error + 1e-3
