"""Calibration of samples: an exact score is calibrated, as the exact process is."""

import json

import pytest

from geomndp import Model
from geomndp.experiments.regression1d.calibration import calibration, calibration_figure
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore

from ..helper import NOISING, RIGHT, small_problem


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    options = {"num": 96, "num_samples": 9, "sampler": Amortised(16), "bins": 4, "batch_size": 96}
    problem = small_problem(targets=5)
    folder = tmp_path_factory.mktemp("blocks")
    right = calibration(Model(NOISING, GaussianScore(RIGHT)), problem, **options, directory=folder)
    again = calibration(Model(NOISING, GaussianScore(RIGHT)), problem, **options, directory=folder)
    assert right == again
    return right


def test_exact_score_is_calibrated(measured):
    right = measured
    for level in (50, 90):
        for who in ("model", "gp"):
            mean, error = right[who][f"coverage{level}"]
            assert abs(mean - level / 100) < 4 * error
    for density, error in zip(right["model"]["pit"], right["model"]["pit_error"], strict=True):
        assert abs(density - 1) < 4 * error
    assert abs(right["crps_regret"][0]) < 4 * right["crps_regret"][1]
    assert json.loads(json.dumps(right)) == right


def test_figure_with_and_without_an_exact_process(measured, tmp_path):
    alone = {name: part for name, part in measured.items() if name != "gp"}
    path = calibration_figure({"se": measured, "sawtooth": alone}, tmp_path / "figure.png")
    assert path.stat().st_size > 1000
