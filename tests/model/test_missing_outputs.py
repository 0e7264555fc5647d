"""Outputs that are missing at some points, against the dense law with their rows deleted."""

import dataclasses
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from geomndp import Model, OutsideTrainingWarning, ProcessModel, law
from geomndp.data import LogTransform, Normaliser
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, Diagonal, SquaredExponential, White
from geomndp.likelihood import Flow
from geomndp.model import TrainingSupport, likelihood_routes
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised, Langevin, Observations, Problem
from geomndp.samplers.problem import no_observations
from geomndp.score import GaussianScore

KERNEL = Coregionalised(SquaredExponential(0.7), ((1.0, 0.7), (0.7, 1.2)))
PROCESS = GP(KERNEL, noise=0.05)
NOISING = OrnsteinUhlenbeck(Diagonal(White(), 2), LinearSchedule(0.0, 10.0))
UNITS = Normaliser(x_scale=2.0, y_shift=(1.0, -3.0), y_scale=(2.0, 5.0))
X = jnp.asarray([[-1.0], [-0.4], [0.0], [0.5], [1.1]])
OBSERVED = np.asarray([[1, 0], [1, 1], [0, 1], [0, 0], [1, 0]])
WANTED = np.asarray([[0, 1], [1, 0], [1, 1]])
FLOW = Flow(steps=40, terminal="exact")


@pytest.fixture
def model():
    return Model(NOISING, GaussianScore(PROCESS), t_min=1e-4, normaliser=UNITS)


@pytest.fixture
def targets(getkey):
    """The first and the last location of the context, of which a part is known, and a new one."""
    return jnp.stack([2 * X[0], jnp.asarray([0.3]), 2 * X[4]])


def in_model_units(x, y):
    return np.asarray(x) / 2, (np.asarray(y) - [1.0, -3.0]) / [2.0, 5.0]


def dense(x):
    """Covariance of all values at x in the model's units, flattened (point, output)."""
    return np.asarray(KERNEL.cross(jnp.asarray(x), jnp.asarray(x))) + 0.05 * np.eye(2 * len(x))


def moments(x_context, y_context, seen, x):
    """Mean and covariance of all values at x given the observed ones."""
    rows = np.flatnonzero(np.asarray(seen).reshape(-1))
    total = dense(np.concatenate([x_context, x]))
    wanted = np.arange(2 * len(x_context), len(total))
    cross = total[np.ix_(wanted, rows)] @ np.linalg.inv(total[np.ix_(rows, rows)])
    mean = cross @ y_context.reshape(-1)[rows]
    return mean, total[np.ix_(wanted, wanted)] - cross @ total[np.ix_(rows, wanted)]


def log_density(values, mean, covariance, mask):
    kept = np.asarray(mask).reshape(-1) > 0
    part = scipy.stats.multivariate_normal(mean[kept], covariance[np.ix_(kept, kept)])
    scales = np.broadcast_to([2.0, 5.0], mask.shape)[np.asarray(mask) > 0]
    return part.logpdf(values.reshape(-1)[kept]) - np.sum(np.log(scales))


def test_joint_density_is_that_of_the_values_that_count(model, getkey):
    y = jr.normal(getkey(), (5, 2))
    x, values = in_model_units(2 * X, y)
    zero = np.zeros(10)
    expected = log_density(values, zero, dense(x), OBSERVED)
    got = model.log_prob_info(2 * X, y, mask=OBSERVED, flow=FLOW).value
    assert_allclose(got, expected, atol=2e-3)


@pytest.mark.parametrize("route", ["conditional", "joint"])
def test_conditional_density(model, targets, route, getkey):
    y_context, y = jr.normal(getkey(), (5, 2)), jr.normal(getkey(), (3, 2))
    (x_c, values_c), (x, values) = in_model_units(2 * X, y_context), in_model_units(targets, y)
    expected = log_density(values, *moments(x_c, values_c, OBSERVED, x), WANTED)
    posterior = model.condition(2 * X, y_context, mask=OBSERVED)
    got = posterior.log_prob_info(targets, y, mask=WANTED, flow=FLOW, route=route).value
    assert_allclose(got, expected, atol=4e-3)


def test_what_is_missing_may_be_anything(model, targets, getkey):
    y_context, y = np.asarray(jr.normal(getkey(), (5, 2))), np.asarray(jr.normal(getkey(), (3, 2)))
    results = []
    for wild in (0.0, 1e3, np.nan):
        context = np.where(OBSERVED > 0, y_context, wild)
        posterior = model.condition(2 * X, context, mask=OBSERVED)
        value = posterior.log_prob(targets, np.where(WANTED > 0, y, wild), mask=WANTED)
        results.append((value, posterior.sample(targets, key=0, num_samples=2)))
    masked = np.ma.masked_where(OBSERVED == 0, np.where(OBSERVED > 0, y_context, 1e20))
    assert_allclose(model.condition(2 * X, masked).observations.mask, OBSERVED[[0, 1, 2, 4]])
    for value, samples in results[1:]:
        assert value == results[0][0]
        assert jnp.array_equal(samples, results[0][1])


def test_an_observed_row_without_targets_keeps_its_location(model, getkey):
    """Observed outputs in the rows of the targets, one of which asks for nothing."""
    y, wanted = jr.normal(getkey(), (5, 2)), np.asarray([[0, 0], [0, 0], [1, 0], [1, 1], [0, 1]])
    observed = Observations(X, y, jnp.zeros(5), False, jnp.asarray(OBSERVED, X.dtype))
    nothing, mask = no_observations(1, 2, X.dtype), jnp.asarray(wanted, X.dtype)
    problem = Problem(NOISING, model.score, X, nothing, 1e-4, mask, partial=observed)
    log_prob = jax.jit(partial(likelihood_routes.log_prob, FLOW, key=None, route="conditional"))
    got = log_prob(problem, y, mask).value
    mean, covariance = moments(np.asarray(X), np.asarray(y), OBSERVED, np.asarray(X))
    kept = wanted.reshape(-1) > 0
    part = scipy.stats.multivariate_normal(mean[kept], covariance[np.ix_(kept, kept)])
    assert_allclose(got, part.logpdf(np.asarray(y).reshape(-1)[kept]), atol=4e-3)


def test_rows_are_joined_where_targets_complete_them(model, targets):
    posterior = model.condition(2 * X, jnp.ones((5, 2)), mask=OBSERVED)
    problem = posterior.problem(targets / 2)
    joined = posterior.problem(targets / 2, jnp.asarray(WANTED, X.dtype))
    # The first target asks for what its row lacks; the last asks for more than that.
    assert_allclose(joined.partial.mask, [[1, 0], [0, 0], [0, 0]])
    assert_allclose(joined.observations.x, X[jnp.asarray([1, 2, 4])])
    assert problem.partial is None and problem.mask is None


def test_too_much_noise_is_refused_in_joined_rows_too(model):
    seen, wanted = np.asarray([[1, 0]]), np.asarray([[0, 1]])
    posterior = model.condition(X[:1], jnp.ones((1, 2)), mask=seen, noise=np.full((1, 2), 1e9))
    with pytest.raises(ValueError, match="noise at most"):
        posterior.sample(X[:1], key=0, mask=wanted, sampler=Amortised(4))


def test_evidence_does_not_know_the_noise_of_missing_values(model):
    seen, y = np.asarray([[1, 0], [1, 1]]), jnp.ones((2, 2))
    plain = dataclasses.replace(model, normaliser=None)
    evidences = [
        plain.condition(X[:2], y, mask=seen, noise=np.where(seen, 0.1, wild)).log_evidence().value
        for wild in (0.1, 7.0)
    ]
    assert evidences[0] == evidences[1]


def test_law_of_samples_is_the_posterior(model, targets, getkey):
    y_context = jr.normal(getkey(), (5, 2))
    posterior = model.condition(2 * X, y_context, mask=OBSERVED)
    problem = posterior.problem(targets / 2)
    mean, covariance = jax.jit(lambda p: law.sampler_law(Amortised(200), p))(problem)
    x_c, values_c = in_model_units(2 * X, y_context)
    expected_mean, expected = moments(x_c, values_c, OBSERVED, np.asarray(targets) / 2)
    assert_allclose(mean, expected_mean, atol=0.02)
    assert_allclose(covariance, expected, atol=0.02)


def test_law_of_samples_in_rows_that_are_partly_observed(model, targets, getkey):
    posterior = model.condition(2 * X, jr.normal(getkey(), (5, 2)), mask=OBSERVED)
    wanted = np.asarray([[0, 1], [1, 1], [0, 1]])
    problem = posterior.problem(targets / 2)
    joined = posterior.problem(targets / 2, jnp.asarray(wanted, X.dtype))
    law_of = jax.jit(lambda p: law.sampler_law(Amortised(100), p))
    apart, together = law_of(problem), law_of(joined)
    kept = wanted.reshape(-1) > 0
    assert_allclose(together[0][kept], apart[0][kept], atol=0.02)
    assert_allclose(together[1][kept][:, kept], apart[1][kept][:, kept], atol=0.02)


def test_noise_per_output(model, targets, getkey):
    y_context, noise = jr.normal(getkey(), (5, 2)), jr.uniform(getkey(), (5, 2), minval=0.1)
    gp = PROCESS.condition(
        X,
        jnp.asarray(in_model_units(2 * X, y_context)[1]),
        noise=noise / jnp.asarray([[4.0, 25.0]]),
        mask=jnp.asarray(OBSERVED, X.dtype),
    )
    posterior = model.condition(2 * X, y_context, noise=noise, mask=OBSERVED)
    y = jr.normal(getkey(), (3, 2))
    values = jnp.asarray(in_model_units(targets, y)[1])
    expected = eqx.filter_jit(gp.log_prob)(targets / 2, values) - 3 * np.log(10.0)
    assert_allclose(posterior.log_prob_info(targets, y, flow=FLOW).value, expected, atol=4e-3)


def test_rows_as_a_whole_are_as_before(model, targets):
    y = jnp.ones((5, 2))
    rows = np.asarray([1, 1, 0, 1, 0])
    given = model.condition(2 * X, y, mask=np.repeat(rows[:, None], 2, axis=1)).observations
    expected = model.condition(2 * X, y, mask=rows).observations
    assert given.mask is None
    assert_allclose(given.x, expected.x, rtol=0)


def test_refusals(learnt, model):
    with pytest.raises(ValueError, match=r"expected mask of shape \(5,\) or \(5, 2\), got shape"):
        model.condition(2 * X, jnp.ones((5, 2)), mask=np.ones((5, 3)))
    posterior = model.condition(2 * X, jnp.ones((5, 2)), mask=OBSERVED)
    with pytest.raises(ValueError, match="all outputs of an observation for Langevin"):
        posterior.sample(2 * X, key=0, sampler=Langevin(4, 1))
    score = dataclasses.replace(model.score, gp=GP(Diagonal(White(), 2)))
    one_group = Model(NOISING, OneGroup(score))
    with pytest.raises(ValueError, match="all outputs of a row or none of the context, got a part"):
        one_group.condition(X, jnp.ones((5, 2)), mask=OBSERVED)


class OneGroup(GaussianScore):
    """A score that knows whole rows only."""

    def __init__(self, score):
        self.gp = score.gp

    @property
    def num_groups(self):
        return 1


def test_outputs_that_are_missing_are_not_compared():
    kernel = Coregionalised(SquaredExponential(0.5), ((1.0, 0.6), (0.6, 2.0)))
    support = TrainingSupport(((0.0, 1.0),), ((1.0, 9.0), (280.0, 300.0)), (1.0,), 0.1, 9, 5)
    units = Normaliser(transform=LogTransform(), y_shift=(1.0, 5.6))
    model = ProcessModel(GP(kernel, noise=0.1), units, support=support)
    x, y = np.linspace(0, 1, 3), np.full((3, 2), np.nan)
    y[:, 0], mask = 4.0, np.asarray([[1, 0]] * 3)
    law = model.condition(x, y, mask=mask)  # a warning would be an error here
    assert_allclose(law.log_evidence().value, model.log_prob(x, y, mask=mask))
    with pytest.warns(OutsideTrainingWarning, match="y = 90"):
        model.condition(x, 22.5 * y, mask=mask)


def test_one_noise_for_outputs_of_several_scales(model):
    x, y = np.linspace(0, 1, 3), np.asarray([[1.0, -3.0], [2.0, 0.0], [0.5, 1.0]])
    process = ProcessModel(PROCESS, UNITS)
    both = [process.condition(x, y, noise=noise) for noise in (0.3, np.full((3, 2), 0.3))]
    assert_allclose(both[0].mean(x), both[1].mean(x))
    assert_allclose(both[0].log_evidence().value, both[1].log_evidence().value)
    assert_allclose(both[0].observations.noise, [[0.3 / 4, 0.3 / 25]] * 3)
    assert_allclose(model.condition(x, y, noise=0.3).observations.noise, [[0.075, 0.012]] * 3)
