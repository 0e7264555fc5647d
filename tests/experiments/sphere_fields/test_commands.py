"""Fields on the sphere by the commands: trained from a planar model, resumed, measured."""

import json

import jax
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import _model_files
from geomndp.cli import main
from geomndp.experiments.sphere_fields import evaluate, training
from geomndp.experiments.vector_fields.training import make_model
from geomndp.model import load

from .test_experiment import NAME, PROBLEM, TINY


@pytest.fixture
def few_points(monkeypatch):
    """Fields at 40 points, two sets of locations per design."""
    for module in (training, evaluate):
        monkeypatch.setattr(module, "problem_for", lambda name: PROBLEM)
    monkeypatch.setattr(training, "SETS", 2)


@pytest.mark.slow
def test_train_from_the_plane_resume_and_evaluate(few_points, tmp_path, capsys):
    """Parameters are those of the planar model before training; all commands take the model."""
    start, out = tmp_path / "plane", tmp_path / "sphere"
    planar = make_model("vector-fields/div-free", key=jr.key(3), **TINY)
    planar.save(start, {"experiment": "vector-fields/div-free"})
    sizes = ["--steps", "20", "--batch-size", "4", "--net", json.dumps(TINY), "--quiet"]
    words = ["train", NAME, *sizes, "--start", str(start), "--peak-rate", "1e-12"]
    for _ in range(2):  # the second finds all steps done
        assert main([*words, "--out", str(out)]) == 0, capsys.readouterr().err
        assert "after 20 steps" in " ".join(capsys.readouterr().out.split())
    trained = load(out)
    pairs = zip(*(jax.tree.leaves(m.score.net) for m in (planar, trained)), strict=True)
    for before, after in pairs:
        assert_allclose(before, after, atol=2e-3)  # Adam's first rate is 1e-4
    assert trained.score.net.config.radius == training.radius_for(NAME)
    notes = _model_files.metadata(out)
    assert notes["experiment"] == NAME and notes["start"] == str(start)
    asked = ["evaluate", str(out), "--num", "2", "--probes", "2", "--json"]
    for region in ("interpolation", "third"):
        assert main([*asked, "--region", region, "--out", str(tmp_path / region)]) == 0
        metrics = json.loads(capsys.readouterr().out)
        assert metrics["num"] == 2 and len(metrics["regret"]) == 2
    assert main(["reproduce", "sphere-fields", "--out", str(tmp_path)]) == 0
    assert "div-free" in (tmp_path / "sphere-fields.md").read_text()
