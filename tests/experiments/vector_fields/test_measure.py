"""Parts of the vector-field results are written at once, and not measured again."""

import pytest

from geomndp import Model, _model_files
from geomndp.experiments import results
from geomndp.experiments.vector_fields import measure as measure_fields
from geomndp.score import GaussianScore

from ..helper import NOISING, RIGHT

OLD = "regression1d-gnp2020/sawtooth"  # a pair of files of version 1, whose JSON is the document

NAME = "vector-fields/div-free"
SCORE = {"log_prob": [0.6, 0.01], "regret": [0.05, 0.001], "num": 8, "solver_error": 1e-4}
SCORE |= {"probes": 4, "probe_error": 0.02}


def test_parts_are_measured_once(tmp_path, monkeypatch):
    path, called = tmp_path / "results.json", []

    def physics(*_, num, key):
        called.append(num)
        return {"num": num}

    def grids(*_, num, names):
        called.extend(names)
        return {name: {"num": num} for name in names}

    monkeypatch.setattr(measure_fields, "sample_physics", physics)
    monkeypatch.setattr(measure_fields, "evaluate_unseen", grids)
    results.write(path, {"elsewhere": {NAME: {"half": {"num": 1}}}})
    model = Model(NOISING, GaussianScore(RIGHT))
    for _ in range(2):
        measure_fields.measure(NAME, model, path, num=3, samples=4, names=("half", "moved"))
    assert called == [4, "moved"]
    assert results.read(path)["elsewhere"][NAME] == {"half": {"num": 1}, "moved": {"num": 3}}


def test_runs_become_points_of_a_curve(tmp_path):
    path, document = tmp_path / "all.json", _model_files.document(_model_files.folder() / OLD)
    for functions, steps in ((800, 10), (800, 20), (None, 20)):
        run = tmp_path / f"{functions}-{steps}"
        notes = {"experiment": NAME, "functions": functions, "steps": steps}
        results.write(run / "model.json", document | {"metadata": notes})
        with pytest.raises(ValueError, match="expected scores of vector-fields/div-free"):
            measure_fields.add_efficiency(run, path)
        results.write(run / "results.json", {"scores": {NAME: {"conditional": SCORE}}})
        measure_fields.add_efficiency(run, path)
    curve = results.read(path)["efficiency"][NAME]
    assert [(point["functions"], point["steps"]) for point in curve] == [(800, 20), (None, 20)]
    assert SCORE.items() <= curve[0].items()
