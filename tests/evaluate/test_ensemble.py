"""Calibration and scores against closed forms."""

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
import scoringrules
from numpy.testing import assert_allclose

from geomndp.evaluate import crps, pit, summarise


def test_crps_is_that_of_all_pairs(getkey):
    samples = jr.normal(getkey(), (9, 3, 2))
    y = jr.normal(getkey(), (3, 2))
    pairs = jnp.abs(samples[:, None] - samples[None])
    expected = jnp.mean(jnp.abs(samples - y[None]), axis=0) - jnp.sum(pairs, axis=(0, 1)) / (
        2 * 9 * 8
    )
    assert_allclose(crps(samples, y), expected, atol=1e-12)


def test_crps_of_numpy_is_that_of_scoringrules():
    random = np.random.default_rng(0)
    samples, y = random.normal(size=(7, 3, 2)), random.normal(size=(3, 2))
    expected = scoringrules.crps_ensemble(y, samples, m_axis=0, estimator="fair", backend="numpy")
    found = crps(samples, y)
    assert isinstance(found, np.ndarray)
    assert_allclose(found, expected, atol=1e-12)


def test_fair_crps_estimates_that_of_a_gaussian():
    # Of N(0, 1) at y: y (2 F(y) - 1) + 2 f(y) - 1 / sqrt(pi), whatever the number of samples.
    y = jnp.asarray([0.7])
    normal = scipy.stats.norm
    truth = 0.7 * (2 * normal.cdf(0.7) - 1) + 2 * normal.pdf(0.7) - 1 / jnp.sqrt(jnp.pi)
    few = jr.normal(jr.key(0), (4, 20_000))
    values = crps(few, jnp.broadcast_to(y, (20_000,)))
    summary = summarise(values)
    assert abs(summary.mean - truth) < 4 * summary.standard_error


def test_pit_is_uniform_for_the_right_law_and_not_for_a_wrong_one():
    keys = jr.split(jr.key(1), 3)
    samples, y = jr.normal(keys[0], (19, 4000)), jr.normal(keys[1], (4000,))
    right, wrong = pit(samples, y, key=keys[2]), pit(2 * samples, y, key=keys[2])
    assert scipy.stats.kstest(right, "uniform").pvalue > 1e-3
    assert scipy.stats.kstest(wrong, "uniform").pvalue < 1e-6


@pytest.mark.parametrize("score", [crps, lambda s, y: pit(s, y, key=jr.key(0))])
def test_wrong_shapes_are_refused(score):
    with pytest.raises(ValueError, match=r"samples of shape \(s, 3\), got shape \(5, 2\)"):
        score(jnp.ones((5, 2)), jnp.ones(3))
    with pytest.raises(ValueError, match="num_samples"):
        score(jnp.ones((1, 3)), jnp.ones(3))
