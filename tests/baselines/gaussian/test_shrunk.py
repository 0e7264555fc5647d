"""Shrunk covariances, and heavier tails over functions."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from geomndp._types import Batch
from geomndp.baselines import Candidate, fit_gp, fit_shrunk_gaussian, scale_mixture
from geomndp.baselines.gaussian.held_out import moments
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential as SE

from .helper import draw, nats

X = np.linspace(-1, 1, 8)[:, None]
ONE = (Candidate("SE"),)


def features(num: int, seed: int) -> Batch:
    """Functions of a covariance that is far from stationary: two shapes and little noise."""
    rng = np.random.default_rng(seed)
    shapes = np.stack([np.sin(4 * X[:, 0]), np.where(X[:, 0] > 0, 1.0, -0.2)])
    y = rng.normal(size=(num, 2)) @ shapes + 0.05 * rng.normal(size=(num, len(X)))
    mask = np.ones((num, len(X)))
    return Batch(np.broadcast_to(X, (num, len(X), 1)), y[..., None], mask, 0 * mask)


def test_it_beats_the_pooled_process_where_that_is_wrong():
    batch, fresh = features(80, 0), features(40, 1)
    pooled = fit_gp(batch, candidates=ONE)
    shrunk = fit_shrunk_gaussian(batch, pooled)
    assert nats(shrunk.process, fresh) > nats(pooled.process, fresh) + 0.3
    best = max(value for _, value in shrunk.candidates)
    assert shrunk.nats == best


@pytest.mark.slow
def test_gaps_are_filled():
    batch, fresh = features(80, 0), features(40, 1)
    mask = (np.random.default_rng(0).uniform(size=(80, 8)) > 0.25).astype(float)
    gappy = batch._replace(y=np.where(mask[..., None] > 0, batch.y, 1e3), mask=mask)
    pooled = fit_gp(gappy, candidates=ONE)
    shrunk = fit_shrunk_gaussian(gappy, pooled)
    complete = fit_shrunk_gaussian(batch, fit_gp(batch, candidates=ONE))
    assert nats(shrunk.process, fresh) > nats(complete.process, fresh) - 0.35
    assert nats(shrunk.process, fresh) > nats(pooled.process, fresh) + 0.5


def test_few_functions_of_a_process_stay_near_it():
    truth = GP(SE(0.4), noise=0.02)
    batch, fresh = draw(truth, 12, common=True), draw(truth, 60, seed=1, common=True)
    pooled = fit_gp(batch, candidates=(Candidate("SE", "constant"),))
    shrunk = fit_shrunk_gaussian(batch, pooled, folds=4, ordered=True)
    assert float(shrunk.name.split()[-1]) >= 0.5
    assert nats(shrunk.process, fresh) > nats(pooled.process, fresh) - 0.1
    covariance = moments(shrunk.process, np.linspace(-1.1, 1.1, 8)[:, None])[1]
    assert np.linalg.eigvalsh(covariance).min() > 0


def test_scans_of_a_person_do_not_choose_the_weight():
    """Three equal scans of each: without groups a fold would hold what it is fitted to."""
    truth = GP(SE(0.4), noise=0.02)
    persons = draw(truth, 12, common=True)
    batch = Batch(*(None if v is None else np.repeat(v, 3, axis=0) for v in persons))
    pooled = fit_gp(batch, candidates=(Candidate("SE", "constant"),))
    names = [str(row) for row in np.repeat(np.arange(12), 3)]
    weights = [
        float(fit_shrunk_gaussian(batch, pooled, groups=groups).name.split()[-1])
        for groups in (None, names, ["one"] * 36)
    ]
    assert weights[0] == weights[2] < 0.3 < 0.5 <= weights[1]


def test_none_where_no_inputs_are_common():
    batch = draw(GP(SE(0.4), noise=0.02), 80)
    fit = fit_gp(batch, candidates=ONE, max_iterations=3)
    none = fit_shrunk_gaussian(batch, fit)
    assert none.process is None
    assert none.note.startswith("the functions share no inputs (640 different ones")
    with pytest.raises(ValueError, match="expected the fit of a Gaussian process, got NoneType"):
        fit_shrunk_gaussian(batch, none)
    few = fit_shrunk_gaussian(features(3, 0), fit)
    assert few.note == "3 functions for 5 folds"


def test_a_random_scale_is_a_student_t_law():
    gp, dof = GP(SE(0.4), noise=0.3), 8.0
    members = scale_mixture(gp, dof, 12)
    weights = np.asarray([weight for weight, _ in members])
    assert_allclose(weights.sum(), 1.0, rtol=1e-12)
    x = jnp.asarray(X)
    grams = np.stack([member.gram(x).dense() for _, member in members])
    assert_allclose(np.tensordot(weights, grams, 1), gp.gram(x).dense(), rtol=1e-9)
    law = scipy.stats.multivariate_t(np.zeros(8), gp.gram(x).dense() * (dof - 2) / dof, dof)
    for y in law.rvs(5, random_state=0):
        y = jnp.asarray(y[:, None])
        logs = np.asarray([member.log_prob(x, y) for _, member in members])
        found = np.log(np.sum(weights * np.exp(logs)))
        assert_allclose(found, law.logpdf(np.asarray(y)[:, 0]), atol=0.05)
    with pytest.raises(ValueError, match="expected dof > 2, got 2"):
        scale_mixture(gp, 2.0)
