"""The learning curve: functions that teach or evaluate, and the log-densities compared."""

import json

import jax.numpy as jnp
import numpy as np
import pytest

from geomndp import ProcessModel
from geomndp.data import Normaliser
from geomndp.experiments.own_data.data_sets import read_set
from geomndp.gp import GP
from geomndp.kernels import Matern32

from .experiments.own_data.helper import write_set


@pytest.fixture
def curve(import_benchmark):
    return import_benchmark("learning_curve")


def test_functions_that_teach_and_functions_that_evaluate(curve, tmp_path):
    """Of the training functions alone; groups are kept together, more functions contain fewer."""
    function_set = read_set(write_set(tmp_path), "sines")
    grouped = function_set._replace(options=function_set.options | {"groups": "person"})
    grouped.table["person"] = grouped.table["function"].str.partition("_")[0]
    pool, held_out = curve.divide(grouped)
    assert sorted([*pool, *held_out]) == sorted(function_set.train)
    assert not {name.split("_")[0] for name in pool} & {name.split("_")[0] for name in held_out}
    assert curve.sizes_of(grouped, (2, 4, 1000)) == [2, 4, len(pool)]
    tasks = curve.held_out_tasks(grouped, held_out)
    assert {task.function for task in tasks} == set(held_out)
    assert {task.kind for task in tasks} == {"ctx2", "forecast"}


def test_nats_of_padded_tasks(curve, tmp_path):
    """Those of a process that is asked one task after the other."""
    function_set = read_set(write_set(tmp_path), "sines")
    tasks = curve.held_out_tasks(function_set, list(function_set.train[:2]))
    number = [task.kind for task in tasks].index("forecast")
    context, target = (type(part)(part.x[:1], part.y[:1]) for part in tasks[number][2:])
    tasks[number] = tasks[number]._replace(context=context, target=target)
    units = Normaliser(x_scale=8.0, y_shift=5.0, y_scale=2.0)
    model = ProcessModel(GP(Matern32(1.0), noise=0.1), units).with_variables("hour", "level")
    found = curve.joint_nats(model, tasks)
    for task, nats in zip(tasks, found.values["joint"], strict=True):
        law = model.condition(*map(jnp.asarray, task.context))
        expected = float(law.log_prob(*map(jnp.asarray, task.target))) / len(task.target.x)
        np.testing.assert_allclose(nats, expected, rtol=1e-6)


def test_a_unit_that_fails_leaves_the_others_alone(curve, tmp_path, monkeypatch, capsys):
    """Its name and error are printed; finished units are not computed again."""
    function_set, asked = read_set(write_set(tmp_path), "sines"), []

    def measure(function_set, n, folder, minutes):
        asked.append(n)
        if n == 4:
            raise ValueError("expected more functions")
        gains = {"GP": {"ctx2": [0.1, 0.02], "ctx10": [0.2, 0.02], "all": [0.3, 0.02]}}
        return {"set": function_set.name, "functions": n, "chosen": [["GP", 1.0]], "gains": gains}

    monkeypatch.setattr(curve, "measure", measure)
    units = [(function_set, n) for n in (2, 4, 8)]
    for _ in range(2):
        assert curve.measure_units(units, tmp_path, 1.0) == ["sines-4"]
    assert asked == [2, 4, 8, 4]
    assert json.loads((tmp_path / "sines-8.json").read_text())["functions"] == 8
    assert not (tmp_path / "sines-4.json").exists()
    assert "expected more functions" in capsys.readouterr().err
    monkeypatch.setattr(curve, "STORED", tmp_path / "stored")
    curve.merge(tmp_path)
    stored = json.loads((tmp_path / "stored").read_text())
    assert [unit["functions"] for unit in stored["units"]] == [2, 8]
    gains = ["+0.200 ± 0.020", "GP", "+0.200 ± 0.020"]
    assert stored["table"]["cells"][0] == ["sines", "2", "ctx10", *gains, "GP 1.00"]
    curve.draw(stored["units"], tmp_path / "curve.png")
    assert (tmp_path / "curve.png").stat().st_size > 0
