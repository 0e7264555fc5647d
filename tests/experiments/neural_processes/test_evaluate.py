"""Metrics of one model, as `geomndp evaluate` prints them, and the figure of all."""

import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.data import Normaliser, Regression1D, regression1d
from geomndp.experiments.base import Unavailable
from geomndp.experiments.neural_processes import evaluate as module
from geomndp.experiments.neural_processes.evaluate import evaluate, in_model_units, padded_tasks
from geomndp.experiments.neural_processes.figures import figures
from geomndp.experiments.neural_processes.training import make_model
from geomndp.model import ProcessModel

from ...baselines.neural_processes.toys import JointGP

PROCESS = regression1d("np2023", "se").process
NAME = "neural-processes-gnp2020/se-convcnp"


@pytest.fixture
def small(monkeypatch):
    problem = Regression1D("gnp2020", "se", PROCESS, 5, (0, 2), 3)
    monkeypatch.setattr(module, "problem_for", lambda suite, dataset: problem)


def test_the_exact_process_has_no_regret(small):
    metrics = evaluate(ProcessModel(JointGP(PROCESS.gp)), NAME, num=8, seed=3)
    assert_allclose(metrics["regret"], 0, atol=1e-5)
    assert metrics["log_prob"] == metrics["joint"] and metrics["region"] == "in-range"
    assert metrics["num"] == 8 and 0 < metrics["coverage"][0] <= 1


def test_a_grid_has_room_for_targets_far_from_the_context(small):
    tiny = {"width": 2, "num_layers": 1, "points_per_unit": 4.0, "receptive_field": 1.0}
    name = "neural-processes-np2023/sawtooth-convcnp"
    model = make_model(name, key=jr.key(0), network="separable", **tiny)
    metrics = evaluate(model, name, num=4, region="extrapolation")
    assert np.isfinite(metrics["joint"][0]) and metrics["joint"][0] == metrics["marginal"][0]


def test_what_a_suite_does_not_have_is_refused():
    with pytest.raises(ValueError, match="expected region to be one of 'in-range', 'out-of-range'"):
        evaluate(None, NAME, num=1, region="extrapolation")
    with pytest.raises(ValueError, match="expected route to be one of 'conditional'"):
        evaluate(None, NAME, num=1, route="joint")
    units = Normaliser(y_scale=(2.0,))
    with pytest.raises(ValueError, match="expected a model in the units of the functions"):
        in_model_units(ProcessModel(PROCESS.gp, units))


def test_tasks_of_a_region_have_the_context_of_the_protocol():
    tasks = padded_tasks(regression1d("np2023", "sawtooth"), 6, "extrapolation")
    assert tasks.context_x.shape == (6, 30, 1) and tasks.x.shape == (6, 100, 1)
    assert float(tasks.context_x.max()) <= 2 <= float(tasks.x.min())


def test_figures_show_what_was_measured(tmp_path):
    with pytest.raises(Unavailable, match="no row of the comparison"):
        next(figures({}, tmp_path))
    row = {"joint": [0.5, 0.1], "marginal": [-0.5, 0.1]}
    rows = {"gnp2020": {"se": {"in-range": {"exact law": row, "ConvCNP": row}}}}
    (path,) = figures({"rows": rows}, tmp_path)
    assert path.name == "neural-processes-gnp2020.png" and path.stat().st_size > 1000
