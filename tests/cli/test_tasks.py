"""`geomndp condition --tasks`: a folder or a long table in, one table out, resumable."""

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import ProcessModel
from geomndp.cli.main import main
from geomndp.cli.predict_args import Condition
from geomndp.cli.task_tables import read_tasks, zoned_inputs
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    process = ProcessModel(GP(SquaredExponential(0.5), noise=0.01)).with_variables("x", "y")
    process.save("model")
    return process


def table():
    rng = np.random.default_rng(0)
    names = ["a", "b"]
    rows = {"task": np.repeat(names, 3), "x": rng.normal(size=6), "y": rng.normal(size=6)}
    return pd.DataFrame(rows)


def test_a_table_and_a_folder_give_what_single_conditions_do(model, capsys):
    frame = table()
    frame.to_csv("tasks.csv", index=False)
    pd.DataFrame({"task": ["b", "a", "b"], "x": [0.1, 0.2, 0.3]}).to_csv("ends.csv", index=False)
    line = ["condition", "model.safetensors", "--num-samples", "3", "--dtype", "float64"]
    assert main([*line, "--tasks", "tasks.csv", "--targets", "ends.csv", "--out", "one.nc"]) == 0
    assert "3 samples of each of 2 tasks" in capsys.readouterr().out
    with xr.open_dataset("one.nc") as result:
        assert list(result["task"].values) == ["a", "b", "b"]
        assert_allclose(result["x"], [0.2, 0.1, 0.3])
        values = result["y"].transpose("sample", "row").values
    own = [
        (f[["x", "y"]], x)
        for (_, f), x in zip(frame.groupby("task"), ([0.2], [0.1, 0.3]), strict=True)
    ]
    pairs = [(f, pd.DataFrame({"x": x})) for f, x in own]
    expected = [
        s["y"].to_numpy().reshape(3, -1)
        for _, s in model.condition_many(pairs).sample(key=0, num_samples=3)
    ]
    assert_allclose(values, np.concatenate(expected, axis=1), rtol=1e-6)
    for name, rows in frame.groupby("task"):
        Path("folder").mkdir(exist_ok=True)
        rows[["x", "y"]].to_csv(Path("folder") / f"{name}.csv", index=False)
    assert main([*line, "--tasks", "folder", "--targets", "ends.csv", "--out", "two.csv"]) == 0
    again = pd.read_csv("two.csv")
    assert_allclose(again["y"].to_numpy().reshape(3, -1), values, rtol=1e-6)
    assert not list(Path().glob("*.tasks"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tasks", "tasks.csv"], "expected --out FILE with --tasks"),
        (["tasks.csv", "--tasks", "tasks.csv", "--out", "o.nc"], "OBSERVATIONS or --tasks, got"),
        (["--tasks", "tasks.csv", "--out", "o.nc", "--task-column", "storm"], "a column 'storm'"),
        (["--tasks", "tasks.csv", "--out", "o.zarr"], "a Zarr store, got --tasks"),
        (["tasks.csv", "--scheduler", "threads"], "with --scheduler, got neither"),
        (["--tasks", "empty", "--out", "o.nc"], "files of observations in empty, got none"),
        (["--tasks", "other.csv", "--out", "o.nc"], "targets of every task, got none of task 'c'"),
        (["--tasks", "twice", "--out", "o.nc"], "one file per task, got a.csv and a.nc"),
        (["--tasks", "units", "--out", "o.nc"], "expected the units of a.nc, {'y': 'm'}, in b.nc"),
        (["--tasks", "bad.csv", "--out", "o.nc"], "task 'a': expected numbers in 'y'"),
    ],
)
def test_mistakes_in_one_sentence(model, options, message, capsys, tmp_path):
    frame = table()
    frame.to_csv("tasks.csv", index=False)
    frame.assign(task="c").to_csv("other.csv", index=False)
    frame.assign(y=["1"] * 3 + ["one"] * 3).to_csv("bad.csv", index=False)
    pd.DataFrame({"task": ["b", "a"], "x": [0.1, 0.2]}).to_csv("ends.csv", index=False)
    for folder in ("empty", "twice", "units"):
        (tmp_path / folder).mkdir()
    frame.to_csv(tmp_path / "twice" / "a.csv", index=False)
    for name, unit in (("a", "m"), ("b", "km")):
        dataset = xr.Dataset({"y": ("x", [1.0], {"units": unit})}, {"x": [0.5]})
        dataset.to_netcdf(tmp_path / "units" / f"{name}.nc")
    shutil.copy(tmp_path / "units" / "a.nc", tmp_path / "twice")
    line = ["condition", "model.safetensors", *options, "--targets", "ends.csv"]
    assert main(line) != 0
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (("2024-01-01", "2024-01-02T06:00"), None),
        (("2024-01-01T00:00Z", "2024-01-02T06:00Z"), "'time' in b.csv without a time zone as"),
        (("2024-01-01", "2024-01-02T06:00Z"), "in 'time' all with a time zone or all without"),
    ],
)
def test_time_zones_of_all_files_count(second, message, tmp_path):
    for name, times in (("a", ("2024-01-01", "2024-01-02")), ("b", second)):
        pd.DataFrame({"time": times, "y": [1.0, 2.0]}).to_csv(tmp_path / f"{name}.csv", index=False)
    command = Condition(name="model", targets=(), tasks=str(tmp_path), out="o.nc")
    if message is None:
        assert zoned_inputs(read_tasks(command), ("time",)) is False
        return
    with pytest.raises(ValueError, match=message):
        zoned_inputs(read_tasks(command), ("time",))


@pytest.mark.filterwarnings("default::UserWarning")
def test_the_file_that_is_read_as_text_is_named(model, capsys, tmp_path):
    (tmp_path / "tasks").mkdir()
    for name, cell in (("a", "0,5"), ("b", "1,234")):
        (tmp_path / "tasks" / f"{name}.csv").write_text(f"x;y\n0,5;{cell}\n")
    line = ["condition", "model.safetensors", "--tasks", str(tmp_path / "tasks")]
    assert main([*line, "--targets", "0:1:0.5", "--out", str(tmp_path / "out.csv")]) == 1
    error = capsys.readouterr().err
    assert "warning: CSV read with semicolons between columns; decimal commas in 'x', 'y'" in error
    assert "task 'b': expected numbers in 'y', got text, '1,234'" in error


def test_a_model_of_a_column_named_task_is_asked_without_tasks(model):
    model.with_variables("task", "y").save("own")
    pd.DataFrame({"task": [0.0, 1.0], "y": [0.5, 1.0]}).to_csv("new.csv", index=False)
    line = ["condition", "own.safetensors", "new.csv", "--targets", "0:1:0.5"]
    assert main([*line, "--num-samples", "2", "--out", "out.csv"]) == 0


def test_the_column_of_functions_may_be_that_of_the_tasks(model, capsys):
    model.save("model", metadata={"function": "id"})
    table().rename(columns={"task": "id"}).to_csv("new.csv", index=False)
    line = ["condition", "model", "--targets", "0:1:0.5", "--num-samples", "2"]
    assert main([*line, "new.csv"]) == 1
    assert "--tasks new.csv --task-column id --out FILE" in capsys.readouterr().err
    assert main([*line, *"--tasks new.csv --task-column id --out out.csv".split()]) == 0
    found = pd.read_csv("out.csv")
    assert list(found) == ["sample", "x", "id", "y"]  # coordinates first
    assert list(found["id"].unique()) == ["a", "b"]


@pytest.mark.parametrize("names, wanted", [(["007", "7"], ["7", "007"]), (["7", "8"], ["8", "7"])])
def test_labels_of_tasks_are_those_of_the_files(model, names, wanted):
    frame = table()
    frame["task"] = np.repeat(names, 3)
    frame.to_csv("tasks.csv", index=False)
    pd.DataFrame({"task": wanted, "x": [0.1, 0.2]}).to_csv("ends.csv", index=False)
    Path("folder").mkdir()
    for name, rows in frame.groupby("task"):
        rows[["x", "y"]].to_csv(Path("folder") / f"{name}.csv", index=False)
    line = ["condition", "model", "--targets", "ends.csv", "--num-samples", "1", "--out", "out.csv"]
    for tasks in ("tasks.csv", "folder"):
        assert main([*line, "--tasks", tasks]) == 0
        found = pd.read_csv("out.csv", dtype={"task": str})
        assert dict(zip(found["task"], found["x"], strict=True)) == {wanted[0]: 0.1, wanted[1]: 0.2}
