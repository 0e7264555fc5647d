"""The protocol: what a process of a user inherits, and that exact processes answer it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import SquaredExponential
from geomndp.predictive import AbstractPredictive, AbstractProcess, LogProb, exact_log_prob

GAUSSIAN = GP(SquaredExponential(0.5), noise=0.1)


class Normals(AbstractPredictive):
    """Independent normal values, shifted by the mean of what was observed."""

    shift: jax.Array

    def sample(self, x, *, key, num_samples):
        return self.shift + jr.normal(key, (num_samples, len(x), 1), x.dtype)

    def log_prob_info(self, x, y, *, key=None, mask=None):
        densities = jax.scipy.stats.norm.logpdf(y[:, 0] - self.shift)
        return exact_log_prob(jnp.sum(densities if mask is None else densities * mask))


class NormalProcess(AbstractProcess):
    """The process of these laws."""

    def condition(self, x, y, noise=0.0, mask=None):
        return Normals(jnp.mean(y) if mask is None else jnp.sum(y[:, 0] * mask) / jnp.sum(mask))


PROCESSES = {"gp": GAUSSIAN, "user": NormalProcess()}
every = pytest.mark.parametrize("process", PROCESSES.values(), ids=PROCESSES)


def points(key, n):
    x_key, y_key = jr.split(key)
    return jr.uniform(x_key, (n, 1)), jr.normal(y_key, (n, 1))


@every
def test_masked_rows_do_not_count_under_jit_and_vmap(process, getkey):
    (xc, yc), (x, y) = points(getkey(), 4), points(getkey(), 5)
    context_mask, mask = jnp.asarray([1.0, 1, 0, 1]), jnp.asarray([1.0, 0, 1, 1, 0])

    @eqx.filter_jit
    @jax.vmap
    def masked(xc, yc, x, y):
        return process.condition(xc, yc, mask=context_mask).log_prob_info(x, y, mask=mask)

    rows = (np.asarray(context_mask) > 0, np.asarray(mask) > 0)
    expected = process.condition(xc[rows[0]], yc[rows[0]]).log_prob(x[rows[1]], y[rows[1]])
    found = masked(*(v[None] for v in (xc, yc, x, y)))
    assert isinstance(found, LogProb)
    assert_allclose(found.value[0], expected, atol=1e-6)
    assert_allclose((found.solver_error[0], found.probe_error[0], found.evaluations[0]), 0)


@every
def test_samples_have_the_moments(process, getkey):
    predictive, x = process.condition(*points(getkey(), 4)), points(getkey(), 3)[0]
    samples = predictive.sample(x, key=jr.key(0), num_samples=2000)
    mean, std = predictive.mean_and_std(x, key=jr.key(1))
    assert samples.shape == (2000, 3, 1)
    assert mean.shape == std.shape == (3, 1)
    error = np.sqrt(1 / 2000 + 1 / 256)
    assert np.all(np.abs(jnp.mean(samples, axis=0) - mean) < 5 * error * std)
    assert_allclose(jnp.std(samples, axis=0), std, rtol=5 * error)


def test_moments_of_a_gaussian_process_are_exact(getkey):
    predictive, x = GAUSSIAN.condition(*points(getkey(), 4)), points(getkey(), 3)[0]
    mean, covariance = predictive.mean_and_covariance(x)
    found = predictive.mean_and_std(x)
    assert_allclose(found[0], mean)
    assert_allclose(found[1][:, 0] ** 2, jnp.diag(covariance), rtol=1e-6)


def test_moments_from_samples_need_a_key(getkey):
    predictive, x = NormalProcess().condition(*points(getkey(), 4)), points(getkey(), 3)[0]
    with pytest.raises(ValueError, match="expected a key to estimate the moments of Normals"):
        predictive.mean_and_std(x)
