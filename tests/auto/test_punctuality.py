"""A whole fit ends in time, also on a machine that becomes half as fast after the timing."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import xarray as xr

from geomndp import build, fit
from geomndp.auto import (
    clock,
    early_stopping,
    gaussian_candidates,
    network_candidates,
    network_timing,
    outcome,
)
from geomndp.auto.gaussian_candidates import GaussianData
from geomndp.auto.network_candidates import NetworkValidation
from geomndp.baselines import CANDIDATES

from .helper import TINY

SIMPLE, PROGRAM, STEPS, VALIDATION, SAMPLES = 6.0, 8.0, 1.0, 0.5, 12.0
"""Seconds of: a fit of simple models, a compilation, a chunk of steps, a validation, samples."""


@pytest.fixture
def slow_machine(monkeypatch):
    """Everything takes a stated time, twice as long after the timing of networks."""
    moment, slowness = [0.0], [1.0]
    monkeypatch.setattr(clock, "now", lambda: moment[0])

    def taking(function, seconds):
        def call(*args, **kwargs):
            moment[0] += slowness[0] * seconds
            return function(*args, **kwargs)

        return call

    time_network = network_timing.time_network

    def timed(*args, **kwargs):
        moment[0] += slowness[0] * PROGRAM
        result = time_network(*args, **kwargs)
        slowness[0] = 2.0
        return result

    monkeypatch.setattr(network_timing, "time_network", timed)
    for owner, name, seconds in (
        (GaussianData, "fit", SIMPLE),
        (GaussianData, "refit", SIMPLE),
        (network_candidates, "train_steps", STEPS),
        (early_stopping, "train_steps", STEPS),
        (NetworkValidation, "_nats", VALIDATION),
        (outcome, "held_out_pit", SAMPLES),
    ):
        monkeypatch.setattr(owner, name, taking(getattr(owner, name), seconds))
    return moment


@pytest.mark.slow
def test_a_fit_ends_in_time_on_a_machine_that_becomes_slower(slow_machine, monkeypatch):
    monkeypatch.setattr(gaussian_candidates, "CANDIDATES", CANDIDATES[:1])
    x = jnp.linspace(0.0, 4.0, 7)
    phase = jr.uniform(jr.key(0), (44, 1))
    y = np.asarray((x[None] / 2 + phase) % 1.0)
    table = xr.Dataset({"y": (("function", "x"), y)}, {"x": np.asarray(x)})
    _, report = fit(build(table, symmetry="none", **TINY), minutes=2, key=0, quiet=True)
    assert slow_machine[0] <= 1.1 * 120
    assert slow_machine[0] == pytest.approx(report.seconds["all"])
    names = {result.name for result in report.candidates}
    assert any(name.startswith("corrected") for name in names) or "network" in names
