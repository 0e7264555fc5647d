"""The benchmark's fast scores are the exact ones, and its tables meet the bars."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from numpy.testing import assert_allclose

from geomndp import law, samplers, score

from .helper import hurried

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def tasks_module(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    specification = importlib.util.spec_from_file_location("_tasks", FOLDER / "_tasks.py")
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    "sampler", [samplers.Amortised(5), samplers.KineticLangevin(3, 2)], ids=["amortised", "kinetic"]
)
def test_fast_scores_are_exact(tasks_module, sampler):
    x, y = tasks_module.tasks()
    found = tasks_module.exact_kls(sampler, x[:1], y[:1])[0]

    def slow(x, y):
        observations = samplers.Observations(x[:3], y[:3], 0.0 * x[:3, 0], False)
        exact = score.GaussianScore(tasks_module.GAUSSIAN)
        problem = samplers.Problem(
            tasks_module.NOISING, exact, x[3:], observations, tasks_module.EPS
        )
        truth = tasks_module.GAUSSIAN.condition(x[:3], y[:3]).mean_and_covariance(x[3:])
        return law.posterior_kl(sampler, problem, truth)

    assert_allclose(found, hurried(slow, x[0], y[0]), rtol=1e-4)


@pytest.mark.slow
def test_quick_benchmark_meets_the_bars():
    command = [sys.executable, str(FOLDER / "conditional_samplers.py"), "--quick"]
    result = subprocess.run(command, check=True, capture_output=True, text=True, timeout=900)
    assert "Bars met everywhere: yes" in result.stdout
