"""The clock of a fit: parts, a resumed run, and trainings that end in time."""

import jax.random as jr
import numpy as np
import pytest

from geomndp import build
from geomndp.auto import clock as module, early_stopping
from geomndp.auto.clock import FitClock
from geomndp.auto.cosine_adam import cosine_adam
from geomndp.auto.early_stopping import CHUNK, Deadline, train_validated
from geomndp.auto.network_candidates import NetworkCandidate
from geomndp.auto.run_plan import RunPlan

from .helper import TINY


@pytest.fixture
def time(monkeypatch):
    """A clock that stands still until a test moves it."""
    moment = [100.0]
    monkeypatch.setattr(module, "now", lambda: moment[0])
    return moment


def test_seconds_are_booked_to_parts_and_add_up_after_a_kill(time, tmp_path):
    clock = FitClock(60.0, tmp_path)
    time[0] += 2.0
    with clock.part("simple models"):
        time[0] += 10.0
        clock.save()
        time[0] += 3.0
        assert (clock.elapsed(), clock.left()) == (15.0, 45.0)
    assert clock.parts == {"other": 2.0, "simple models": 13.0}
    time[0] += 1000.0  # killed here: nothing was running
    again = FitClock(60.0, tmp_path)
    with again.part("simple models"):
        time[0] += 5.0
    assert again.parts == {"other": 2.0, "simple models": 18.0} and again.left() == 40.0


@pytest.fixture(scope="module")
def candidate(days):
    plan = build(days, function="day", batch_size=8, **TINY)
    return NetworkCandidate("network", plan, cosine_adam(plan.peak_learning_rate))


def _train(candidate, clock, run, folder, seconds, killed_at=None):
    trainer, state = candidate.start(np.arange(20), steps=8 * CHUNK, key=jr.key(1))

    def validate(score):
        if killed_at is not None and clock.elapsed() > killed_at:
            raise KeyboardInterrupt
        return np.zeros(1)

    deadline = Deadline(run, "end of network", lambda: seconds - clock.elapsed())
    options = {"validate": validate, "mean": np.mean, "deadline": deadline, "folder": folder}
    return train_validated(trainer, state, steps=8 * CHUNK, every=2 * CHUNK, **options)


@pytest.mark.parametrize("slowness", [1.0, 2.0, 5.0])
def test_a_training_ends_in_time_whatever_the_timing_said(
    candidate, time, monkeypatch, slowness, tmp_path
):
    """Eight calls of the program in eight seconds were foreseen; one call may be too many."""
    call = early_stopping.train_steps

    def slow(*args):
        time[0] += slowness
        return call(*args)

    monkeypatch.setattr(early_stopping, "train_steps", slow)
    clock, run = FitClock(60.0), RunPlan(tmp_path, {})
    result = _train(candidate, clock, run, tmp_path / "run", 8.0)
    assert clock.elapsed() <= 8.0 + slowness
    steps = [point.step for point in result.points]
    assert steps == [2 * CHUNK * (i + 1) for i in range(int(np.ceil(8 / slowness)) // 2)]


def test_a_training_that_was_stopped_is_stopped_again_at_the_same_step(
    candidate, time, monkeypatch, tmp_path
):
    """Resumed on a machine without any time left: the decision stands, not the clock."""
    call = early_stopping.train_steps

    def slow(*args):
        time[0] += 2.0
        return call(*args)

    monkeypatch.setattr(early_stopping, "train_steps", slow)
    first = _train(candidate, FitClock(60.0), RunPlan(tmp_path, {}), tmp_path / "a", 9.0)
    run = RunPlan(tmp_path, {})
    assert run.decisions["end of network"] == first.points[-1].step == 4 * CHUNK
    late = _train(candidate, FitClock(60.0), run, tmp_path / "b", -1.0)
    assert [point.step for point in late.points] == [point.step for point in first.points]
    np.testing.assert_array_equal(late.points[-1].params, first.points[-1].params)
