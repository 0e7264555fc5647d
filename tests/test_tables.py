"""Tables of README and docs are those of the stored results."""

import re
import runpy
import shutil
import sys

import pytest

from geomndp import _model_files
from geomndp.experiments import registry, results

from .commands import ROOT

TOOL = runpy.run_path(str(ROOT / "tools" / "tables.py"))
PAGES = {path.relative_to(ROOT).as_posix(): path for path in TOOL["pages"]()}


@pytest.mark.parametrize("name", PAGES)
def test_tables_of_pages_are_those_of_the_results(name):
    text = PAGES[name].read_text(encoding="utf-8")
    assert TOOL["update_tables"](text) == text, "python tools/tables.py writes them"


def test_every_experiment_has_tables_on_its_page_and_in_the_readme():
    stored = [name for name in registry.EXPERIMENTS if registry.experiment(name).results.exists()]
    assert len(stored) > 2
    for name in stored:
        page = f"docs/{name.replace('-', '_')}.md"
        for path in ("README.md", page):
            assert f"<!-- table: {name} / " in PAGES[path].read_text(encoding="utf-8")


def test_another_number_is_seen():
    text = PAGES["README.md"].read_text(encoding="utf-8")
    changed = re.sub(r"(\| exact GP \| 0\.)\d", r"\g<1>0", text)
    assert changed != text and TOOL["update_tables"](changed) == text
    with pytest.raises(ValueError, match=r"expected a table of cyclones .*Nothing"):
        TOOL["update_tables"]("<!-- table: cyclones / Nothing -->\n<!-- end of table -->")


def test_results_and_models_are_shipped_by_one_call(tmp_path, monkeypatch):
    """Into a copy of the folder of models and of the results."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    tool = runpy.run_path(str(ROOT / "tools" / "ship.py"))
    name, models = "regression1d/se", tmp_path / "models"
    (models / "regression1d").mkdir(parents=True)
    run = tmp_path / "run"
    run.mkdir()
    shutil.copy(_model_files.weights(_model_files.folder() / name), run / "model.safetensors")
    monkeypatch.setattr(_model_files, "folder", lambda: models)
    tool["ship_model"](name, str(run))
    assert _model_files.names() == [name] and _model_files.metadata(name)["metrics"] == {}
    tool["ship_model"](name, str(run), "bfloat16")
    assert _model_files.names() == [name] and _model_files.metadata(name)["metrics"] == {}
    assert b'"BF16"' in _model_files.weights(models / name).read_bytes()
    metrics = {"log_prob": [0.5, 0.1], "num": 8}
    path, target = tmp_path / "results.json", tmp_path / "target.json"
    results.write(path, {"scores": {name: {"in-range": {"conditional": metrics}}}, "noise": {}})
    sizes = {"results": target}
    monkeypatch.setattr(registry, "experiment", lambda _: type("Fake", (), sizes))
    tool["ship_results"]("regression1d", str(path))
    assert _model_files.metadata(name)["metrics"] == {"in-range": metrics}
    assert results.read(target) == {"noise": {}}
    assert "tables" in sys.modules
