"""Results from measurement to print: written part by part, shipped, shown as tables."""

import json
import shutil

import pytest

from geomndp import Model, _model_files
from geomndp.cli import main
from geomndp.experiments import results
from geomndp.experiments.regression1d import (
    likelihood_table as table1d,
    measure as measure1d,
    report as report1d,
)
from geomndp.experiments.regression1d.figures import curve_figure
from geomndp.score import GaussianScore

from .helper import NOISING, RIGHT, small_problem

SCORE = {"log_prob": [0.5, 0.1], "solver_error": 1e-5, "regret": [0.004, 0.001], "num": 8}
SCORES = {"conditional": SCORE, "joint": SCORE | {"log_prob": [0.48, 0.1]}}
SUMMARY = {"pit": [0.9, 1.1], "pit_error": [0.1, 0.1], "crps": [0.3, 0.01]}
SUMMARY |= {"coverage50": [0.49, 0.01], "coverage90": [0.91, 0.01]}
CURVE = [
    {"steps": 100, "seconds": 1.5, "gap_joint": [0.03, 0.01], "regret": [0.04, 0.01]},
    {"steps": 1000, "gap_joint": [0.01, 0.001]},
]
ROW = {"limit": "white", "parametrisation": "K", "steps": 10, "regret": [0.1, 0.01]}
LEARNT = [
    {"sampler": "Langevin", "evaluations": 1000, "kl": [0.02, 0.001], "kl_error": 0.0005},
    {"sampler": "RePaint", "evaluations": 1000, "kl": None, "kl_tasks": [None]},
]
FILE = {
    "calibration": {"regression1d/se": {"in-range": {"model": SUMMARY, "gp": SUMMARY}}},
    "gaps": {
        "regression1d/se": {"joint": {"gap": [0.01, 0.001]}, "conditional": {"gap": [0.02, 0]}}
    },
    "curve": {"regression1d/se": CURVE},
    "ablation": {"regression1d/se": [ROW, {**ROW, "parametrisation": "none", "diverged": 7}]},
    "samplers": {
        "regression1d/se": {"learnt": LEARNT, "exact": [{**LEARNT[0], "kl": [0.01, 0.0]}]}
    },
}


def test_parts_are_written_at_once_and_not_measured_again(tmp_path, monkeypatch):
    path, model = tmp_path / "results.json", Model(NOISING, GaussianScore(RIGHT))
    gaps = [{"joint": {"gap": [0.0, 0.0]}}]
    monkeypatch.setattr(measure1d, "score_errors", lambda *_, **__: gaps.pop())
    options = {"num": 4, "problem": small_problem(), "regions": ("in-range",), "calibrate": 0}
    options |= {"routes": ("conditional",), "directory": tmp_path / "blocks"}
    measure1d.measure("tiny", model, path, **options)
    content = results.read(path)
    assert abs(content["scores"]["tiny"]["in-range"]["conditional"]["regret"][0]) < 0.02
    assert content["gaps"]["tiny"]["joint"]["gap"] == [0.0, 0.0]
    stamp = path.stat().st_mtime_ns
    measure1d.measure("tiny", model, path, **options)
    assert path.stat().st_mtime_ns == stamp


def test_ablation_goes_on_with_the_next_limit(tmp_path, monkeypatch):
    path, called = tmp_path / "results.json", []
    results.write(path, {"ablation": {"a": [{"limit": "white"}, {"limit": "periodic"}]}})

    def ablation(name, *, steps, chosen):
        called.append({setting.limit for setting in chosen})
        return [{"limit": chosen[0].limit}]

    monkeypatch.setattr(measure1d, "ablation", ablation)
    measure1d.measure_ablation("a", path, steps=3)
    assert called == [{"SE(1)"}, {"SE(0.1)"}]
    assert len(results.read(path)["ablation"]["a"]) == 4


def test_scores_ship_with_their_models_and_the_rest_with_the_table(tmp_path, monkeypatch):
    name = "regression1d/se"
    models = tmp_path / "models"
    weights = models / f"{name}.safetensors"
    weights.parent.mkdir(parents=True)
    shutil.copy(_model_files.weights(_model_files.folder() / name), weights)
    path, target = tmp_path / "results.json", tmp_path / "regression1d.json"
    results.write(path, {"scores": {name: {"in-range": SCORES}}, "curve": {"a": CURVE}})
    results.ship(path, target, models)
    metrics = _model_files.document(models / name)["metadata"]["metrics"]["in-range"]
    assert metrics == SCORE | {"joint": SCORES["joint"]}
    results.write(path, {"curve": {"b": CURVE}})
    results.ship(path, target, models)
    assert results.read(target) == {"curve": {"a": CURVE, "b": CURVE}}
    monkeypatch.setattr(_model_files, "folder", lambda: models)
    rows = {row[0]: row[1] for row in table1d.rows("paper", "in-range")}
    assert rows["T(1)-GeomNDP"] == "0.500 ± 0.100"
    assert rows["T(1)-GeomNDP, joint route"] == "0.480 ± 0.100"
    assert rows["regret of T(1)-GeomNDP"] == "0.004 ± 0.001"


def test_damaged_results_are_refused(tmp_path):
    path = tmp_path / "results.json"
    assert results.read(path) == {}
    for text in ("{", "[1]"):
        path.write_text(text)
        with pytest.raises(ValueError, match="expected results in"):
            results.read(path)


def test_reproduce_writes_every_table_that_has_results(tmp_path, capsys):
    path = tmp_path / "results.json"
    path.write_text(json.dumps(FILE))
    command = ["reproduce", "regression1d", "--out", str(tmp_path), "--results", str(path)]
    assert main([*command, "--no-figures"]) == 0
    text = (tmp_path / "regression1d.md").read_text()
    assert "| T(1)-GeomNDP, paper | 0.72 |" in text
    assert "| GNP, quoted |" in text
    assert "| white | none | 10 |  |  | diverged at step 7 |" in text
    assert "| Langevin | 1000 | 0.0200 ± 0.0010 | 0.0005 | 0.0100 ± 0.0000 |" in text
    assert "| RePaint | 1000 | not finite |" in text
    assert "| regression1d/se | 1000 |  | 0.0100 ± 0.0010 |  |  |" in text
    assert "Calibration of posterior samples" in capsys.readouterr().out


def test_no_results_no_tables():
    assert report1d.tables({}) == []


def test_curve_figure(tmp_path):
    path = curve_figure({"se": CURVE, "matern": CURVE}, tmp_path / "curve.png")
    assert path.stat().st_size > 1000
