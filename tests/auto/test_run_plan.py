"""Decisions of a run: what was decided once stays decided."""

import json

import pytest

from geomndp.auto.run_plan import RunPlan


def test_decisions_are_read_from_the_folder(tmp_path):
    plan = RunPlan(tmp_path, {"seed": 0, "minutes": 3.0})
    assert plan.decide("steps", lambda: {"network": 300}) == {"network": 300}
    again = RunPlan(tmp_path, {"seed": 0, "minutes": 3.0})
    assert again.decide("steps", lambda: {"network": 900}) == {"network": 300}
    text = json.loads((tmp_path / "plan.json").read_text())
    assert text == {"settings": {"seed": 0, "minutes": 3.0}, "steps": {"network": 300}}
    assert RunPlan(None, {}).decide("steps", lambda: 5) == 5


def test_another_call_is_refused(tmp_path):
    RunPlan(tmp_path, {"seed": 0, "minutes": 3.0})
    with pytest.raises(ValueError, match=r"plan.json with minutes 3.0, got 5.0; choose another"):
        RunPlan(tmp_path, {"seed": 0, "minutes": 5.0})
