"""Held-out functions: how many, whole groups, the last in time."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from geomndp import build
from geomndp.auto.selection import Selection
from geomndp.auto.split import NUM_FOLDS, cross_validates, split_functions
from geomndp.tables import read_groups

from .helper import TINY


@pytest.mark.parametrize("count", [2, 3, 7, 39, 40, 159, 160, 200])
@pytest.mark.parametrize("ordered", [True, False])
def test_every_function_is_either_fitted_or_held_out(count, ordered):
    splits = split_functions(count, seed=count, ordered=ordered)
    for train, held_out in splits:
        assert sorted([*train, *held_out]) == list(range(count))
        assert len(train) and len(held_out)
    if cross_validates(count, ordered):
        together = np.concatenate([split.held_out for split in splits])
        assert sorted(together) == list(range(count))
    else:
        (split,) = splits
        assert abs(len(split.held_out) - count / NUM_FOLDS) <= 1


def test_the_last_functions_in_time_are_held_out():
    ((train, held_out),) = split_functions(100, seed=0, ordered=True)
    assert train.max() < held_out.min() == 80
    few = split_functions(30, seed=0, ordered=True)
    assert [held_out.min() for _, held_out in few] == [24, 18, 12, 6, 0]  # the last one first


def test_functions_validate_in_turn_unless_many_or_followed_by_those_to_come():
    assert len(split_functions(159, seed=0)) == NUM_FOLDS
    assert len(split_functions(160, seed=0)) == 1
    assert len(split_functions(39, seed=0, ordered=True)) == NUM_FOLDS
    assert len(split_functions(40, seed=0, ordered=True)) == 1


@pytest.mark.parametrize("count", [30, 90])
def test_groups_are_never_divided(count):
    groups = [f"person {i // 3}" for i in range(count)]
    for train, held_out in split_functions(count, seed=1, groups=groups):
        assert not {groups[i] for i in train} & {groups[i] for i in held_out}


def test_another_seed_holds_out_others():
    first, second = (split_functions(60, seed=seed)[0].held_out for seed in (0, 1))
    assert set(first) != set(second)
    assert set(first) == set(split_functions(60, seed=0)[0].held_out)


def test_functions_shuffled_with_the_same_seed_are_not_sorted_again():
    """Two kinds of functions, one after the other, shuffled as anyone would."""
    kind = np.repeat([0, 1], 100)[np.random.default_rng(0).permutation(200)]
    ((_, held_out),) = split_functions(200, seed=0)
    assert 0.25 < kind[held_out].mean() < 0.75


def test_one_group_cannot_be_divided():
    with pytest.raises(ValueError, match="at least 2 functions or groups"):
        split_functions(5, seed=0, groups=["a"] * 5)


@pytest.fixture
def scans():
    """Functions "10", "9", ... whose labels do not come in the order of the rows."""
    labels = np.repeat([f"scan {i}" for i in (10, 9, 2, 1)], 3)
    person = np.repeat([1, 1, 2, 2], 3)
    x = np.tile(np.arange(3.0), 4)
    return pd.DataFrame({"scan": labels, "person": person, "x": x, "y": np.sin(x + person)})


def test_groups_of_a_column_follow_the_functions(scans):
    plan = build(scans, function="scan", inputs="x", groups="person", **TINY)
    scan_1, scan_2, scan_9, scan_10 = (plan.groups[row] for row in np.argsort(plan.order))
    assert (scan_1, scan_2, scan_9, scan_10) == ("2", "2", "1", "1")
    assert plan.functions.variables.output_names == ("y",)
    assert not plan.ordered


def test_a_function_has_one_group(scans):
    scans.loc[0, "person"] = 7
    with pytest.raises(ValueError, match=r"one value of 'person' per function, got .*scan 10"):
        read_groups(scans, "person", "scan")


def test_groups_follow_the_order_of_the_functions_dimensions():
    """Functions are numbered by (year, site); the labels stand over (site, year)."""
    labels = np.array([["a", "b", "c"], ["d", "e", "f"]])
    table = xr.Dataset(
        {"y": (("year", "site", "x"), np.zeros((3, 2, 4)))},
        {"x": np.arange(4.0), "person": (("site", "year"), labels)},
    )
    for function in (("year", "site"), None):
        found = read_groups(table, "person", function)[1]
        assert found == tuple(labels.T.ravel())
    assert read_groups(table, "person", ("site", "year"))[1] == tuple(labels.ravel())


def test_groups_of_a_dataset_and_labels():
    table = xr.Dataset(
        {"y": (("function", "x"), np.random.default_rng(0).normal(size=(4, 3)))},
        {"x": np.arange(3.0), "site": ("function", ["a", "b", "a", "b"])},
    )
    for plan, labels in (
        (build(table, groups="site", **TINY), "abab"),
        (build(table.drop_vars("site"), groups=[1, 1, 2, 2], **TINY), "1122"),
    ):
        assert [plan.groups[row] for row in np.argsort(plan.order)] == list(labels)
    with pytest.raises(ValueError, match="expected 4 groups, one per function, got 3"):
        build(table.drop_vars("site"), groups=[1, 2, 3], **TINY)
    with pytest.raises(ValueError, match="groups to be a variable"):
        build(table, groups="place", **TINY)


def test_splits_that_hold_out_no_tasks_are_left_out():
    """Of ten functions two have more than one point."""
    sizes = [1] * 8 + [6, 6]
    names = np.repeat([f"curve {i}" for i in range(10)], sizes)
    x = np.concatenate([np.arange(float(size)) for size in sizes])
    table = pd.DataFrame({"curve": names, "x": x, "y": np.sin(x + np.arange(x.size))})
    plan = build(table, function="curve", inputs="x", **TINY)
    selection = Selection(plan, 1.0, 0, None, lambda line: None)
    assert 1 <= len(selection.splits) <= 2
    for split in selection.splits:
        assert np.isin(split.held_out, selection.tasks.function).any()


def test_few_groups_of_many_functions_validate_in_turn():
    groups = [f"site {i % 5}" for i in range(400)]
    assert len(split_functions(400, seed=0, groups=groups)) == NUM_FOLDS
