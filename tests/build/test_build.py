"""Recipes for a user's own data: what they read, choose, say, and how they train."""

import dataclasses
import importlib

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import build, fit, load
from geomndp._build.choose import kinds_of
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential
from geomndp.nets import (
    BiDimensionalAttention,
    RelativeAttention,
    Steerable2,
    TrackAttention,
    missed_neighbours,
)
from geomndp.score import GaussianScore
from geomndp.tables import read_functions
from geomndp.train import DenoisingLoss, History, adam

TINY = {"width": 8, "num_layers": 1, "num_heads": 2}
HISTORY = History(*[np.zeros(1)] * len(History._fields))
SMALL = {"width": 4, "num_layers": 1, "channels": 2}
LENGTH, MEAN, SPREAD = 5.0, 15.0, 4.0  # hours, degrees


def process():
    """The law of the temperatures, in the data's units."""

    def mean(x):
        return jnp.full((len(x), 1), MEAN)

    return GP(SquaredExponential(LENGTH, SPREAD**2), mean=mean, noise=0.04)


@pytest.fixture(scope="module")
def days():
    """Functions of different lengths at datetimes of their own; padding is NaN."""
    rng, (b, n) = np.random.default_rng(0), (30, 12)
    hours = np.sort(rng.uniform(0, 24, (b, n)), axis=1)
    keys = jr.split(jr.key(0), b)
    draw = jax.vmap(lambda x, key: process().sample(x, key=key))
    values = np.array(draw(jnp.asarray(hours)[:, :, None], keys)[..., 0])
    start = np.datetime64("2024-01-01", "ns") + np.arange(b)[:, None] * np.timedelta64(1, "D")
    time = start + (hours * 3.6e12).astype("timedelta64[ns]")
    values[::2, 8:] = np.nan
    about = {"units": "degC", "long_name": "air temperature"}
    dims = ("day", "reading")
    return xr.Dataset({"temperature": (dims, values, about)}, {"time": (dims, time)})


@pytest.fixture(scope="module")
def storms():
    rng, shape = np.random.default_rng(0), (25, 10)
    lat = 15 + np.cumsum(rng.normal(0.5, 0.2, shape), axis=1)
    lon = 179 + np.cumsum(rng.normal(0.5, 0.2, shape), axis=1)
    dims = ("function", "step")
    time = np.broadcast_to(6.0 * np.arange(10), shape)
    coords = {
        "time": (dims, time, {"units": "hours"}),
        "lat": (dims, lat, {"units": "degrees_north"}),
        "lon": (dims, lon, {"units": "degrees_east"}),
    }
    return xr.Dataset(coords=coords)


@pytest.fixture(scope="module")
def winds():
    """Vector fields and a scalar on one grid."""
    rng, shape = np.random.default_rng(0), (24, 5, 4)
    dims = ("function", "y", "x")
    data = {name: (dims, rng.normal(3, 2, shape), {"units": "m s-1"}) for name in "uv"}
    data["p"] = (dims, 1000 + rng.normal(size=shape), {"units": "hPa"})
    return xr.Dataset(data, {"y": np.arange(5.0), "x": np.arange(4.0)})


def test_functions_are_read_with_their_times_and_padding(days):
    read = read_functions(days, function="day")
    assert read.x.shape == (30, 12, 1) and read.y.shape == (30, 12, 1)
    assert_array_equal(read.mask.sum(axis=1), np.where(np.arange(30) % 2 == 0, 8, 12))
    about = read.variables
    assert about.inputs[0].units == "hours" and about.outputs[0].long_name == "air temperature"
    assert_allclose(read.x[:, 0], 0.0)
    gaps = (days.time[1] - days.time[1, 0]).values / np.timedelta64(3600, "s")
    assert_allclose(read.x[1, :, 0], gaps, atol=1e-9)
    assert_allclose(read.y[read.mask][:, 0], days.temperature.values[read.mask])


def test_a_frame_of_functions_is_the_same(days):
    frame = days.to_dataframe().reset_index().dropna()
    shuffled = frame.sample(frac=1, random_state=0).sort_values(["reading"])
    shuffled.attrs["units"] = {"temperature": "degC"}
    read = read_functions(shuffled, function="day", inputs="time", outputs="temperature")
    expected = read_functions(days, function="day")
    assert_array_equal(read.mask, expected.mask)
    assert_allclose(read.x, expected.x)
    assert_allclose(read.y, expected.y)


def test_absolute_times_keep_their_date(days):
    read = read_functions(days, function="day", elapsed=False)
    assert read.variables.inputs[0].units.startswith("hours since 2024-01-01 ")
    assert np.ptp(read.x[read.mask]) > 29 * 24 - 24


def test_recipe_for_a_line(days, tmp_path):
    recipe = build(days, symmetry="translation", function="day", **TINY)
    model = recipe.model
    assert isinstance(model.score.net, RelativeAttention)
    text = str(recipe)
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

    monkeypatch.setattr(importlib.import_module("geomndp.model.fit"), "fit_score", train)
    recipe = build(days, function="day", **TINY)
    model, history = fit(recipe, steps=100, key=jr.key(0), quiet=True)
    assert eqx.tree_equal(model, recipe.model) and history is HISTORY
    data, options = calls[0]
    assert data is recipe.data and options["loss"] is recipe.loss
    assert options["optimiser"] is adam(100, peak=recipe.peak) and options["decay"] == 0.8
    fit(recipe, steps=100, key=jr.key(0), loss=DenoisingLoss(), decay=0.9)
    assert calls[1][1]["loss"] == DenoisingLoss() and calls[1][1]["decay"] == 0.9


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
    recipe = build(storms, "translation", "sphere", **TINY)
    net = recipe.model.score.net
    assert isinstance(net, TrackAttention) and net.absolute == 0 and net.input_dim == 1
    assert recipe.model.variables.input_names == ("time",)
    norms = jnp.linalg.norm(recipe.data.functions.y, axis=-1)
    assert_allclose(norms, 1.0)
    assert_allclose(np.median(storms.lat.diff("step")), np.degrees(net.resolution / 0.3), rtol=0.6)
    assert build(storms, "none", "sphere", **TINY).model.score.net.absolute > 0


@pytest.mark.slow
def test_every_kind_trains(days, storms, winds):
    recipes = (
        build(days, function="day", **TINY),
        build(storms, "none", "sphere", **TINY),
        build(winds, "E(2)", inputs=("x", "y"), kinds=("vector", "scalar"), **SMALL),
    )
    for recipe in recipes:
        model, history = fit(recipe, steps=2, key=jr.key(0), quiet=True)
        assert model.score.conditional and history.steps[-1] == 2


def test_fields_keep_the_symmetries_of_the_plane(winds):
    recipe = build(winds, "E(2)", inputs=("x", "y"), kinds=("vector", "scalar"), **SMALL)
    units, net = recipe.model.normaliser, recipe.model.score.net
    assert isinstance(net, Steerable2) and net.kinds == ("vector", "scalar")
    assert int(missed_neighbours(net, recipe.data.x)) == 0
    assert len(units.x_scale) == 1
    assert units.y_shift[:2] == (0.0, 0.0) and abs(units.y_shift[2] - 1000) < 1
    assert units.y_scale[0] == units.y_scale[1] != units.y_scale[2]
    assert recipe.data.shared and "vector, scalar, along x, y" in str(recipe)
    assert kinds_of(read_functions(winds[["p"]]), "E(2)", None).kinds == ("scalar",)


def test_without_symmetry_every_input_has_its_scale(winds):
    recipe = build(winds.assign_coords(y=("y", np.arange(5.0), {"units": "m"})), "none", **TINY)
    assert isinstance(recipe.model.score.net, BiDimensionalAttention)
    assert len(recipe.model.normaliser.x_scale) == 2 == len(set(recipe.model.normaliser.x_scale))
    assert len(recipe.model.normaliser.y_scale) == 3
    y = jnp.asarray(recipe.data.functions.y)
    assert_allclose(jnp.std(y, axis=(0, 1)), 1.0, atol=1e-9)


WRONG = {
    "symmetry": (lambda d, s, w: build(d, "rotation", function="day"), "symmetry to be one of"),
    "codomain": (lambda d, s, w: build(d, codomain="torus"), "codomain to be one of"),
    "no functions": (lambda d, s, w: build(d), "expected a dimension 'function', got 'day'"),
    "other functions": (lambda d, s, w: build(d, function="hour"), "over the dimension 'hour'"),
    "no outputs": (lambda d, s, w: build(d[[]], function="day"), "expected data variables"),
    "no inputs": (lambda d, s, w: build(w.drop_vars(["x", "y"])), "coordinates to be the inputs"),
    "missing output": (
        lambda d, s, w: build(d, function="day", outputs="pressure"),
        "expected a variable or coordinate 'pressure'",
    ),
    "empty function": (
        lambda d, s, w: build(d.where(d.day != 3), function="day"),
        "got none in function 3",
    ),
    "infinite output": (
        lambda d, s, w: build(d.where(d.day != 3, np.inf), function="day"),
        r"expected finite 'temperature' \(NaN pads\), got infinity in function 3",
    ),
    "infinite input": (
        lambda d, s, w: build(
            s.assign_coords(time=s.time.where(s["step"] < 9, np.inf)), "none", "sphere"
        ),
        "expected finite 'time'",
    ),
    "members as points": (
        lambda d, s, w: build(
            w.expand_dims(member=3), "none", inputs=("x", "y"), function="function"
        ),
        r"expected 'u' over the dimensions .*'function', 'x', 'y'\), got 'member', 'function'",
    ),
    "output of a row": (
        lambda d, s, w: build(w.assign(p=w.p.isel(x=0, drop=True)), "none"),
        "expected 'p' over the dimensions",
    ),
    "half a vector": (
        lambda d, s, w: build(w.assign(u=w.u.where(w.x != 2)), "none"),
        "expected all outputs at a point or none",
    ),
    "vector without order": (
        lambda d, s, w: build(w[["u", "v"]], "E(2)"),
        "inputs=... in the order",
    ),
    "kinds": (lambda d, s, w: build(w, "E(2)", inputs=("x", "y")), "expected kinds="),
    "wrong kinds": (
        lambda d, s, w: build(w, "E(2)", inputs=("x", "y"), kinds="vector"),
        "expected kinds of 3 outputs, got 2",
    ),
    "plane in time": (lambda d, s, w: build(d, "E(2)", function="day"), "expected 2 inputs for E"),
    "kinds on a line": (
        lambda d, s, w: build(d, function="day", kinds="scalar"),
        "kinds with E",
    ),
    "turning tracks": (
        lambda d, s, w: build(s, "E(2)", "sphere"),
        "'translation' or 'none' on the",
    ),
    "no place": (lambda d, s, w: build(d, "none", "sphere", function="day"), "is the latitude"),
    "radians": (
        lambda d, s, w: build(
            np.radians(s.reset_coords()).drop_attrs(), "none", "sphere", inputs="time"
        ),
        "look like radians",
    ),
    "frame without inputs": (lambda d, s, w: build(d.to_dataframe()), "inputs=... for a DataFrame"),
    "no data": (
        lambda d, s, w: fit(build(d, function="day", **TINY).model, steps=1, key=jr.key(0)),
        "learn",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_refused_in_words(case, days, storms, winds):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=message) as error:
        call(days, storms, winds)
    assert str(error.value).startswith("expected") and "\n" not in str(error.value)
