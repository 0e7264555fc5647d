"""A network trained on a Gaussian process with two outputs, half of whose values are missing."""

import jax.random as jr
import pytest

from geomndp.score import GaussianScore

SIZES = "--steps 10000 --batch 128 --width 32 --layers 4 --heads 4 --functions 60000 --tests 700"


@pytest.fixture
def check(import_benchmark):
    return import_benchmark("missing_outputs")


@pytest.mark.slow
def test_the_exact_score_has_no_regret(check):
    for row in check.regrets(GaussianScore(check.PROCESS), 200, jr.key(9), batch_size=100):
        assert abs(row.value) < 4 * row.error + 1e-3, row


@pytest.mark.slow
def test_regret_with_half_of_the_outputs_missing(check, import_benchmark, tmp_path):
    """At most 0.02 nats per target value; another network of this size had 0.013 to 0.016."""
    path = tmp_path / "results.json"
    check.main([*SIZES.split(), "--out", str(path)])
    rows = import_benchmark("_exact_check").read(path)
    assert len(rows) == 4
    assert all(row.met for row in rows), rows
