"""KL of fitted moments: without bias for true samples; samples agree with their exact law."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import Model
from geomndp.data import Sawtooth
from geomndp.evaluate import moment_matched_kl
from geomndp.experiments.regression1d.samplers import SAMPLERS, exact_rows, sampler_rows, summary
from geomndp.samplers import Langevin
from geomndp.score import GaussianScore

from ..helper import NOISING, RIGHT, small_problem

FEW = {"Langevin": Langevin(4, 2)}


def test_fitted_kl_has_no_bias_and_the_right_error():
    rng, d, n = np.random.default_rng(1), 4, 400
    factor = np.tril(rng.normal(size=(d, d))) + 2 * np.eye(d)
    truth = rng.normal(size=d), factor @ factor.T
    draws = truth[0] + rng.normal(size=(200, n, d)) @ factor.T
    values, errors = np.transpose([moment_matched_kl(samples, truth) for samples in draws])
    assert abs(values.mean()) < 4 * values.std() / np.sqrt(200) + 1e-3  # second order: (d / n)^2
    shifted = (truth[0] + 0.5 * factor[:, 0], truth[1])
    values, errors = np.transpose([moment_matched_kl(samples, shifted) for samples in draws])
    assert_allclose(values.mean(), 0.125, atol=4 * values.std() / np.sqrt(200) + 4e-3)
    assert_allclose(errors.mean(), values.std(), rtol=0.3)


def test_sampled_and_exact_rows_agree():
    model, problem = Model(NOISING, GaussianScore(RIGHT)), small_problem()
    sizes = {"num": 2, "contexts": 2, "targets": 3, "samplers": FEW}
    rows = sampler_rows(model, problem, num_samples=4096, batch_size=3000, **sizes, workers=1)
    exact = exact_rows(model, problem, **sizes)
    for row, truth in zip(rows, exact, strict=True):
        assert row["sampler"] == truth["sampler"]
        assert abs(row["kl"][0] - truth["kl"][0]) < 5 * row["kl_error"] + 1e-3
    assert [row["evaluations"] for row in rows] == [12]
    assert json.loads(json.dumps(rows)) == rows


def test_rows_without_a_kl():
    assert summary([0.1, float("nan")]) == {"kl": None, "kl_tasks": [0.1, None]}
    assert np.isnan(moment_matched_kl(np.full((3, 2), np.nan), (np.zeros(2), np.eye(2)))[0])
    wave = small_problem(Sawtooth(terms=(2, 3)))
    with pytest.raises(ValueError, match="expected Gaussian data, whose law is known"):
        sampler_rows(Model(NOISING, GaussianScore(RIGHT)), wave, samplers=SAMPLERS)
