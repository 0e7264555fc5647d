"""The vector-field tables: published and measured rows, from file to print."""

import json

import pytest

from geomndp import _model_files
from geomndp.cli import main
from geomndp.experiments import results
from geomndp.experiments.vector_fields import (
    likelihood_table as table_fields,
    report as report_fields,
)
from geomndp.experiments.vector_fields.experiment import EXPERIMENT

OLD = "regression1d-gnp2020/sawtooth"  # a pair of files of version 1, whose JSON is the document

PLACE = {
    "points": 324,
    "whitened": [1.01, 0.01],
    "gaps": {"joint": [0.002, 0.0001], "conditional": [0.004, 0.0001]},
}
SCORE = {"log_prob": [0.655, 0.01], "gp": [0.66, 0.01], "diagonal_gp": [-1.47, 0.01]}
SCORE |= {"regret": [0.005, 0.001], "probe_error": 0.016, "solver_error": 1e-4}
SCORE |= {"num": 256, "probes": 8}
CHECK = {"rms": [0.21, 0.001], "exact": 0.206, "noise": 0.205}
SHARE = {"share": [0.02, 0.001], "exact": 0.0196}
NAME = "vector-fields/div-free"
FILE = {
    "efficiency": {
        NAME: [
            SCORE | {"functions": None, "steps": 100},
            {"functions": 800, "steps": 100, "log_prob": [0.62, 0.01], "regret": [0.04, 0.001]},
        ]
    },
    "physics": {
        NAME: {"num": 64, "divergence": CHECK, "curl": CHECK, "gradient_share": SHARE},
        "vector-fields/hessian": {"num": 64, "divergence": CHECK, "curl": CHECK},
    },
    "elsewhere": {NAME: {"half": SCORE | PLACE}},
    "densities": {NAME: {"cluster": SCORE | PLACE | {"contexts": 25, "neighbours": 61.6}}},
    "gaps": {NAME: {"joint": {"gap": [0.01, 0.001]}, "conditional": {"gap": [0.02, 0.001]}}},
    "step_times": [{"case": "O(2)", "device": "one GPU", "milliseconds": 5.25, "batch": 32}],
}


@pytest.fixture
def models(tmp_path, monkeypatch):
    """Two models in a folder of their own, with scores shipped to them."""
    folder = tmp_path / "models"
    document = _model_files.document(_model_files.folder() / OLD)
    document["metadata"]["metrics"] = {}
    for name in (NAME, f"{NAME}-ndp", "vector-fields/hessian"):
        results.write(folder / f"{name}.json", document)
    path = tmp_path / "results.json"
    routes = {"conditional": SCORE, "joint": SCORE | {"regret": [0.004, 0.001]}}
    scores = {NAME: routes, f"{NAME}-ndp": {"conditional": SCORE}}
    results.write(path, {"scores": scores, **FILE})
    results.ship(path, tmp_path / "shipped.json", folder)
    monkeypatch.setattr(_model_files, "folder", lambda: folder)
    return tmp_path


def test_table_has_published_and_measured_rows(models):
    rows = {row[0]: row[1:] for row in table_fields.likelihoods().rows}
    assert table_fields.columns() == ("se", "curl-free", "div-free", "hessian")
    assert rows["E(2)-GeomNDP, paper"] == ("0.56", "0.65", "0.66", "")
    assert rows["SteerCNP, paper"][:3] == ("-1.61", "-1.57", "-1.57")
    assert rows["GP, exact"] == ("", "", "0.660 ± 0.010", "")
    assert rows["NDP*"][2] == "0.655 ± 0.010"
    assert rows["regret of E(2)-GeomNDP, joint route"][2] == "0.004 ± 0.001"
    assert "NDP*, joint route" not in rows
    (first, *_) = table_fields.errors().rows
    expected = ("256", "8", "0.01600", "0.00100", "0.00010", "0.0050 ± 0.0010")
    assert first == (NAME, "conditional", *expected)


def test_reproduce_writes_every_table(models, capsys):
    files = ["--results", str(models / "shipped.json"), "--out", str(models / "out")]
    assert main(["reproduce", "vector-fields", *files, "--no-figures"]) == 0
    text = (models / "out" / "vector-fields.md").read_text(encoding="utf-8")
    assert f"| {NAME} | fresh | 100 | 256 | 8 | 0.655 ± 0.010 | 0.0050 ± 0.0010 |" in text
    assert f"| {NAME} | 800 | 100 |  |  | 0.620 ± 0.010 | 0.0400 ± 0.0010 |" in text
    assert text.index("| 800 |") < text.index("| fresh |")
    share = "0.0200 ± 0.0010 | 0.0196 |"
    checks = "0.2100 ± 0.0010 | 0.2060 | 0.2100 ± 0.0010 | 0.2060"
    assert f"| {NAME} | 64 | {checks} | {share}" in text
    assert f"| vector-fields/hessian | 64 | {checks} |  |  |" in text
    assert f"| {NAME} | half | 324 | 0.0020 ± 0.0001 | 0.0040 ± 0.0001 | 1.010" in text
    row = "| cluster | 324 | 25 | 62 | 0.0020 ± 0.0001 | 0.0040 ± 0.0001 | 0.0050 ± 0.0010 |"
    assert f"| {NAME} {row}" in text
    assert "| O(2) | 5.2 | 32 | one GPU |" in text
    assert "Divergence and curl of samples" in capsys.readouterr().out


def test_no_results_no_tables():
    assert report_fields.tables({}) == []
    assert "| ConvCNP, paper | -1.71 | -1.77 | -1.76 |" in table_fields.likelihoods().markdown()


def test_file_in_the_package_is_readable():
    assert report_fields.tables(EXPERIMENT.read_results()) != []
    json.dumps(table_fields.tables())
