"""Fits by selection of all kinds of data go the whole way: fields, gaps, covariates."""

import numpy as np
import pandas as pd
import pytest

from geomndp import build, fit, load
from geomndp.auto import gaussian_candidates, network_timing
from geomndp.auto.budget import NetworkSchedule
from geomndp.baselines import CANDIDATES

from .helper import SMALL, TINY


@pytest.fixture(autouse=True)
def one_form(monkeypatch):
    """A single form of the pooled process."""
    monkeypatch.setattr(gaussian_candidates, "CANDIDATES", CANDIDATES[:1])


@pytest.fixture
def short(monkeypatch):
    """Networks of a few steps."""
    schedule = NetworkSchedule(20, 10, 4, 1, 10)
    monkeypatch.setattr(network_timing, "network_schedule", lambda *a, **k: schedule)
    monkeypatch.setattr(network_timing, "FEW_FUNCTIONS", 10)


def _days(together: bool) -> pd.DataFrame:
    """Two related outputs, at the same hours or at hours of their own."""
    rng, (b, n) = np.random.default_rng(0), (20, 8)
    hour, day = np.tile(np.arange(n) * 3.0, b), np.repeat(np.arange(b), n)
    temp = 15 + 5 * np.sin(hour / 4 + np.repeat(rng.normal(size=b), n)) + rng.normal(size=b * n)
    frame = pd.DataFrame({"function": day, "hour": hour, "temp": temp, "hum": 80 - 2 * temp})
    frame["height"] = np.repeat(rng.uniform(size=b), n)
    if not together:
        even = np.arange(b * n) % 2 == 0
        frame.loc[even, "hum"], frame.loc[~even, "temp"] = np.nan, np.nan
    return frame


def test_outputs_that_are_never_observed_together():
    names = {"inputs": "hour", "outputs": ("temp", "hum")}
    plan = build(_days(together=False), symmetry="none", **names, **TINY)
    model, report = fit(plan, minutes=0.05, key=0, quiet=True)
    by_name = {result.name: result.nats for result in report.candidates}
    assert np.isfinite(by_name["GP"]) and by_name["GP"] > by_name["climatology"]
    assert 0.6 < report.coverage["all"] <= 1.0
    law = model.condition(np.array([3.0, 6.0]), np.array([[10.0, 60.0], [12.0, 55.0]]))
    assert np.isfinite(float(law.log_prob(np.array([9.0]), np.array([[14.0, 52.0]]))))


@pytest.mark.slow
def test_curves_with_covariates_are_validated_on_forecasts():
    names = {"inputs": "hour", "outputs": "temp", "covariates": ("height",)}
    plan = build(_days(together=True), symmetry="none", **names, **TINY)
    _, report = fit(plan, minutes=0.05, key=0, quiet=True)
    assert set(report.coverage) == {"few", "many", "forecast", "all"}


@pytest.mark.slow
@pytest.mark.parametrize("symmetry", ["none", "translation"])
def test_networks_of_outputs_with_gaps(symmetry, short, tmp_path):
    names = {"inputs": "hour", "outputs": ("temp", "hum")}
    plan = build(_days(together=False), symmetry=symmetry, **names, **TINY)
    _, report = fit(plan, minutes=20, key=0, quiet=True, directory=tmp_path)
    by_name = {result.name: result.nats for result in report.candidates}
    assert np.isfinite(by_name["network"])
    assert any(
        name.startswith("end of") or name.startswith("corrected") for name in _decided(tmp_path)
    )


@pytest.mark.slow
def test_vector_fields_of_the_plane(winds, short, tmp_path):
    plan = build(winds[["u", "v"]], "E(2)", representations=("vector",), inputs=("x", "y"), **SMALL)
    model, report = fit(plan, minutes=20, key=0, quiet=True, directory=tmp_path)
    by_name = {result.name: result.nats for result in report.candidates}
    assert np.isfinite(by_name["network"])
    assert any(name.startswith("corrected") for name in _decided(tmp_path))
    assert np.isfinite(report.nats)
    x, y = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[3.0, 1.0], [2.0, 2.0]])
    again = load(tmp_path)
    for law in (model, again):
        assert np.isfinite(float(law.condition(x, y).log_prob(x[:1] + 1.0, y[:1])))


def _decided(folder) -> list[str]:
    import json

    return list(json.loads((folder / "plan.json").read_text()))
