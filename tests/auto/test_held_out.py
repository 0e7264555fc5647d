"""Log-densities of validation tasks against those of exact Gaussian processes."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from geomndp import Model
from geomndp.auto.held_out import held_out
from geomndp.auto.validation import validation_tasks
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.score import GaussianScore

PROCESS = GP(SquaredExponential(0.5), noise=0.05)


@pytest.fixture(scope="module")
def tasks():
    x = jr.uniform(jr.key(0), (6, 14, 1)) * 2
    y = jax.vmap(lambda x, key: PROCESS.sample(x, key=key))(x, jr.split(jr.key(1), 6))
    mask = np.ones((6, 14), bool)
    mask[2, 9:] = False
    return validation_tasks(np.asarray(x), np.asarray(y), mask, np.arange(6), seed=0)


def _log_density(x, y):
    """Of the same process, by NumPy alone."""
    covariance = np.exp(-0.5 * ((x - x.T) / 0.5) ** 2) + 0.05 * np.eye(len(x))
    return multivariate_normal(np.zeros(len(x)), covariance).logpdf(y[:, 0])


def test_a_gaussian_process_is_measured_exactly(tasks):
    measured = held_out(PROCESS, tasks, key=jr.key(0))
    for i in range(len(tasks.function)):
        x, y, mask, context = (np.asarray(values[i]) for values in tasks[:4])
        seen, real = context > 0, mask > 0
        marginal = _log_density(x[seen], y[seen])
        assert_allclose(measured.context[i], marginal, rtol=1e-6)
        assert_allclose(measured.targets[i], _log_density(x[real], y[real]) - marginal, rtol=1e-6)
    assert_allclose(measured.per_value(tasks) * tasks.num_values(), measured.targets)


def test_few_steps_and_probes_tell_laws_apart(tasks):
    """The exact score through the solver is close to the law that it is of, others are not."""
    noising = OrnsteinUhlenbeck(White(), DEFAULT_SCHEDULE_1D)
    model = Model(noising, GaussianScore(PROCESS))
    exact = held_out(PROCESS, tasks, key=jr.key(0)).per_value(tasks)
    solved = held_out(model, tasks, key=jr.key(0)).per_value(tasks)
    other = held_out(GP(SquaredExponential(0.1), noise=0.05), tasks, key=jr.key(0))
    spread = np.std(solved - exact) / np.sqrt(len(exact))
    assert (
        abs(np.mean(solved - exact)) < 0.05 + 3 * spread < np.mean(exact - other.per_value(tasks))
    )


def test_a_law_that_fails_has_no_likelihood(tasks):
    assert np.all(
        held_out(
            GP(SquaredExponential(0.5), mean=lambda x: jnp.full((len(x), 1), jnp.nan)),
            tasks,
            key=jr.key(0),
        ).targets
        == -np.inf
    )
