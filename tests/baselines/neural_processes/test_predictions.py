"""Laws of target values: densities, samples and marginals belong together."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm

from geomndp.baselines.neural_processes.predictions import (
    FactorisedGaussian,
    GaussianMixture,
    JointGaussian,
    gaussian_head,
)

N, P = 3, 2
RNG = np.random.default_rng(0)
LOCATION, SCALE = RNG.normal(size=(N, P)), RNG.uniform(0.5, 1.5, (N, P))
ROOT = RNG.normal(size=(N * P, N * P))
COVARIANCE = ROOT @ ROOT.T + 0.1 * np.eye(N * P)
Y = RNG.normal(size=(N, P))


def laws():
    shifted = np.stack([LOCATION, LOCATION + 1.0, 0.5 * LOCATION])
    return {
        "factorised": FactorisedGaussian(jnp.asarray(LOCATION), jnp.asarray(SCALE)),
        "joint": JointGaussian(jnp.asarray(LOCATION), jnp.asarray(COVARIANCE)),
        "mixture": GaussianMixture(jnp.asarray(shifted), jnp.asarray(np.stack([SCALE] * 3))),
    }


def dense_log_prob(name, rows):
    """Log-density of some targets by SciPy."""
    index = [P * i + a for i in rows for a in range(P)]
    y = Y[rows].reshape(-1)
    if name == "joint":
        mean, covariance = LOCATION.reshape(-1)[index], COVARIANCE[np.ix_(index, index)]
        return multivariate_normal(mean, covariance).logpdf(y)
    law = laws()[name]
    locations = [law.location] if name == "factorised" else law.locations
    each = [np.sum(norm.logpdf(Y[rows], np.asarray(m)[rows], SCALE[rows])) for m in locations]
    return logsumexp(each) - np.log(len(each))


@pytest.mark.parametrize("name", laws())
def test_densities_are_those_of_scipy(name):
    law = laws()[name]
    assert_allclose(law.log_prob(jnp.asarray(Y)), dense_log_prob(name, [0, 1, 2]), rtol=1e-8)
    each = [dense_log_prob(name, [i]) for i in range(N)]
    assert_allclose(law.marginal_log_prob(jnp.asarray(Y)), each, rtol=1e-8)


@pytest.mark.parametrize("name", laws())
def test_masked_targets_are_left_out_of_value_and_gradient(name):
    law, mask = laws()[name], jnp.asarray([1.0, 0.0, 1.0])
    y = jnp.asarray(Y).at[1].set(jnp.nan)
    assert_allclose(law.log_prob(y, mask), dense_log_prob(name, [0, 2]), rtol=1e-8)
    gradients = jax.grad(lambda law: law.log_prob(y, mask))(law)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))


@pytest.mark.parametrize("name", laws())
def test_samples_have_the_mean_std_and_density_of_the_law(name):
    law = laws()[name]
    samples = law.sample(key=jr.key(0), num_samples=20_000)
    assert samples.shape == (20_000, N, P)
    error = np.asarray(law.std()) / np.sqrt(20_000)
    assert np.all(np.abs(samples.mean(0) - law.mean()) < 5 * error)
    assert_allclose(samples.std(0), law.std(), rtol=0.05)
    # A law's mean log-density is highest at its own samples: that of others is lower.
    own = float(jnp.mean(jax.vmap(law.log_prob)(samples)))
    wider = law.mean()[None] + 1.2 * (samples - law.mean()[None])
    assert own > float(jnp.mean(jax.vmap(law.log_prob)(wider)))


def test_covariance_of_coincident_targets_has_a_density():
    law = JointGaussian(jnp.zeros((2, 1)), jnp.ones((2, 2)))
    assert np.isfinite(law.log_prob(jnp.zeros((2, 1))))


def test_head_keeps_the_floor():
    raw = jnp.asarray([[0.3, -1e3], [0.1, 2.0]])
    law = gaussian_head(raw, 0.05)
    assert_allclose(law.mean()[:, 0], raw[:, 0])
    assert_allclose(law.std()[:, 0], [0.05, 0.05 + np.log1p(np.exp(2.0))])
