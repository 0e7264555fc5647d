"""Scores: what they compare, fair estimators, and errors against repetitions."""

import numpy as np
import pytest
import scoringrules as sr
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import summaries
from geomndp.summaries import metrics

RNG = np.random.default_rng(3)


def test_the_truth_may_be_an_array_with_coordinates():
    draws = RNG.normal(size=(5, 3))
    truth = xr.DataArray(draws[0], {"hour": [1, 2, 3]}, "hour", name="temperature")
    samples = xr.Dataset({"temperature": (("sample", "hour"), draws)}, truth.coords)
    expected = summaries.crps(draws, draws[0]).value
    for form, there in (
        (samples, truth),
        (samples, truth.rename(None)),
        (samples.temperature, truth),
        (samples.temperature, truth.to_dataset()),
    ):
        value = summaries.crps(form, there).value
        value = value if isinstance(value, xr.DataArray) else value.temperature
        assert_allclose(value, expected)
    with pytest.raises(ValueError, match="'temperature' in the truth, got 'rain'"):
        summaries.crps(samples, truth.rename("rain"))


def test_every_coordinate_of_the_truth_is_compared():
    """Also those without an index, such as the longitudes of a dimension of stations."""
    samples = xr.Dataset({"a": (("sample", "x"), RNG.normal(size=(5, 2)))})
    samples = samples.assign_coords(station=("x", [1.0, np.nan]), z=("x", ["b", "a"]))
    truth = samples.isel(sample=0)
    assert np.all(summaries.crps(samples, truth).value.a > 0)
    for name, other in (("station", [2.0, np.nan]), ("z", ["a", "b"])):
        with pytest.raises(ValueError, match=f"got other '{name}'"):
            summaries.crps(samples, truth.assign_coords({name: ("x", other)}))


def test_the_variogram_is_fair():
    """As `scoringrules` has it; its mean does not depend on the number of samples."""
    draws = RNG.normal(size=(3000, 17, 3))
    found = summaries.variogram_score(draws[0, 1:], draws[0, 0]).value
    exact = sr.vs_ensemble(draws[0, 0], draws[0, 1:], estimator="fair", backend="numpy")
    assert_allclose(found, exact)
    few, many = (
        np.array([metrics._variogram(one[1:s], one[0], 0.5) for one in draws]) for s in (4, 17)
    )
    gap = few - many
    assert abs(gap.mean()) < 4 * gap.std() / len(gap) ** 0.5 < 0.1


def test_the_variogram_sees_dependence():
    """Samples with the right margins, but independent, score worse."""
    rng = np.random.default_rng(0)
    covariance = 0.1 * np.eye(3) + 0.9
    draws = rng.multivariate_normal(np.zeros(3), covariance, size=(40, 60))
    alone = rng.normal(size=draws.shape)
    worse = [
        summaries.variogram_score(wrong[1:], right[0]).value
        - summaries.variogram_score(right[1:], right[0]).value
        for right, wrong in zip(draws, alone, strict=True)
    ]
    assert np.mean(worse) > 4 * np.std(worse) / np.sqrt(len(worse))


def test_errors_of_scores_are_those_of_repetition():
    rng = np.random.default_rng(0)
    draws, y = rng.normal(size=(60, 3000)), np.full(3000, 0.7)
    value, error = summaries.crps(draws, y)
    assert_allclose(np.sqrt(np.mean(error**2)), np.std(value), rtol=0.06)


def test_the_jackknife_of_a_mean_is_its_standard_error():
    """Exact for what is linear in the samples, with as many groups as there are samples."""
    draws = RNG.normal(size=(12, 4))
    value, error = metrics._jackknife(lambda v, y: v.mean(axis=0) - y, draws, 3.0)
    assert_allclose(value, draws.mean(axis=0) - 3.0)
    assert_allclose(error, draws.std(axis=0, ddof=1) / 12**0.5)
