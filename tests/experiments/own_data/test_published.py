"""Published baselines, rebuilt, have the numbers that they were published with."""

import os
from pathlib import Path

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.gaussian.functions import Curve
from geomndp.experiments.own_data.data_sets import read_set
from geomndp.experiments.own_data.measure import evaluate_process
from geomndp.experiments.own_data.published import published_processes
from geomndp.experiments.own_data.published_mean import FeatureMean, TableMean

from .helper import THETA, write_set

DATA = os.environ.get("GEOMNDP_DATA")
SETS = ("elnino", "gait", "growth", "dti_cca", "tecator", "canadian_weather", "uk_t2m")
METRICS = {"joint": "logp_joint", "marginal": "logp_marginal", "crps": "crps_sd"}
METRICS |= {"coverage": "cover90", "rmse": "rmse_sd"}


def test_the_law_of_a_small_set(tmp_path):
    """Means are those of the table, variances those of the parameters, in the data's units."""
    found = read_set(write_set(tmp_path), "sines")
    laws = published_processes(found)
    train = found.training_table
    gp = laws["gp"].condition()
    x = np.arange(6)[:, None] * 4.0
    variance = np.exp(2 * np.array(THETA[2:5])).sum() + np.exp(2 * THETA[5]) + 1e-6
    assert_allclose(gp.mean(x)[:, 0], train.groupby("hour")["level"].mean(), rtol=1e-5)
    assert_allclose(gp.std(x)[:, 0], train.level.std(ddof=0) * variance**0.5, rtol=1e-5)
    wide = train.pivot(index="function", columns="hour", values="level").to_numpy()
    shrunk = 0.7 * wide.var(axis=0, ddof=1) + 0.3 * train.level.var(ddof=0) * variance
    assert_allclose(laws["linear_gaussian_gp"].condition().std(x)[:, 0], shrunk**0.5, rtol=1e-4)


def test_means_of_common_and_of_other_inputs():
    x = np.linspace(0, 1, 40)[:, None]
    curves = [Curve(x[i::2], 2 * x[i::2] - 1) for i in (0, 1)]
    assert_allclose(TableMean.fit(curves)(x), 2 * x - 1, atol=1e-12)
    assert_allclose(FeatureMean.fit(curves)(x), 2 * x - 1, atol=1e-3)


@pytest.mark.slow
@pytest.mark.skipif(DATA is None, reason="needs the functional data sets: set GEOMNDP_DATA")
@pytest.mark.parametrize("name", SETS)
def test_the_published_numbers(name, tmp_path):
    folder = Path(str(DATA)) / "functions"
    if not folder.exists():
        pytest.skip(f"no functional data sets in {DATA}")
    found = read_set(folder, name)
    for label, process in published_processes(found).items():
        with jax.enable_x64(True):
            summary = evaluate_process(process, found, found.tasks, tmp_path / label).summary()
        for kind, wanted in found.published[label]["kinds"].items():
            for ours, theirs in METRICS.items():
                assert_allclose(summary[kind][ours][0], wanted[theirs], atol=2e-3, rtol=1e-3)
