"""Moments and quantiles of posteriors, as arrays and as tables; outputs through a transform."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import load
from geomndp._warnings import FirstOrderNoiseWarning
from geomndp.data import LogTransform, Normaliser

LOG = Normaliser(transform=LogTransform())


@pytest.fixture
def posterior(exact, function):
    x, y = function
    named = exact.with_variables("t", "level", units={"level": "m"})
    return named.condition(x[:3], y[:3])


def test_a_data_frame_gives_data_frames(posterior):
    targets = np.asarray([0.9, 1.4])
    frame = pd.DataFrame({"t": targets})
    mean, std = posterior.mean(frame, key=0), posterior.std(frame, key=0)
    arrays = posterior.mean_and_std(targets, key=0)
    assert list(mean) == ["t", "level"] and mean.attrs["units"] == {"level": "m"}
    assert_allclose(mean["level"], arrays[0][:, 0])
    assert_allclose(std["level"], arrays[1][:, 0])
    tidy = posterior.quantile([0.1, 0.9], frame, key=0, num_samples=64)
    assert list(tidy["quantile"]) == [0.1, 0.1, 0.9, 0.9]
    values = posterior.quantile([0.1, 0.9], targets, key=0, num_samples=64)
    assert values.shape == (2, 2, 1)
    assert_allclose(tidy["level"], values.reshape(-1))
    assert list(posterior.quantile(0.5, frame, key=0)) == ["t", "level"]


def test_a_dataset_gives_datasets(posterior):
    targets = xr.Dataset(coords={"t": [0.9, 1.4]})
    mean = posterior.mean(targets, key=0)
    assert mean["level"].dims == ("t",) and mean["level"].attrs["units"] == "m"
    bands = posterior.quantile([0.1, 0.9], targets, key=0)
    assert dict(bands.sizes) == {"quantile": 2, "t": 2}
    assert_allclose(bands["quantile"], [0.1, 0.9])
    assert np.all(bands["level"][0] < mean["level"]) and np.all(mean["level"] < bands["level"][1])


def test_moments_need_real_values_and_a_key(posterior, exact):
    with pytest.raises(ValueError, match="expected a key to estimate the moments of Posterior"):
        posterior.mean([0.9])
    assert not posterior.exact_marginals and not exact.exact_marginals


def test_a_transform_is_undone_in_samples_and_counts_in_densities(exact, function):
    x, y = function
    logarithmic = dataclasses.replace(exact, normaliser=LOG)
    plain, law = exact.condition(x[:2], y[:2]), logarithmic.condition(x[:2], jnp.exp(y[:2]))
    samples = law.sample(x[3:], key=0, num_samples=2)
    assert_allclose(samples, jnp.exp(plain.sample(x[3:], key=0, num_samples=2)), rtol=1e-6)
    expected = plain.log_prob(x[3:], y[3:]) - jnp.sum(y[3:])
    assert_allclose(law.log_prob(x[3:], jnp.exp(y[3:])), expected, rtol=1e-6)
    assert_allclose(
        law.quantile(0.3, x[3:4], key=0),
        jnp.exp(plain.quantile(0.3, x[3:4], key=0)),
        rtol=1e-2,
    )
    with pytest.raises(ValueError, match=r"expected 0 < y < inf for LogTransform, got -1 in row 1"):
        logarithmic.condition(x[:2], jnp.asarray([[1.0], [-1.0]]))
    with pytest.raises(ValueError, match=r"got 0 in row 0"):
        law.log_prob(x[3:4], jnp.zeros((1, 1)))


def test_noise_goes_through_a_transform_to_first_order(learnt, function):
    x, y = function
    logarithmic = dataclasses.replace(learnt, normaliser=LOG)
    values = jnp.exp(y[:3])
    with pytest.warns(FirstOrderNoiseWarning):
        noise = logarithmic.condition(x[:3], values, noise=1e-4).observations.noise
    assert_allclose(noise, 1e-4 / values[:, 0] ** 2)
    with pytest.raises(ValueError, match="expected noise that is small for LogTransform"):
        logarithmic.condition(x[:3], values, noise=10.0)


def test_transform_and_report_are_saved(learnt, tmp_path):
    units = Normaliser(y_shift=1.0, transform=LogTransform(0.5))
    model = dataclasses.replace(learnt, normaliser=units, report="chosen: network")
    model.save(tmp_path / "m")
    again = load(tmp_path / "m")
    assert again.normaliser == units and again.report == "chosen: network"
    assert "LogTransform(shift=0.5)" in repr(again) and "chosen: network" in repr(again)
