"""Calibration of samples: an exact score is calibrated, a wrong one is not."""

import json

import pytest

from geomndp import Model
from geomndp.data import Regression1D, Sawtooth
from geomndp.data.synthetic import Gaussian
from geomndp.experiments.calibration1d import calibration, calibration_figure
from geomndp.experiments.regression1d import Experiment
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore

NOISING = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
RIGHT, WRONG = (GP(SquaredExponential(scale), noise=0.01) for scale in (0.5, 2.0))


def experiment(process) -> Experiment:
    return Experiment("tiny", Regression1D("paper", "tiny", process, 8, (1, 3), 5), True)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    options = {"num": 96, "num_samples": 9, "sampler": Amortised(16), "bins": 4, "at_once": 96}
    this = experiment(Gaussian(RIGHT))
    folder = tmp_path_factory.mktemp("blocks")
    right = calibration(Model(NOISING, GaussianScore(RIGHT)), this, **options, directory=folder)
    again = calibration(Model(NOISING, GaussianScore(RIGHT)), this, **options, directory=folder)
    assert right == again
    return right, calibration(Model(NOISING, GaussianScore(WRONG)), this, **options)


def test_exact_score_is_calibrated_and_a_wrong_one_is_not(measured):
    right, wrong = measured
    for level in (50, 90):
        for who in ("model", "gp"):
            mean, error = right[who][f"coverage{level}"]
            assert abs(mean - level / 100) < 4 * error
        mean, error = wrong["model"][f"coverage{level}"]
        assert mean < level / 100 - 4 * error
    for density, error in zip(right["model"]["pit"], right["model"]["pit_error"], strict=True):
        assert abs(density - 1) < 4 * error
    assert abs(right["crps_regret"][0]) < 4 * right["crps_regret"][1]
    assert wrong["crps_regret"][0] > 4 * wrong["crps_regret"][1]
    assert json.loads(json.dumps(right)) == right


def test_figure_and_laws_that_are_not_gaussian(measured, tmp_path):
    result = calibration(
        Model(NOISING, GaussianScore(RIGHT)),
        experiment(Sawtooth(terms=(2, 3))),
        num=2,
        num_samples=3,
        sampler=Amortised(2),
        bins=4,
    )
    assert "gp" not in result and "crps_regret" not in result
    path = calibration_figure({"se": measured[0], "sawtooth": result}, tmp_path / "figure.png")
    assert path.stat().st_size > 1000
