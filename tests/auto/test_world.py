"""What a user knows of the world: covariates, periods, and the noise of training values."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose, assert_array_equal

import geomndp as gn
from geomndp import OutsideTrainingWarning
from geomndp._types import Batch
from geomndp.model.training_functions import functions_in_units

TINY = {"width": 8, "num_layers": 1, "num_heads": 2}


@pytest.fixture(scope="module")
def stations():
    """Values at stations with an elevation; hours count from any midnight."""
    rng = np.random.default_rng(0)
    rows = [
        {"day": day, "hour": hour, "elev": 100.0 * (hour % 3), "temp": rng.standard_normal()}
        for day in range(12)
        for hour in rng.choice(24, 8, replace=False)
    ]
    frame = pd.DataFrame(rows).astype({"hour": float})
    frame["variance"] = 0.01 * (1 + np.arange(len(frame)) % 5)
    return frame


def plan_of(frame, symmetry="translation", **options):
    names = {"function": "day", "inputs": "hour", "outputs": "temp"}
    return gn.build(frame, symmetry, **names, **TINY, **options)


def fitted(plan):
    model, _ = gn.fit(plan, steps=2, key=0, quiet=True)
    return model


@pytest.fixture(
    scope="module", params=["translation", pytest.param("none", marks=pytest.mark.slow)]
)
def periodic(request, stations):
    options = {"covariates": ["elev"], "periodic": {"hour": 24}}
    return fitted(plan_of(stations, request.param, **options))


def test_columns_of_x_are_inputs_then_covariates(stations):
    plan = plan_of(stations, covariates=["elev"], periodic={"hour": 24})
    model = plan.model
    assert model.variables.input_names == ("hour", "elev")
    assert model.variables.num_covariates == model.score.net.config.num_invariant_inputs == 1
    x = np.asarray(plan.data.functions.x)[np.asarray(plan.data.functions.mask) > 0]
    assert_allclose(x.std(axis=0), 1.0, atol=0.02)
    assert model.normaliser.x_period == (24.0, 0.0)
    assert "covariates  elev" in str(plan) and "hour every 24" in str(plan)


def test_a_period_later_is_the_same_point(periodic, stations):
    first = stations[stations.day == 0]
    later = first.assign(hour=first.hour + 24 * np.arange(len(first)))
    at = pd.DataFrame({"hour": [0.0, 5.5, 23.9], "elev": [0.0, 100.0, 50.0]})
    moved = at.assign(hour=at.hour - 48.0)
    samples = periodic.condition(first).sample(at, key=1, num_samples=3)
    again = periodic.condition(later).sample(moved, key=1, num_samples=3)
    assert_allclose(again.temp, samples.temp, atol=1e-4)
    values = at.assign(temp=[0.1, 0.2, 0.3])
    both = (
        law.log_prob(table)
        for law, table in (
            (periodic.condition(first), values),
            (periodic.condition(later), values.assign(hour=moved.hour)),
        )
    )
    assert_allclose(*both, rtol=1e-5)


def test_no_warning_around_the_circle(periodic, recwarn):
    x = np.asarray([[23.5, 0.0], [24.5, 100.0], [-0.25, 100.0], [0.25, 0.0]])
    periodic.condition(x, np.zeros(4)).sample(x + np.asarray([[240.0, 0.0]]), key=0, num_samples=1)
    assert not [w for w in recwarn if w.category is OutsideTrainingWarning]
    with pytest.warns(OutsideTrainingWarning, match="elev = 2e"):
        periodic.condition(np.asarray([[3.0, 2e4]]), np.zeros(1))


def test_a_model_file_keeps_periods_and_covariates(periodic, tmp_path):
    periodic.save(tmp_path / "model")
    loaded = gn.load(tmp_path / "model")
    assert loaded.normaliser == periodic.normaliser
    assert loaded.variables == periodic.variables
    x = np.asarray([[3.0, 0.0], [5.0, 100.0]])
    assert_array_equal(
        loaded.sample(x + np.asarray([[24.0, 0.0]]), key=0, num_samples=1),
        periodic.sample(x, key=0, num_samples=1),
    )


@pytest.mark.slow
def test_elevation_of_a_grid(stations):
    days, lat = np.arange(6), np.linspace(0.0, 1.0, 5)
    rng = np.random.default_rng(1)
    dataset = xr.Dataset(
        {
            "temp": (("day", "y", "x"), rng.standard_normal((6, 5, 5))),
            "elev": (("y", "x"), rng.uniform(0, 500, (5, 5))),
            "doy": (("day",), 60.0 * days),
        },
        {"day": days, "y": lat, "x": lat},
    )
    options = {"covariates": ["elev", "doy"], "periodic": {"doy": 365.0}, "channels": 4}
    plan = gn.build(dataset, "E(2)", function="day", width=8, num_layers=1, **options)
    assert plan.model.variables.input_names == ("y", "x", "elev", "doy")
    assert plan.model.variables.output_names == ("temp",)
    assert plan.model.score.net.config.periods[:3] == (0.0, 0.0, 0.0)
    model = plan.model  # a fit is that of any other network of the plane
    day = dataset.isel(day=2).drop_vars("day")
    drawn = model.condition(day).sample(day, key=0, num_samples=1)
    assert drawn.temp.shape == (1, 5, 5) and np.isfinite(drawn.temp).all()
    with pytest.raises(ValueError, match="covariates under rigid transforms"):
        gn.build(dataset, "E(2)", function="day", covariates=["elev", "doy"], periodic={"x": 1.0})


def test_known_noise_reaches_the_loss(stations):
    plan = plan_of(stations, noise="variance")
    functions, scale = plan.data.functions, plan.model.normaliser.y_scale[0]
    real = np.asarray(functions.mask) > 0
    by_day = np.asarray(functions.noise)[np.argsort(plan.order)][real]
    ordered = stations.sort_values(["day", "hour"]).variance.to_numpy()
    assert_allclose(by_day, ordered / scale**2, rtol=1e-5)
    spread = stations.temp.var(ddof=0) - stations.variance.mean()
    assert_allclose(scale, np.sqrt(spread), rtol=1e-6)
    assert "clean functions" in str(plan)
    assert dict(plan.description)["fit"].startswith("needs steps=...")
    with pytest.raises(ValueError, match="for values with known noise"):
        gn.fit(plan, key=0)
    model = fitted(plan)
    assert all(bool(jnp.all(jnp.isfinite(leaf))) for leaf in jax.tree.leaves(model.score))
    number = plan_of(stations, noise={"temp": 0.02})
    assert_allclose(
        number.data.functions.noise[0, 0] * number.model.normaliser.y_scale[0] ** 2, 0.02
    )


def test_known_noise_that_leaves_nothing_to_learn_warns(stations):
    """From tables and from batches of a user's own."""
    with pytest.warns(UserWarning, match="known noise of 'temp' is larger than its values allow"):
        plan = plan_of(stations, noise=4.0)
    rng = np.random.default_rng(0)
    batch = Batch(*(np.asarray(part) for part in plan.data.functions[:4]))
    batch = batch._replace(y=rng.normal(size=batch.y.shape), noise=np.full(batch.mask.shape, 4.0))
    with pytest.warns(UserWarning, match=r"known noise of 'y\[0\]' is larger"):
        functions_in_units(plan.model, batch)
    functions_in_units(plan.model, batch._replace(noise=0.1 * batch.noise))


def test_two_outputs_of_different_noise_are_refused(stations):
    frame = stations.assign(humidity=3 * stations.temp)
    names = {"function": "day", "inputs": "hour", "outputs": ["temp", "humidity"]}
    plan = gn.build(frame, noise={"temp": 0.01, "humidity": 0.09}, **names, **TINY)
    assert plan.data.functions.noise is not None
    with pytest.raises(ValueError, match="same noise of all outputs"):
        gn.build(frame, noise=0.01, **names, **TINY)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"periodic": {"hours": 24}}, "periods of inputs and covariates .*got one of 'hours'"),
        ({"periodic": {"hour": 0}}, "period of hour > 0"),
        ({"noise": -1.0}, "noise as a variance or the name of a column"),
        ({"noise": {"humidity": 1.0}}, "noise of the outputs"),
        ({"noise": "elsewhere"}, "expected a column 'elsewhere'"),
        ({"covariates": ["hour"]}, "different names"),
        ({"covariates": "elevation"}, "expected a column 'elevation'"),
    ],
)
def test_refusals(stations, options, words):
    with pytest.raises(ValueError, match=words):
        plan_of(stations, **options)


def test_missing_covariates_and_variances_are_named(stations):
    gap = stations.copy()
    gap.loc[gap.index[9], ["elev", "variance"]] = np.nan
    with pytest.raises(ValueError, match=r"covariate 'elev' .* function 1, point 1"):
        plan_of(gap, covariates=["elev"])
    with pytest.raises(ValueError, match=r"variance >= 0 in 'variance' .* function 1, point 1"):
        plan_of(gap, noise="variance")
    model = plan_of(stations, covariates=["elev"]).model
    with pytest.raises(ValueError, match=r"'elev'.*row"):
        model.condition(gap[gap.day == 1])


def test_times_are_not_periodic(stations):
    frame = stations.assign(hour=pd.Timestamp("2024-01-01") + pd.to_timedelta(stations.hour, "h"))
    with pytest.raises(ValueError, match="numbers in 'hour', such as the day of the year"):
        plan_of(frame, periodic={"hour": 24})
