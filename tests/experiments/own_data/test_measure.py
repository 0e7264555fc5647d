"""One call per set: resumable, counted, timed, with paired gains and tables of all."""

import json
from typing import ClassVar

import pytest
from numpy.testing import assert_allclose

from geomndp.auto import TrainingPlan
from geomndp.cli import main
from geomndp.experiments.own_data import measure as module
from geomndp.experiments.own_data.experiment import EXPERIMENT
from geomndp.experiments.own_data.measure import measure
from geomndp.experiments.own_data.published import published_processes

from .helper import write_set


class Report:
    seconds: ClassVar = {"all": 12.5}

    def sentence(self):
        return "chosen: the published process"


@pytest.fixture
def quick_fit(monkeypatch):
    """A fit that takes no time and gives the published process; counts its calls."""
    calls = []

    def fit(plan, *, minutes, key, directory, quiet):
        calls.append(minutes)
        return calls[0] and process[0], Report()

    process = []
    monkeypatch.setattr(module, "fit", fit)
    monkeypatch.setattr(module, "load", lambda path: process[0])
    plan = object.__new__(TrainingPlan)
    monkeypatch.setattr(module, "build", lambda table, key, **options: plan)
    return process, calls


def test_measured_once_and_read_after(tmp_path, quick_fit, monkeypatch):
    process, calls = quick_fit
    folder = write_set(tmp_path / "data")
    found = module.read_set(folder, "sines")
    process.append(published_processes(found)["gp"])
    options = {"data": str(folder), "directory": tmp_path / "out", "minutes": 0.5}
    results = measure(2, log=lambda text: None, **options)
    entry = results["sets"]["sines"]
    assert abs(entry["models"]["ours"]["fit_seconds"] - 12.5) < 10
    assert entry["runs"] == 1 and entry["functions"] == 9 and calls == [0.5]
    assert entry["models"]["ours"]["kinds"]["ctx2"]["tasks"] == 2
    assert_allclose(entry["gains"]["gp"]["joint"]["all"], [0.0, 0.0], atol=1e-9)
    assert set(entry["gains"]) == {"gp", "linear_gaussian_gp"}
    assert measure(2, log=lambda text: None, **options) == results and calls == [0.5]
    tables = EXPERIMENT.report(json.loads(json.dumps(results)))
    assert tables[0].rows[0][:2] == ("sines", "9") and len(tables[1].rows) == 2 * 3
    (figure,) = EXPERIMENT.figures(results, tmp_path, None)
    assert figure.exists()


def test_sets_that_are_not_there_are_refused(tmp_path, capsys):
    folder = write_set(tmp_path / "data")
    line = ["reproduce", "own-data", "--data", str(folder), "--num", "1", "--only", "growth"]
    assert main([*line, "--out", str(tmp_path), "--no-figures"]) == 1
    assert "expected one of the sets sines, got 'growth'" in capsys.readouterr().err


def test_results_without_a_density_can_be_stored():
    found = module._finite({"joint": [float("-inf"), float("nan")], "coverage": [0.9, 0.1]})
    assert found == {"joint": [module.NO_DENSITY, None], "coverage": [0.9, 0.1]}
    json.dumps(found, allow_nan=False)
