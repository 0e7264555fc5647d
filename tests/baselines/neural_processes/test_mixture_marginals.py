"""Mixtures of many normal laws agree with mixtures of members one by one."""

import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.neural_processes.mixture_marginals import NormalMixtureMarginals
from geomndp.marginals import MixtureMarginals, NormalMarginals

K = 5


@pytest.fixture(scope="module")
def laws():
    locations = jr.normal(jr.key(0), (K, 3, 2))
    scales = 0.1 + jr.uniform(jr.key(1), (K, 3, 2))
    members = tuple(map(NormalMarginals, locations, scales))
    weights = jnp.full(K, -jnp.log(float(K)))
    return NormalMixtureMarginals(locations, scales), MixtureMarginals(members, weights)


def test_moments_densities_and_probabilities(laws):
    stacked, members = laws
    y = jr.normal(jr.key(2), (3, 2))
    assert_allclose(stacked.mean(), members.mean(), rtol=1e-12)
    assert_allclose(stacked.std(), members.std(), rtol=1e-12)
    assert_allclose(stacked.log_prob(y), members.log_prob(y), rtol=1e-12)
    assert_allclose(stacked.cdf(y), members.cdf(y), rtol=1e-12)


@pytest.mark.parametrize("q", [0.3, [0.0, 0.05, 1.0]])
def test_quantiles(laws, q):
    stacked, members = laws
    assert_allclose(stacked.quantile(q), members.quantile(q), rtol=1e-10)


def test_quantiles_are_where_the_probability_is_their_level(laws):
    stacked, _ = laws
    assert_allclose(stacked.cdf(stacked.quantile(0.9)), 0.9, rtol=1e-10)


def test_a_level_outside_of_the_unit_interval_is_refused(laws):
    with pytest.raises(ValueError, match="expected probabilities"):
        laws[0].quantile(1.2)
