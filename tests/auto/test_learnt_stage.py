"""The order of networks within a budget."""

from types import SimpleNamespace

import jax.random as jr
import pytest

from geomndp.auto import learnt_stage
from geomndp.auto.budget import NetworkSchedule
from geomndp.auto.clock import FitClock
from geomndp.auto.gaussian_stage import GaussianStage
from geomndp.auto.learnt_stage import LearntStage
from geomndp.auto.network_candidates import NetworkTiming
from geomndp.auto.network_timing import LEFT_OUT
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.run_plan import RunPlan

TOO_SLOW = LEFT_OUT._replace(timing=NetworkTiming(0.3, 100.0, 15.0))
TRAINED = TOO_SLOW._replace(schedule=NetworkSchedule(600, 50, 8, 1, 200))


@pytest.mark.parametrize(
    ("first", "timed"),
    [
        (LEFT_OUT, ["corrected"]),
        (TOO_SLOW, ["corrected"]),
        (TRAINED, ["corrected", "network"]),
    ],
    ids=["no time", "too slow", "trained"],
)
def test_where_one_network_is_too_slow_no_other_is_compiled(monkeypatch, first, timed):
    asked = []

    def budget(family, *args, **options):
        asked.append(family.name)
        return first

    families = [SimpleNamespace(name=n, first_share=0.6) for n in ("corrected", "network")]
    monkeypatch.setattr(learnt_stage, "network_families", lambda *args, **options: families)
    monkeypatch.setattr(learnt_stage, "network_budget", budget)
    monkeypatch.setattr(LearntStage, "_train", lambda *args: 1.0)
    clock = FitClock(300.0, None)
    stage = LearntStage(jr.key(0), RunPlan(None, {}), clock, None, lambda line: None)
    monkeypatch.setattr(GaussianStage, "base", lambda self: None)
    gaussians = object.__new__(GaussianStage)
    gaussians.splits, gaussians.tasks = (), None
    stage.run(object.__new__(TrainingPlan), gaussians, 0.0)
    assert asked == timed
