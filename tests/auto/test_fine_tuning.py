"""A trained model goes on with new data in its own units, or says why it cannot."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.auto.fine_tuning import fine_tuning_plan
from geomndp.data import Normaliser
from geomndp.data.transforms import LogTransform

SIZES = {"width": 4, "num_layers": 1, "num_heads": 1}


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    columns = {"day": np.repeat(np.arange(4), 5), "hour": np.tile(np.arange(5.0), 4)}
    return pd.DataFrame(columns | {"temp": 10 + rng.normal(size=20)})


@pytest.fixture
def model(table):
    plan = gn.build(table, function="day", inputs="hour", outputs="temp", key=0, **SIZES)
    return plan.model


def test_new_functions_are_seen_in_the_old_units(model, table):
    """New data twice as far from the mean are twice as far in the model's units."""
    shift, scale = model.normaliser.y_shift[0], model.normaliser.y_scale[0]
    moved = table.assign(temp=shift + 2 * (table.temp - shift))
    moved.loc[3, "temp"] = np.nan
    plan = fine_tuning_plan(model, moved, function="day")
    assert plan.model is model and plan.functions.mask.sum() == 19
    wanted = 2 * (table.temp[5:10] - shift) / scale
    assert_allclose(plan.data.functions.y[1, :, 0], wanted, rtol=1e-6)
    tuned, history = gn.fit(model, moved, function="day", steps=1, key=0, quiet=True)
    assert np.isfinite(history.loss[-1]) and tuned.normaliser == model.normaliser
    with pytest.raises(ValueError, match="expected steps"):
        gn.fit(model, moved, function="day", key=0)


def test_padding_is_in_the_domain_of_a_transform(model, table):
    units = Normaliser(transform=LogTransform())
    positive = dataclasses.replace(model, normaliser=units)
    plan = fine_tuning_plan(positive, table.drop(index=[3, 4]), function="day")
    assert np.isfinite(plan.data.functions.y).all()
    assert plan.functions.mask.sum() == 18


def test_other_columns_units_and_laws_are_refused(model, table):
    with pytest.raises(ValueError, match="expected a column 'temp'"):
        fine_tuning_plan(model, table.rename(columns={"temp": "wind"}), function="day")
    with pytest.raises(ValueError, match="names its inputs and outputs"):
        fine_tuning_plan(gn.Model(model.noising, model.score), table)
    exact = gn.Model(model.noising, gn.score.GaussianScore(gn.gp.GP(gn.kernels.White())))
    with pytest.raises(ValueError, match="expected a network to train, got a GaussianScore"):
        fine_tuning_plan(exact.with_variables("hour", "temp"), table, function="day")
    process = gn.ProcessModel(gn.gp.GP(gn.kernels.Matern32(1.0))).with_variables("hour", "temp")
    with pytest.raises(ValueError, match="expected a network to train, got a ProcessModel; fit a"):
        gn.fit(process, table, function="day", steps=1, key=0)
    with pytest.raises(ValueError, match="expected a NetworkScore to train, got a ProcessModel"):
        gn.fit(process, steps=1, key=0)
    named = model.with_variables("hour", "temp", units={"temp": "K"})
    table.attrs["units"] = {"temp": "m"}
    with pytest.raises(ValueError, match="temp"):
        fine_tuning_plan(named, table, function="day")
    blank = table.assign(temp=np.nan)
    blank.attrs = {}
    with pytest.raises(ValueError, match="expected functions with all outputs at some point"):
        fine_tuning_plan(model, blank, function="day")
