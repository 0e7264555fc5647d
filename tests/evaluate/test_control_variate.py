"""The exact score as a control variate: probe noise cancels, the mean stays that of the model."""

import dataclasses

import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import Model
from geomndp.data import Normaliser, tasks
from geomndp.data.synthetic import Gaussian
from geomndp.evaluate import controlled_log_likelihood, log_likelihood, resumable
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

GAUSSIAN = Gaussian(GP(SquaredExponential(0.5), noise=0.01))
SCORE = GaussianScore(GAUSSIAN.gp)
MODEL = Model(OrnsteinUhlenbeck(White(GAUSSIAN.variance), LinearSchedule(0.0, 15.0)), SCORE)
PERTURBED = dataclasses.replace(
    MODEL, score=GaussianScore(GP(SquaredExponential(0.45), noise=0.015))
)
PROBES = Hutchinson(4)
TASKS = tasks(GAUSSIAN, num=24, contexts=(3, 3), targets=5)
OPTIONS = {"num_context": 3, "key": jr.key(1), "route": "conditional", "batch_size": 24}
TRUTH = log_likelihood(GAUSSIAN.gp, TASKS, num_context=3).value


def flow(divergence):
    return Flow(steps=16, divergence=divergence)


def controlled(model, divergence, **options):
    options = OPTIONS | options | {"flow": flow(divergence)}
    return controlled_log_likelihood(model, TASKS, SCORE, TRUTH, **options)


def test_the_exact_score_has_no_regret_whatever_the_probes():
    raw = log_likelihood(MODEL, TASKS, flow=flow(PROBES), **OPTIONS)
    log_probs, flow_error = controlled(MODEL, PROBES)
    assert np.std(raw.value - TRUTH) > 0.1
    assert_allclose(flow_error, raw.value - TRUTH, atol=1e-10)
    assert_allclose(log_probs.value, TRUTH, atol=1e-10)
    assert_allclose(log_probs.probe_error, 0, atol=1e-10)
    assert_allclose(log_probs.solver_error, 0, atol=1e-10)
    assert np.all(raw.probe_error > 1e-3)


def test_the_mean_of_another_score_is_that_of_its_exact_divergence():
    rough, rough_flow_error = controlled(PERTURBED, PROBES)
    sure, _ = controlled(PERTURBED, Exact())
    raw = log_likelihood(PERTURBED, TASKS, flow=flow(PROBES), **OPTIONS)
    assert_allclose(rough.value + rough_flow_error, raw.value, atol=1e-10)
    assert np.std(sure.value - TRUTH) > 0.1
    differences = np.asarray(rough.value - sure.value)
    error = np.std(differences) / np.sqrt(len(differences))
    assert abs(np.mean(differences)) < 4 * error
    # The error that is given is that of the corrected estimate, not of the raw one.
    spread = np.sqrt(np.mean(np.square(rough.probe_error)))
    assert 0.6 < np.sqrt(np.mean(differences**2)) / spread < 1.6
    assert spread < 0.5 * np.sqrt(np.mean(np.square(raw.probe_error)))


def test_a_second_run_solves_nothing_anew(tmp_path, monkeypatch):
    first = controlled(PERTURBED, PROBES, directory=tmp_path)
    monkeypatch.setattr(resumable, "_measure", lambda *_: pytest.fail("solved again"))
    again = controlled(PERTURBED, PROBES, directory=tmp_path)
    assert_array_equal(again.log_probs.value, first.log_probs.value)
    assert_array_equal(again.flow_error, first.flow_error)


def test_units_of_a_models_own_are_refused():
    with pytest.raises(ValueError, match="expected a model without a normaliser"):
        controlled(dataclasses.replace(MODEL, normaliser=Normaliser()), Exact())
