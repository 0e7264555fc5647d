"""Means per kind and standard errors over functions, against formulas."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.evaluate.task_metrics import (
    TaskMetrics,
    compare,
    over_functions,
    paired_differences,
)


def metrics(joint, kinds="aaaabb", functions="uvuvuv"):
    """Six tasks of two kinds and two functions."""
    values = {"joint": np.asarray(joint, float), "squared_error": np.full(6, 4.0)}
    return TaskMetrics(tuple(kinds), tuple(functions), values, np.zeros((6, 1)))


def test_standard_errors_are_over_functions():
    summary = metrics([1, 2, 3, 6, 0, 0]).summary()
    mean, error = summary["a"]["joint"]
    assert mean == 3 and summary["a"]["tasks"] == 4
    assert_allclose(error, np.std([2, 4], ddof=1) / np.sqrt(2))
    assert summary["a"]["rmse"] == [2.0, 0.0]


@pytest.mark.parametrize("counts", [(1, 1, 1, 1, 5, 5, 5, 5), (10, 1, 1, 1, 1, 1, 1, 1)])
def test_functions_of_many_tasks_have_their_part_in_the_error(counts):
    """Equal tasks of independent functions: the deviation of the mean of all tasks is known."""
    effects = np.random.default_rng(0).normal(size=(4000, 8))
    names = np.repeat(np.arange(8), counts)
    errors = [over_functions(effect[names], names)[1] for effect in effects]
    deviation = np.linalg.norm(counts) / np.sum(counts)
    assert_allclose(np.sqrt(np.mean(np.square(errors))), deviation, rtol=0.05)


def test_one_function_has_no_standard_error():
    assert metrics(range(6), functions="uuuuuu").summary()["b"]["joint"][1] is None


def test_differences_are_paired():
    first, second = metrics([1, 2, 3, 6, 7, 9]), metrics([0, 1, 2, 5, 5, 7])
    by_kind = {d.kind: d for d in paired_differences(first, second)}
    assert by_kind["a"][2:] == (1, 0) and by_kind["b"][2:] == (2, 0)
    assert by_kind["all"].mean == 1.5
    assert_allclose(by_kind["all"].standard_error, 0, atol=1e-12)
    with pytest.raises(ValueError, match="expected metrics of the same tasks"):
        paired_differences(first, metrics(range(6), functions="uvuvuw"))


def test_the_error_of_the_mean_over_kinds_is_that_of_function_means():
    """Where all functions have the same tasks, it is the plain one of their means over kinds."""
    joint = np.array([1.0, 5, 2, 3, 4, 9])
    (difference,) = [d for d in paired_differences(metrics(joint), metrics(np.zeros(6)))][2:]
    means = [np.mean([np.mean(joint[[i, i + 2]]), joint[i + 4]]) for i in (0, 1)]
    assert_allclose(difference.mean, np.mean(means))
    assert_allclose(difference.standard_error, np.std(means, ddof=1) / np.sqrt(2))
    assert metrics(joint).over_kinds()["joint"] == list(difference[2:])


def test_a_table_has_the_first_as_reference():
    rows = compare({"ours": metrics([2, 2, 2, 2, 2, 2]), "theirs": metrics([1, 2, 1, 2, 1, 1])})
    assert list(rows.kind) == ["a", "a", "b", "b"]
    assert list(rows.joint_gain) == [0, 0.5, 0, 1] and set(rows.rmse) == {2.0}


def test_an_infinite_score_has_no_error_and_no_nan():
    values = {"crps": np.array([1.0, np.inf, 2.0, 3.0]), "squared_error": np.full(4, np.inf)}
    found = TaskMetrics(("few",) * 4, ("a", "a", "b", "c"), values, np.zeros((4, 1)))
    expected = [np.inf, None]
    summary = found.summary()["few"]
    assert summary["crps"] == summary["rmse"] == found.over_kinds()["crps"] == expected
