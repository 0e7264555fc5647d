"""Tasks of a table: rows as the file has them, missing values, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from geomndp.evaluate import random_tasks
from geomndp.evaluate.table_tasks import read_function_rows, read_tasks, spread_tasks
from geomndp.tables import name_variables

LEVELS = name_variables("t", "level", "real")


@pytest.fixture
def frame():
    columns = {"function": [7, 3, 7, 3, 7], "t": [2.0, 0.0, 1.0, 1.0, 0.0]}
    return pd.DataFrame(columns | {"level": [1.0, 2.0, np.nan, 4.0, 5.0]})


def test_rows_are_in_the_order_of_the_table(frame):
    functions = read_function_rows(frame, LEVELS, "function")
    assert list(functions) == ["7", "3"]
    assert_array_equal(functions["7"].x[:, 0], [2.0, 1.0, 0.0])
    assert_array_equal(functions["7"].y[:, 0], [1.0, np.nan, 5.0])


def test_a_dataset_and_its_padding(frame):
    wide = frame.assign(point=frame.groupby("function").cumcount())
    dataset = wide.set_index(["function", "point"]).to_xarray()
    functions = read_function_rows(dataset, LEVELS, "function")
    assert len(functions["7"].x) == 3 and len(functions["3"].x) == 2


def test_a_dataset_is_read_in_the_units_of_its_coordinates():
    days = np.array([0.0, 1.0, 2.0])
    about = ("t", 24 * days, {"units": "hours"})
    level = (("function", "t"), np.ones((2, 3)), {"units": "m"})
    dataset = xr.Dataset({"level": level}, {"t": about, "function": ["a", "b"]})
    named = name_variables("t", "level", "real", {"t": "days", "level": "m"})
    assert_allclose(read_function_rows(dataset, named, "function")["b"].x[:, 0], days)
    dated = dataset.assign_coords(t=("t", 24 * days, {"units": "hours since 2000-01-01"}))
    with pytest.raises(ValueError, match="expected 't' in 'days', got 'hours since"):
        read_function_rows(dated, named, "function")


def test_a_dataset_of_packed_values_is_refused():
    level = (("function", "t"), [[1.0, -999.0]], {"_FillValue": -999.0})
    dataset = xr.Dataset({"level": level}, {"t": [0.0, 1.0], "function": ["a"]})
    with pytest.raises(ValueError, match="fill value -999"):
        read_function_rows(dataset, LEVELS, "function")


def test_datetimes_count_from_the_first_of_their_function():
    times = pd.to_datetime(["2020-01-01", "2020-01-03", "2021-05-01", "2021-05-02"])
    table = pd.DataFrame({"function": list("aabb"), "t": times, "level": range(4)})
    named = name_variables("t", "level", "real", {"t": "days"})
    functions = read_function_rows(table, named, "function")
    assert_allclose([rows.x[1, 0] for rows in functions.values()], [2.0, 1.0])


def test_tracks_are_unit_vectors():
    table = pd.DataFrame({"function": "a", "t": [0.0, 1], "lat": [0, 90.0], "lon": [90.0, 0]})
    named = name_variables("t", ("lat", "lon"), "sphere")
    rows = read_function_rows(table, named, "function")["a"]
    assert_allclose(rows.y, [[0, 1, 0], [0, 0, 1]], atol=1e-12)


def test_rows_without_values_are_left_out(frame, tmp_path):
    functions = read_function_rows(frame, LEVELS, "function")
    task = {"kind": "k", "function": 7, "context": [0, 1], "target": [2, 1]}
    path = tmp_path / "tasks.json"
    path.write_text(json.dumps({"tasks": [task]}))
    for tasks in ([task], path):
        (read,) = read_tasks(tasks, functions)
        assert read.function == "7" and len(read.context.x) == len(read.target.x) == 1


WRONG = {
    "no such function": ({"function": "8"}, "expected a function of the table in task 0, got '8'"),
    "rows beyond the end": ({"target": [3]}, "expected rows 0 to 2 of '7' in task 0"),
    "nothing to predict": ({"target": [1]}, "expected targets with values in task 0, got none"),
    "no kind": ({"kind": None, "context": None}, "expected kind, function, context and target"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_tasks_are_refused(case, frame):
    change, message = WRONG[case]
    task = {"kind": "k", "function": "7", "context": [0], "target": [2], **change}
    with pytest.raises(ValueError, match=message):
        read_tasks([task], read_function_rows(frame, LEVELS, "function"))


def test_a_file_that_holds_no_tasks_is_refused(tmp_path):
    (tmp_path / "tasks.json").write_text("{}")
    with pytest.raises(ValueError, match="expected tasks in"):
        read_tasks(tmp_path / "tasks.json", {})


def test_random_tasks_part_the_rows(frame):
    table = pd.DataFrame({"function": np.repeat([1, 2], 10), "t": np.tile(range(10, 0, -1), 2)})
    functions = read_function_rows(table.assign(level=0.5), LEVELS, "function")
    with pytest.warns(UserWarning, match="no function has points enough for tasks of ctx12"):
        tasks = random_tasks(functions, contexts=(3, 12), forecast=True, max_targets=4, repeats=2)
    assert [task["kind"] for task in tasks] == ["ctx3"] * 4 + ["forecast"] * 4
    for task in tasks:
        assert len(task["target"]) == 4 and not set(task["target"]) & set(task["context"])
    assert tasks[-1]["context"] == [9, 8, 7, 6]  # the earliest 40 %, which stand last
    assert tasks[0] != tasks[2]
    with pytest.raises(ValueError, match="expected functions of more than 12 points, got none"):
        random_tasks(functions, contexts=(12,))
    with pytest.raises(ValueError, match="expected functions of more than 2 points, got none"):
        random_tasks(functions, contexts=())


def test_the_order_of_rows_does_not_change_random_tasks():
    """Rows of all functions shuffled, some of them at one location: the same points in each."""
    rng = np.random.default_rng(0)
    columns = {"function": np.repeat(list("abc"), 8), "t": rng.integers(0, 5, 24) / 2}
    table = pd.DataFrame(columns | {"level": rng.normal(size=24)})

    def points(table, **options):
        functions = read_function_rows(table, LEVELS, "function")
        tasks = random_tasks(functions, contexts=(2,), forecast=True, max_targets=3, **options)
        rows = read_tasks(spread_tasks(tasks, 2), functions)
        parts = [np.concatenate(part, axis=1) for task in rows for part in task[2:]]
        return [task[:2] for task in rows], np.concatenate(parts)

    names, first = points(table)
    shuffled, second = points(table.sample(frac=1.0, random_state=1))
    assert shuffled == names
    assert_array_equal(second, first)
    assert not np.array_equal(points(table, seed=1)[1], first)
    # Functions are drawn apart: without one of them the tasks of the others stay.
    alone = points(table[table.function != "b"])
    assert_array_equal(alone[1][:5], first[:5])


def test_rows_without_values_are_in_no_random_task():
    level = np.full(10, np.nan)
    level[[1, 4, 6, 8]] = 0.5
    table = pd.DataFrame({"function": "a", "t": np.arange(10.0), "level": level})
    functions = read_function_rows(table, LEVELS, "function")
    tasks = random_tasks(functions, contexts=(3,), forecast=True)
    for task in tasks:
        assert {*task["context"], *task["target"]} == {1, 4, 6, 8}
    assert [len(task["context"]) for task in tasks] == [3, 2]


def test_a_subset_is_spread_over_functions():
    """Ten functions, three tasks each of one kind, in blocks by function; five of another."""
    tasks = [{"kind": "a", "function": f, "number": n} for f in range(10) for n in range(3)]
    tasks += [{"kind": "b", "function": f, "number": 0} for f in range(5)]

    def chosen(num, kind="a"):
        return [(t["function"], t["number"]) for t in spread_tasks(tasks, num) if t["kind"] == kind]

    assert chosen(5) == [(f, 0) for f in (1, 3, 5, 7, 9)]
    assert sorted(f for f, n in chosen(12) if n == 0) == list(range(10))
    assert sorted(f for f, n in chosen(12) if n == 1) == [2, 7]
    assert len(chosen(200)) == 30 and len(chosen(3, "b")) == 3
    assert spread_tasks(tasks, 200) == tasks
