"""Exact processes and mixtures on the command line: as any model, but for the sampler."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from geomndp import ChartModel, MixtureProcess, ProcessModel, load
from geomndp.data import LocalFrame, LogTransform, Normaliser, StartDensity
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, SquaredExponential
from geomndp.marginals import SampleMarginals

LINE = "condition {} mast.csv --targets 1:5:2 --num-samples 3"


@pytest.fixture
def process(here):
    """A process of the temperature of mast.csv, saved beside it, and in a mixture."""
    units = Normaliser(y_shift=2.7, y_scale=0.2, transform=LogTransform())
    model = ProcessModel(GP(SquaredExponential(2.0), noise=0.01), units)
    model = model.with_variables("time", "temperature", units={"temperature": "degC"})
    model.save("gp", {"note": 1})
    network = load("mast")
    members = network, ProcessModel(model.process, units, network.variables)
    MixtureProcess(members, [0.0, 1.0]).save("both")
    return model


def test_condition_and_sample_give_the_library_s_samples(run_json, process):
    drawn = run_json(LINE.format("gp") + " --dtype float64")
    posterior = process.condition(pd.read_csv("mast.csv"))
    expected = posterior.sample(np.asarray([1.0, 3.0, 5.0]), key=jr.key(0), num_samples=3)
    assert_allclose([row["temperature"] for row in drawn], expected.reshape(-1), atol=1e-9)
    assert len(run_json("sample gp --targets 0:4:1 --num-samples 2")) == 2 * 5
    [first, *_] = run_json(LINE.format("gp") + " --summary")
    assert first["temperature_q05"] < first["temperature_mean"] < first["temperature_q95"]


def test_conformal_intervals_stand_beside_a_summary(run, run_json, process):
    """At the level that held-out functions corrected; without these, or samples, refused."""
    process.save("fitted", {"selection": {"conformal": [40, [0.02] * 400]}})
    rows = run_json(f"{LINE.format('fitted')} --summary --interval 0.9 --dtype float64")
    law = process.condition(pd.read_csv("mast.csv"))
    expected = law.quantile([0.01, 0.99], np.asarray([1.0, 3.0, 5.0]))[:, :, 0]
    found = [[row[f"temperature_{end}"] for row in rows] for end in ("low", "high")]
    assert_allclose(found, expected, rtol=1e-6)
    for model, options, message in (
        ("gp", "--summary --interval 0.9", "a model that gn.fit chose on held-out functions"),
        ("fitted", "--summary --interval 0.99", "at least 99 held-out functions"),
        ("fitted", "--interval 0.9", "--interval beside --summary of one function, got samples"),
        ("fitted", "--summary --interval 90", "a probability such as 0.9, got 90.0"),
    ):
        code, _, error = run(f"{LINE.format(model)} {options}")
        assert code == 1 and message in error, error
    code, _, error = run("sample fitted --targets 1:5:2 --summary --interval 0.9")
    assert code == 1 and "expected observations" in error, error


def test_intervals_of_a_network_are_those_of_the_samples_that_are_drawn(run_json, process):
    """By the sampler and the steps of the command, not drawn anew."""
    load("both").save("fitted", {"selection": {"conformal": [40, [0.8] * 400]}})
    options = " --num-samples 9 --steps 2 --dtype float64"
    drawn = run_json(LINE.format("fitted") + options)
    rows = run_json(f"{LINE.format('fitted')}{options} --summary --interval 0.9")
    values = np.asarray([row["temperature"] for row in drawn]).reshape(9, 3, 1)
    found = [[row[f"temperature_{end}"] for row in rows] for end in ("low", "high")]
    assert_allclose(found, SampleMarginals(jnp.asarray(values)).interval(0.8)[:, :, 0], rtol=1e-6)


def test_a_mixture_is_sampled_with_options_of_its_networks(run_json, process):
    drawn = run_json(LINE.format("both") + " --steps 2")
    assert len(drawn) == 9 and np.all(np.isfinite([row["temperature"] for row in drawn]))


def test_options_without_a_meaning_are_refused(run, process):
    for option in ("--steps 3", "--sampler flow"):
        code, _, error = run(f"{LINE.format('gp')} {option}")
        assert code == 1 and "expected a network for --s" in error, error
    code, _, error = run("evaluate gp --experiment regression1d/se")
    assert code == 1 and "geomndp evaluate MODEL TABLE takes any model" in error


def test_laws_of_tracks_are_conditioned_as_any_model(run, run_json, here):
    kernel = Coregionalised(SquaredExponential(6.0), ((4e4, 0.0), (0.0, 4e4)))
    flat = ProcessModel(GP(kernel, noise=(25.0, 25.0)))
    start = StartDensity(np.asarray([[1.0, 0.0, 0.0]]), 100.0)
    model = ChartModel(flat, LocalFrame(), start).with_variables("hours", ("lat", "lon"))
    model.save("tracks")
    fixes = pd.DataFrame({"hours": [0.0, 6.0], "lat": [10.0, 10.5], "lon": [179.5, -179.5]})
    fixes.to_csv("fixes.csv", index=False)
    line = "condition tracks fixes.csv --targets 3:5:1 --num-samples 4 --obs-std 5"
    drawn = pd.DataFrame(run_json(line))
    assert np.all(np.abs(drawn["lat"] - 10.25) < 2) and np.all(np.abs(drawn["lon"]) > 177)
    assert len(run_json("sample tracks --targets 0:12:6 --num-samples 2")) == 6
    code, _, error = run(f"{line} --steps 3")
    assert code == 1 and "expected a network for --s" in error, error
