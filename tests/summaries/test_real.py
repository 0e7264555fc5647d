"""Summaries of real values against the Gaussian process; their errors against repetitions."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
import scoringrules as sr
import xarray as xr
from numpy.testing import assert_allclose
from scipy.stats import norm

from geomndp import Model, evaluate, summaries
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

HOURS = np.array([-1.0, 0.5, 2.0])
SAMPLES = 1000
SCALE, SHIFT = 4.0, 15.0
RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def posterior():
    """Samples of an exact model as a Dataset in degrees, and the truth: mean and deviation."""
    gp = GP(SquaredExponential(1.0), noise=0.01)
    units = Normaliser(y_shift=SHIFT, y_scale=SCALE)
    noising = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
    model = Model(noising, GaussianScore(gp), normaliser=units)
    model = model.with_variables("hour", "temperature", units={"temperature": "degC"})
    seen = pd.DataFrame({"hour": [0.0, 1.2], "temperature": [17.0, 12.0]})
    grid = xr.Dataset(coords={"hour": ("hour", HOURS, {"long_name": "time of day"})})
    samples = model.condition(seen).sample(grid, key=jr.key(0), num_samples=SAMPLES)
    y = (jnp.asarray(seen[["temperature"]]) - SHIFT) / SCALE
    truth = gp.condition(jnp.asarray(seen[["hour"]]), y).mean_and_covariance(
        jnp.asarray(HOURS)[:, None]
    )
    mean, covariance = map(np.asarray, truth)
    return samples, SHIFT + SCALE * mean[:, 0], SCALE * np.sqrt(np.diag(covariance))


def within(estimate, truth, times=4.0, bias=0.01):
    """Within so many errors, and the bias of 50 steps of a sampler."""
    value, error = (np.asarray(part, float) for part in estimate)
    assert np.all(error > 0)
    assert np.all(np.abs(value - truth) < times * error + bias), (value, error, truth)


def one(estimate):
    return [part.temperature.values for part in estimate]


def test_mean_deviation_and_quantiles_are_those_of_the_process(posterior):
    samples, mean, deviation = posterior
    found = summaries.mean(samples)
    within(one(found), mean)
    assert found.value.temperature.dims == ("hour",)
    assert found.value.temperature.attrs == {"units": "degC"}
    assert found.error.temperature.attrs["long_name"] == "Monte Carlo standard error"
    assert found.value.hour.attrs == samples.hour.attrs
    within(one(summaries.standard_deviation(samples)), deviation)
    levels = (0.05, 0.5, 0.9)
    found = summaries.quantiles(samples, levels)
    assert found.value.temperature.dims == ("quantile", "hour")
    truth = mean + deviation * norm.ppf(levels)[:, None]
    within(one(found), truth)
    within(one(summaries.quantiles(samples, 0.9)), truth[2])
    assert_allclose(summaries.quantiles(samples).value["quantile"], (0.05, 0.5, 0.95))


def test_probability_of_events(posterior):
    samples, mean, deviation = posterior
    warm = summaries.probability(samples, lambda ds: ds.temperature > 15)
    within(warm, norm.sf(15, mean, deviation))
    assert warm.value.dims == ("hour",) and warm.value.attrs["long_name"] == "probability"
    never = summaries.probability(samples, lambda ds: (ds.temperature > 1000).any("hour"))
    assert never.value == 0 and 0 < never.error < 0.01


def test_functionals_are_samples_themselves(posterior):
    samples, mean, _ = posterior
    gap = summaries.functional(samples, lambda ds: ds.temperature[0] - ds.temperature[2])
    assert gap.shape == (SAMPLES,)
    within(summaries.mean(gap), mean[0] - mean[2])
    array = samples.temperature.values[:, :, None]
    again = summaries.functional(array, lambda y: y[0, 0] - y[2, 0])
    assert_allclose(gap, again)


def test_every_form_says_the_same(posterior):
    samples = posterior[0]
    frame = samples.to_dataframe().reset_index().sample(frac=1, random_state=0)
    frame = frame.sort_values("hour").sort_values("sample", kind="stable")
    array = samples.temperature.values
    for summary in (summaries.mean, summaries.standard_deviation, summaries.quantiles):
        expected = summary(array)
        for i in range(2):
            assert_allclose(summary(samples)[i].temperature, expected[i])
            assert_allclose(summary(samples.temperature)[i], expected[i])
            assert_allclose(summary(frame)[i].temperature, np.ravel(expected[i]))
            assert_allclose(summary(frame)[i].hour[:3], HOURS)
    hot = summaries.probability(frame, lambda f: f.temperature > 15)
    assert_allclose(hot.value.probability, np.mean(array > 15, axis=0))
    highest = summaries.functional(frame, lambda f: f.temperature.max())
    assert_allclose(highest, array.max(axis=1))


def test_rows_may_come_in_any_order():
    """The locations are matched by the inputs, wherever pandas put the rows."""
    draws = RNG.normal(size=(6, 3))
    index = {"sample": np.repeat(np.arange(6), 3), "hour": np.tile(HOURS, 6)}
    frame = pd.DataFrame({**index, "w": draws.reshape(-1)})
    frame.attrs["inputs"] = ["hour"]
    shuffled = frame.sort_values("w")
    found = summaries.mean(shuffled).value
    assert_allclose(found.hour, HOURS)
    assert_allclose(found.w, draws.mean(axis=0))
    last = summaries.functional(shuffled, lambda f: f.w.iloc[-1])
    assert_allclose(last, draws[:, -1])
    windy = summaries.probability(shuffled, lambda f: f.w > 0)
    assert_allclose(windy.value.probability, np.mean(draws > 0, axis=0))
    ever = summaries.probability(shuffled, lambda f: (f.w > 1).groupby(f["sample"]).any())
    assert_allclose(ever.value, np.mean((draws > 1).any(axis=1)))
    assert np.ndim(ever.error) == 0
    with pytest.raises(ValueError, match="for each row or each sample, got 4 values"):
        summaries.probability(frame, lambda f: f.w[:4] > 0)
    moved = frame.assign(hour=frame.hour + (frame["sample"] == 2))
    with pytest.raises(ValueError, match="the same locations in every sample, got other 'hour'"):
        summaries.mean(moved)
    shuffled.attrs = {}
    with pytest.raises(ValueError, match="in one order, got 'hour' in several"):
        summaries.mean(shuffled)


@pytest.mark.parametrize(
    "summary",
    [summaries.mean, summaries.standard_deviation, lambda v: summaries.quantiles(v, 0.8)],
    ids=["mean", "deviation", "quantile"],
)
def test_errors_are_those_of_repetition(summary):
    """200 samples each of 2000 skewed laws: the spread of the values is the stated error."""
    draws = np.random.default_rng(1).gamma(3.0, size=(200, 2000))
    value, error = summary(draws)
    assert_allclose(np.sqrt(np.mean(error**2)), np.std(value), rtol=0.06)


def test_the_spread_of_a_few_samples_has_an_error():
    """That of the formula: never zero where the samples differ, however few they are."""
    assert_allclose(summaries.standard_deviation(np.array([-1.0, 0.0, 1.0])).error, 18**-0.5)
    assert_allclose(summaries.standard_deviation(np.array([-1.0, 1.0])).error, (5 / 16) ** 0.5)


def test_mean_and_quantiles_of_times():
    start, hours = np.datetime64("2024-01-01", "ns"), np.random.default_rng(0).normal(6, 2, 400)
    times = start + (hours * 3.6e12).astype("timedelta64[ns]")
    hour = np.timedelta64(3_600_000_000_000, "ns")
    for summary in (summaries.mean, lambda v: summaries.quantiles(v, 0.3)):
        found, expected = summary(times), summary(hours)
        assert_allclose((found.value - start) / hour, expected.value)
        assert_allclose(found.error / hour, expected.error, rtol=1e-6)


def test_scores(posterior):
    samples, mean, deviation = posterior
    truth = xr.Dataset({"temperature": ("hour", mean + deviation)}, {"hour": HOURS})
    found = summaries.crps(samples, truth)
    exact = sr.crps_normal(np.asarray(truth.temperature), mean, deviation)
    within(one(found), exact)
    array = samples.temperature.values
    ours = evaluate.crps(jnp.asarray(array), jnp.asarray(truth.temperature.values))
    assert_allclose(found.value.temperature, ours)
    assert_allclose(summaries.crps(array, truth.temperature.values).value, ours)
    joint = summaries.energy_score(samples, truth)
    assert joint.value > np.max(found.value.temperature) and 0 < joint.error < 0.1
    frame = samples.to_dataframe().reset_index()
    there = truth.to_dataframe().reset_index()
    assert_allclose(summaries.crps(frame, there.set_index("hour")).value.temperature, ours)
    wrong = (frame, there[::-1]), (frame, there.set_index("hour")[::-1])
    for table, other in ((samples, truth.assign_coords(hour=HOURS + 1)), *wrong):
        with pytest.raises(ValueError, match="at the samples' locations, got other 'hour'"):
            summaries.crps(table, other)


def test_describe(posterior):
    samples = posterior[0]
    table = summaries.describe(samples)
    names = ["mean", "mean_error", "sd", "sd_error", "q05", "q05_error", "q50", "q50_error"]
    assert list(table.data_vars)[:8] == [f"temperature_{name}" for name in names]
    assert_allclose(table.temperature_q95, summaries.quantiles(samples, 0.95).value.temperature)
    assert table.temperature_mean.attrs["units"] == "degC"
    frame = summaries.describe(samples.to_dataframe().reset_index(), levels=(0.5,))
    assert list(frame) == ["hour", *(f"temperature_{n}" for n in [*names[:4], *names[6:]])]
    assert_allclose(frame.temperature_sd, table.temperature_sd)


def test_levels_of_quantiles_keep_their_digits():
    samples = pd.DataFrame({"sample": [0, 1, 2], "x": 0.0, "y": [1.0, 2.0, 4.0]})
    samples.attrs["inputs"] = ["x"]
    levels = (0.0005, 0.001, 0.025, 0.07, 0.5, 0.9995, 0.9999)
    table = summaries.describe(samples, levels)
    names = [name for name in table if name.startswith("y_q") and not name.endswith("_error")]
    percent = [float(name.removeprefix("y_q")) for name in names]
    assert_allclose(percent, 100 * np.asarray(levels), rtol=1e-9)
    assert names[2:5] == ["y_q02.5", "y_q07", "y_q50"]


SAMPLE = xr.Dataset({"a": (("sample", "x"), np.random.default_rng(0).normal(size=(5, 2)))})
WRONG = {
    "one sample": (
        lambda: summaries.mean(np.ones((1, 3))),
        "a whole number >= 2, got 1",
    ),
    "no dimension": (lambda: summaries.mean(SAMPLE.rename(sample="s")), "a dimension 'sample'"),
    "no column": (lambda: summaries.mean(pd.DataFrame({"a": [1.0]})), "a column 'sample', got 'a'"),
    "uneven": (
        lambda: summaries.mean(pd.DataFrame({"sample": [0, 0, 1], "a": [1.0, 2.0, 3.0]})),
        "the same number of rows in every sample",
    ),
    "huge": (lambda: summaries.mean(np.array([1.0, 1e300])), "powers are finite, got values up to"),
    "missing": (lambda: summaries.mean(np.array([1.0, np.nan])), "finite samples, got NaN"),
    "level": (lambda: summaries.quantiles(SAMPLE, 1.5), "0 < level < 1, got 1.5"),
    "no levels": (lambda: summaries.quantiles(SAMPLE, ()), "at least one level"),
    "no event": (lambda: summaries.probability(SAMPLE, lambda ds: ds.a), "true or false"),
    "truth elsewhere": (lambda: summaries.crps(SAMPLE, SAMPLE.rename(a="b")), "'a' in the truth"),
    "truth of other size": (lambda: summaries.crps(np.ones((4, 2)), np.ones(3)), r"shape \(2,\)"),
    "two forms": (
        lambda: summaries.crps(SAMPLE, SAMPLE.isel(sample=0).to_dataframe()),
        "the truth in the form of the samples, Dataset, got DataFrame",
    ),
    "array of two": (
        lambda: summaries.crps(SAMPLE.assign(b=SAMPLE.a), np.ones(2)),
        "a table with the truth of a, b, got an array",
    ),
    "arrays": (lambda: summaries.describe(np.ones((4, 2))), "Dataset or DataFrame to describe"),
    "locations": (
        lambda: summaries.mean(SAMPLE.rename(a="lat").assign(lon=SAMPLE.a)),
        "got locations: see track_mean",
    ),
    "no locations": (lambda: summaries.track_mean(SAMPLE), "a latitude and a longitude"),
    "not unit vectors": (lambda: summaries.track_mean(np.ones((4, 2, 3))), "on Sphere"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_refused_in_words(case):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert str(error.value).startswith("expected") and "\n" not in str(error.value)
