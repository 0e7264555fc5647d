"""Budgets: a schedule takes the time it is given."""

import pytest

from geomndp.auto.budget import (
    MIN_FUNCTIONS,
    MIN_STEPS,
    NUM_POINTS,
    VALIDATION_SHARE,
    network_schedule,
)
from geomndp.auto.early_stopping import CHUNK
from geomndp.auto.network_candidates import NetworkTiming


@pytest.mark.parametrize("seconds", [60.0, 200.0, 1000.0])
@pytest.mark.parametrize("step", [0.005, 0.05])
@pytest.mark.parametrize("validation", [0.1, 5.0])
@pytest.mark.parametrize("num_folds", [1, 5])
def test_a_schedule_fits_its_time(seconds, step, validation, num_folds):
    timing = NetworkTiming(step, validation)
    plan = network_schedule(seconds, timing, num_functions=40, num_folds=num_folds)
    assert plan.steps % plan.every == 0 == plan.every % CHUNK
    points = plan.steps // plan.every
    validating = points * validation * plan.num_functions / 40 * plan.num_folds
    least = (NUM_POINTS // 2 + 4) * validation * MIN_FUNCTIONS / 40 * plan.num_folds
    assert validating <= max(VALIDATION_SHARE * seconds, least)
    training = plan.num_folds * plan.steps * step
    assert training + plan.refit_steps * step <= seconds
    if plan.steps:
        assert MIN_STEPS * 0.6 <= plan.steps and 1 <= plan.num_folds <= num_folds
    else:
        assert seconds / step < 2 * MIN_STEPS + 16 * num_folds * validation / step


def test_too_little_time_leaves_a_network_out():
    timing = NetworkTiming(1.0, 1.0)
    assert network_schedule(60.0, timing, num_functions=10, num_folds=5).steps == 0
