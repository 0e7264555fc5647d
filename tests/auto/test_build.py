"""Training plans for a user's own data: what they choose and say, and how they train."""

import dataclasses
import importlib

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import build, fit, load
from geomndp.auto.data_statistics import density
from geomndp.auto.defaults import field_type_of
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential
from geomndp.nets import (
    BiDimensionalAttention,
    RelativeAttention,
    SphericalAttention,
    Steerable2,
    num_dropped_edges,
)
from geomndp.score import GaussianScore
from geomndp.tables import read_functions
from geomndp.train import DenoisingLoss, History, adam

from .helper import LENGTH, MEAN, SMALL, SPREAD, TINY, process

HISTORY = History(*[np.zeros(1)] * len(History._fields))


def test_recipe_for_a_line(days, tmp_path):
    plan = build(days, symmetry="translation", function="day", **TINY)
    model = plan.model
    assert isinstance(model.score.net, RelativeAttention)
    text = str(plan)
    for words in ("30 with 8-12 points", "time [hours]", "temperature [degC]", "translation"):
        assert words in text
    model.save(tmp_path / "mine")
    assert eqx.tree_equal(load(tmp_path / "mine"), model)
    seen = pd.DataFrame({"time": pd.to_datetime(["2025-01-01", "2025-01-02"]), "temperature": 20.0})
    read = model.condition(seen).observations
    assert_allclose(model.normaliser.inverse_x(read.x)[:, 0], [0.0, 24.0], atol=1e-9)
    assert_allclose(model.normaliser.inverse_y(read.y)[:, 0], [20.0, 20.0])


def test_a_recipe_goes_straight_into_fit(days, monkeypatch):
    """Its own data, loss and rates, unless others are given."""
    calls = []

    def train(score, noising, data, **options):
        calls.append((data, options))
        return score, HISTORY

    monkeypatch.setattr(importlib.import_module("geomndp.auto.fit"), "fit_score", train)
    plan = build(days, function="day", **TINY)
    model, history = fit(plan, steps=100, key=jr.key(0), quiet=True)
    assert eqx.tree_equal(model.score, plan.model.score) and history is HISTORY
    assert plan.model.support is None and model.support is not None
    data, options = calls[0]
    assert data is plan.data and options["loss"] is plan.loss
    assert (
        options["optimiser"] is adam(100, peak=plan.peak_learning_rate)
        and options["ema_decay"] == 0.8
    )
    fit(plan, steps=100, key=jr.key(0), loss=DenoisingLoss(), ema_decay=0.9)
    assert calls[1][1]["loss"] == DenoisingLoss() and calls[1][1]["ema_decay"] == 0.9
    with pytest.warns(DeprecationWarning, match="decay of fit_score is deprecated"):
        fit(plan, steps=100, key=jr.key(0), decay=0.7)
    assert calls[2][1]["ema_decay"] == 0.7


def test_densities_of_a_built_model_are_in_the_units_of_the_data(days):
    """With the exact score in place of the network: those of the process that drew the data."""
    model = build(days, function="day", **TINY).model
    units = model.normaliser
    (length,), (scale,) = units.x_scale, units.y_scale
    shift = (MEAN - units.y_shift[0]) / scale

    def mean(x):
        return jnp.full((len(x), 1), shift)

    kernel = SquaredExponential(LENGTH / length, (SPREAD / scale) ** 2)
    gp = GP(kernel, mean=mean, noise=0.04 / scale**2)
    exact = dataclasses.replace(model, score=GaussianScore(gp))
    one = days.isel(day=1).isel(reading=slice(0, 12, 3))
    hours = (one.time - one.time[0]).values / np.timedelta64(3600, "s")
    truth = process().log_prob(jnp.asarray(hours)[:, None], jnp.asarray(one.temperature)[:, None])
    assert_allclose(exact.log_prob(one), truth, atol=0.03)


def test_tracks(storms):
    plan = build(storms, "translation", "sphere", **TINY)
    net = plan.model.score.net
    assert (
        isinstance(net, SphericalAttention)
        and net.config.absolute_min_wavelength == 0
        and net.input_dim == 1
    )
    assert plan.model.variables.input_names == ("time",)
    norms = jnp.linalg.norm(plan.data.functions.y, axis=-1)
    assert_allclose(norms, 1.0)
    assert_allclose(
        np.median(storms.lat.diff("step")), np.degrees(net.config.resolution / 0.3), rtol=0.6
    )
    assert (
        build(storms, "none", "sphere", **TINY).model.score.net.config.absolute_min_wavelength > 0
    )


@pytest.mark.slow
def test_every_kind_trains(days, storms, winds):
    plans = (
        build(days, function="day", **TINY),
        build(storms, "none", "sphere", **TINY),
        build(winds, "E(2)", inputs=("x", "y"), representations=("vector", "scalar"), **SMALL),
    )
    for plan in plans:
        model, history = fit(plan, steps=2, key=jr.key(0), quiet=True)
        assert model.score.conditional and history.steps[-1] == 2


def test_fields_keep_the_symmetries_of_the_plane(winds):
    plan = build(winds, "E(2)", inputs=("x", "y"), representations=("vector", "scalar"), **SMALL)
    units, net = plan.model.normaliser, plan.model.score.net
    assert isinstance(net, Steerable2) and net.config.representations == ("vector", "scalar")
    assert int(num_dropped_edges(net, plan.data.x)) == 0
    assert len(units.x_scale) == 1
    assert units.y_shift[:2] == (0.0, 0.0) and abs(units.y_shift[2] - 1000) < 1
    assert units.y_scale[0] == units.y_scale[1] != units.y_scale[2]
    assert plan.data.batching.common_inputs and "vector, scalar, along x, y" in str(plan)
    assert field_type_of(read_functions(winds[["p"]]), "E(2)", None).representations == ("scalar",)


def test_without_symmetry_every_input_has_its_scale(winds):
    plan = build(winds.assign_coords(y=("y", np.arange(5.0), {"units": "m"})), "none", **TINY)
    net = plan.model.score.net
    # Inputs differ in kind: their order must matter.
    assert isinstance(net, BiDimensionalAttention) and net.config.token_axis == "points"
    assert net.config.num_frequencies >= 8 and "min_wavelength" in str(plan)
    assert len(plan.model.normaliser.x_scale) == 2 == len(set(plan.model.normaliser.x_scale))
    assert len(plan.model.normaliser.y_scale) == 3
    y = jnp.asarray(plan.data.functions.y)
    assert_allclose(jnp.std(y, axis=(0, 1)), 1.0, atol=1e-9)
    plain = build(winds, "none", **TINY, num_frequencies=0)
    assert "token_axis points" in str(plain) and "min_wavelength" not in str(plain)


def test_waves_of_absolute_inputs_reach_over_all_functions():
    start = np.linspace(0.0, 1000.0, 40)
    x = start[:, None] + np.linspace(0.0, 10.0, 12)
    spaced = density(x[..., None], np.ones(x.shape, bool))
    assert_allclose((spaced.extent, spaced.reach), (10.0, 1010.0))
    table = xr.Dataset({"f": (("function", "i"), np.sin(x))}, {"t": (("function", "i"), x)})
    net = build(table, "none", inputs="t", **TINY).model.score.net
    assert net.config.max_wavelength > 4 * np.ptp(start) / x.std()
