"""`geomndp distil`: students of the models of experiments, and of tables."""

import dataclasses

import jax.random as jr
import numpy as np
import pandas as pd
import pytest

from geomndp import _model_files
from geomndp.cli import main
from geomndp.experiments import registry
from geomndp.model import load
from geomndp.samplers import FlowMap

from .test_train import KINDS, archive  # noqa: F401


def teacher(name, path):
    """A small model of an experiment, as if it had been trained."""
    model = registry.find(name).model(name, key=jr.key(0), **KINDS[name][0])
    score = dataclasses.replace(model.score, conditional=True)
    notes = {"experiment": name} | ({"split": 3} if name.startswith("cyclones") else {})
    dataclasses.replace(model, score=score).save(path, notes)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_distil_an_experiment_and_go_on(name, archive, tmp_path, capsys):  # noqa: F811
    teacher(name, tmp_path / "teacher")
    data = ["--data", str(archive)] if name.startswith("cyclones") else []
    num_tasks = 0 if name.startswith("vector") else 1  # of 648 points: too long
    out = ["--out", str(tmp_path / "run"), "--quiet", "--num-tasks", str(num_tasks)]
    line = ["distil", str(tmp_path / "teacher"), "--steps", "2", "--batch-size", "2", *out, *data]
    for _ in range(2):
        assert main(line) == 0
        printed = capsys.readouterr().out
        assert ("student, 4 calls" if num_tasks else "no tasks were compared") in printed
    notes = _model_files.metadata(tmp_path / "run")
    assert (
        notes["experiment"] == name and notes["steps"] == 2 and len(notes["calls"]) == 5 * num_tasks
    )
    assert load(tmp_path / "run").score.has_flow_map


@pytest.mark.slow
def test_distil_on_a_table(tmp_path, capsys):
    teacher("regression1d/se", tmp_path / "teacher")
    rows = {"day": np.repeat(np.arange(8), 6), "x": np.tile(np.linspace(-1, 1, 6), 8)}
    table = pd.DataFrame(rows | {"y": np.sin(rows["x"] + rows["day"])})
    table.to_csv(tmp_path / "days.csv", index=False)
    words = ["distil", str(tmp_path / "teacher"), str(tmp_path / "days.csv"), "--function", "day"]
    options = ["--steps", "2", "--quiet", "--out", str(tmp_path / "run"), "--energy-weight", "1"]
    assert main([*words, *options]) == 0
    assert "student, 1 call" in capsys.readouterr().out
    y = load(tmp_path / "run").sample(np.zeros(2), key=0, num_samples=2, sampler=FlowMap(1))
    assert np.all(np.isfinite(y))


WRONG = {
    "regression1d/se --steps 0": "steps to be a whole number >= 1",
    "regression1d/se --energy-weight -1": "energy_weight",
    "regression1d/se --function day": "expected --function with a table of functions only",
    "regression1d/se missing.csv": "missing.csv",
    "regression1d/se --data nowhere": "--data",
    "regression1d/unknown": "unknown",
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_arguments_are_refused(line, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["distil", *line.split(), "--out", "run"]) == 1
    error = capsys.readouterr().err
    assert WRONG[line] in error and error.count("\n") == 1
    assert not (tmp_path / "run").exists()
