"""What is measured of a model of fields on the sphere, and its picture, at few points."""

import dataclasses
import sys

import jax.random as jr
import pytest

from geomndp.experiments import results
from geomndp.experiments.sphere_fields import figures, measure
from geomndp.experiments.sphere_fields.training import make_model
from geomndp.samplers import Amortised

from .test_experiment import NAME, PROBLEM, TINY


@pytest.fixture
def few_points(monkeypatch):
    for module in (measure, figures):
        monkeypatch.setattr(module, "problem_for", lambda name: PROBLEM)


@pytest.mark.slow
def test_measurements_of_a_run(few_points, tmp_path, monkeypatch):
    """Each part once, into the run's folder and the file of results; then the picture."""
    model = make_model(NAME, key=jr.key(0), **TINY)
    score = dataclasses.replace(model.score, conditional=True)
    model = dataclasses.replace(model, score=score)
    model.save(tmp_path / "run" / "model", {"experiment": NAME})
    monkeypatch.setattr(measure, "SAMPLER", Amortised(2))
    out = tmp_path / "results.json"
    arguments = [str(tmp_path / "run"), "--out", str(out), "--num", "2", "--samples", "2"]
    arguments += ["--regions", "third", "--probes", "2", "--batch-size", "2"]
    monkeypatch.setattr(sys, "argv", ["measure", *arguments])
    measure.main()
    found = results.read(tmp_path / "run" / "results.json")["scores"][NAME]
    metrics = found["third"]["conditional"]  # as `results.ship` takes them
    assert metrics["num"] == 2 and metrics["points"] == 13 and metrics["probes"] == 2
    physics = results.read(out)["physics"][NAME]
    assert physics["prior"]["num"] == 2 and physics["posterior"]["num"] == measure.TASKS
    monkeypatch.setattr(measure, "evaluate_region", None)  # nothing is measured again
    measure.main()
    path = figures.field_figure({NAME: model}, tmp_path / "field.png", steps=2)
    assert path.exists()
