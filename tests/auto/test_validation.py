"""Validation tasks: what they hold, and that one measurement serves all candidates."""

import numpy as np
import pytest

from geomndp.auto.validation import KINDS, MAX_TARGETS, validation_tasks


@pytest.fixture
def curves():
    """Ragged functions of two outputs whose values tell row, point and output."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, 10, (8, 100, 1))
    y = np.arange(8)[:, None, None] * 1000.0 + np.arange(100)[:, None] + [0.0, 0.5]
    mask = np.ones((8, 100), bool)
    mask[::2, 30:] = False
    mask[1, 1:] = False  # a single point: nothing to predict
    return x, y, mask


def test_context_and_targets_are_different_points_of_one_function(curves):
    x, y, mask = curves
    tasks = validation_tasks(x, y, mask, np.array([0, 1, 3, 6]), seed=0)
    assert sorted(set(tasks.function)) == [0, 3, 6]
    for i, row in enumerate(tasks.function):
        real = tasks.mask[i] > 0
        values = tasks.y[i, real, 0]
        points = (values - 1000 * row).astype(int)
        assert len(set(points)) == len(points) and mask[row, points].all()
        np.testing.assert_array_equal(tasks.x[i, real], x[row, points])
        context = tasks.context[i] > 0
        assert context.any() and not context[tasks.num_context :].any()
        assert 1 <= (real & ~context).sum() <= MAX_TARGETS
    assert tasks.num_values().sum() == 2 * (tasks.mask - tasks.context).sum()


def test_forecasts_look_ahead(curves):
    tasks = validation_tasks(*curves, np.array([3, 6]), seed=0)
    for i in np.flatnonzero(tasks.kind == "forecast"):
        x, context = tasks.x[i, :, 0], tasks.context[i] > 0
        targets = (tasks.mask[i] > 0) & ~context
        assert x[context].max() < x[targets].min()


def test_fields_have_no_forecasts(curves):
    x, y, mask = curves
    tasks = validation_tasks(np.repeat(x, 2, axis=2), y, mask, np.array([3]), seed=0)
    assert set(tasks.kind) == set(KINDS[:2])


def test_kinds_and_functions_count_the_same(curves):
    tasks = validation_tasks(*curves, np.array([0, 3]), seed=0)
    tasks = tasks.take(np.r_[0, 0, 0, 1:6])  # the first task four times
    values = np.r_[[3.0] * 3, 6.0, 9.0, 1.0, 1.0, 1.0]
    np.testing.assert_allclose(tasks.by_function(values), [6.0, 1.0])


def test_the_seed_gives_the_same_tasks(curves):
    first, second, other = (
        validation_tasks(*curves, np.array([0, 3]), seed=seed).y for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, second)
    assert first.shape != other.shape or not np.array_equal(first, other)


def test_single_points_cannot_validate(curves):
    with pytest.raises(ValueError, match="held-out functions with at least 2 points"):
        validation_tasks(*curves, np.array([1]), seed=0)


def test_missing_outputs_are_neither_context_nor_targets():
    rng = np.random.default_rng(0)
    x, y = rng.uniform(size=(20, 8, 1)), rng.normal(size=(20, 8, 2))
    mask = rng.uniform(size=y.shape) < 0.5
    mask[:, :2] = True
    tasks = validation_tasks(x, y, mask, np.arange(10), seed=0)
    values = tasks.mask[:, tasks.num_context :].sum(axis=(1, 2))
    assert (tasks.num_values() == values).all() and (values > 0).all()
    assert (tasks.context <= tasks.mask).all() and not tasks.context[:, tasks.num_context :].any()
    known = set(y[mask])
    assert set(tasks.y[tasks.mask > 0]) <= known
    assert not set(tasks.y[tasks.mask > 0]) & set(y[~mask])
