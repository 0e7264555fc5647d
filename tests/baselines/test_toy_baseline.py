"""A new baseline in one file: a climatology, which every measurement takes as it is."""

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from jax.scipy.stats import norm
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import evaluate
from geomndp.data import Gaussian, tasks
from geomndp.geometry import Euclidean
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential
from geomndp.predictive import AbstractPredictive, AbstractProcess, exact_log_prob

PROCESS = Gaussian(GP(SquaredExponential(0.5), noise=0.01))
CONTEXT, TARGETS = 4, 5


class ClimatologyLaw(AbstractPredictive):
    """The same normal law at every input, whatever was observed."""

    std: float = eqx.field(static=True)

    def sample(self, x, *, key, num_samples):
        return self.std * jr.normal(key, (num_samples, len(x), 1), x.dtype)

    def log_prob_info(self, x, y, *, key=None, mask=None):
        terms = norm.logpdf(y[:, 0], 0.0, self.std)
        return exact_log_prob(jnp.sum(terms if mask is None else terms * mask))


class Climatology(AbstractProcess):
    """Mean and variance of the process."""

    std: float = eqx.field(static=True)

    def condition(self, x, y, noise=0.0, mask=None):
        return ClimatologyLaw(self.std)


@pytest.fixture(scope="module")
def batch():
    return tasks(PROCESS, num=40, contexts=(1, CONTEXT), targets=TARGETS)


TOY = Climatology(PROCESS.variance**0.5)


def test_log_likelihood(batch, tmp_path):
    options = {"num_context": CONTEXT, "block_size": 16, "directory": tmp_path}
    found = evaluate.log_likelihood(TOY, batch, **options)
    y = batch.y[:, CONTEXT:, 0]
    assert_allclose(found.value, jnp.sum(norm.logpdf(y, 0.0, TOY.std), axis=1), rtol=1e-6)
    assert_array_equal(found.num_targets, TARGETS)
    assert len(list(tmp_path.iterdir())) == 3
    again = evaluate.log_likelihood(TOY, batch, **options)
    assert_array_equal(again.value, found.value)
    exact = evaluate.log_likelihood(PROCESS.gp, batch, num_context=CONTEXT)
    regret = evaluate.summarise(exact.per_target().value - found.per_target().value)
    assert regret.mean > 5 * regret.standard_error


def test_calibration(batch):
    """Calibrated, since the marginal law is right, and worse than the exact process."""
    options = {"num_context": CONTEXT, "num_samples": 64}
    toy = evaluate.calibration(TOY, batch, key=jr.key(0), **options)
    exact = evaluate.calibration(PROCESS.gp, batch, key=jr.key(1), **options)
    assert toy.pit.shape == (40, TARGETS)
    assert_allclose(jnp.mean(evaluate.interval_coverage(toy.pit, 0.9)), 0.9, atol=0.1)
    assert jnp.mean(exact.mean_crps()) < jnp.mean(toy.mean_crps())


def test_metrics(batch):
    options = {"num_context": CONTEXT, "num_samples": 32, "key": jr.key(0)}
    toy, exact = (
        evaluate.metrics(process, batch, Euclidean(1), **options) for process in (TOY, PROCESS.gp)
    )
    assert toy.energy.shape == (40, TARGETS)
    assert jnp.mean(exact.mean_error) < jnp.mean(toy.mean_error)
    assert np.all((np.asarray(toy.rank) >= 0) & (np.asarray(toy.rank) <= 1))


def test_padded_targets_are_left_out(batch):
    short = batch._replace(mask=batch.mask.at[:, -2:].set(0.0))
    options = {"num_context": CONTEXT, "key": jr.key(0), "num_samples": 8}
    ranks = evaluate.calibration(TOY, short, **options)
    scores = evaluate.metrics(TOY, short, Euclidean(1), **options)
    assert_array_equal(ranks.num_values, TARGETS - 2)
    for values in (ranks.pit, *scores):
        missing = np.isnan(np.asarray(values))
        assert missing[:, -2:].all() and not missing[:, :-2].any()
