"""Moment matching is exact for Gaussian data, in both its forms."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import noising, samplers, score
from geomndp.gp import GP
from geomndp.kernels import Matern32
from geomndp.samplers.guidance import guided_dynamics
from geomndp.solve import ConditionalDynamics

from .helper import EPS, LIMITS, SCHEDULE, case, hurried

SMOOTH = GP(Matern32(0.5))  # no noise: values at one point are one and the same value
TIMES = (1.0, 0.3, 0.02)


def smooth_problem(limit, noise, *, key):
    x = jr.uniform(key, (6, 1))
    y = SMOOTH.sample(x, key=key)[:3]
    observations = samplers.Observations(x[:3], y, jnp.full(3, noise), noise > 0)
    process = noising.OrnsteinUhlenbeck(LIMITS[limit], SCHEDULE)
    return samplers.Problem(process, score.GaussianScore(SMOOTH), x[3:], observations, EPS)


@pytest.mark.parametrize("limit", ["white", "nugget"])
def test_guided_score_is_that_of_the_posterior(limit, getkey):
    problem = smooth_problem(limit, 0.1, key=getkey())
    observations, y = problem.observations, jr.normal(getkey(), (6, 1))

    def compare(problem):
        posterior = score.GaussianScore(SMOOTH.condition(observations.x, observations.y, 0.1))
        exact = ConditionalDynamics(problem.noising, posterior, problem.joint().x)
        times = [jnp.asarray(t) for t in TIMES]
        return [(guided_dynamics(problem).u(t, y), exact.u(t, y)) for t in times]

    for found, expected in hurried(compare, problem):
        assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_twist_is_the_predictive_density(getkey):
    problem = smooth_problem("nugget", 0.1, key=getkey())
    y, t = jr.normal(getkey(), (6, 1)), jnp.asarray(0.3)

    def compare(problem):
        process, x, observations = problem.noising, problem.joint().x, problem.observations
        a, sigma = process.alpha(t), process.sigma(t)
        data, limit = SMOOTH.gram(x).dense(), process.gram(x).dense()
        gain = a * data @ jnp.linalg.inv(a**2 * data + sigma**2 * limit)
        mean, covariance = gain @ y[:, 0], data - a * gain @ data
        covariance = covariance[:3, :3] + jnp.diag(observations.noise)
        expected = jax.scipy.stats.multivariate_normal.logpdf(
            observations.y[:, 0], mean[:3], covariance
        )
        return guided_dynamics(problem).guidance_terms(t, y).log_twist, expected

    found, expected = hurried(compare, problem)
    assert_allclose(found, expected, rtol=1e-5)


def test_padding_leaves_the_twist(getkey):
    problem = smooth_problem("nugget", 0.1, key=getkey())
    y, t = jr.normal(getkey(), (6, 1)), jnp.asarray(0.3)
    padding = jnp.zeros((2, 1))
    both = jnp.concatenate([y[:3], padding, y[3:], padding])

    def compare(problem, wide):
        pairs = ((problem, y), (wide, both))
        return [guided_dynamics(one).guidance_terms(t, v).log_twist for one, v in pairs]

    found, expected = hurried(compare, problem, samplers.pad_problem(problem, 5, 5))
    assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("limit", "noise"),
    [
        ("nugget", 0.0),
        ("fields", 0.1),
        pytest.param("nugget", 0.1, marks=pytest.mark.slow),
        pytest.param("fields", 0.0, marks=pytest.mark.slow),
    ],
)
def test_conjugate_gradients_find_the_dense_answer(limit, noise, getkey):
    problem = case(limit, m=6, n=4, noise=noise, key=getkey()).problem
    y = jr.normal(getkey(), (10, problem.noising.dim))

    def compare(problem):
        fields = (
            guided_dynamics(problem, max_dense=64),
            guided_dynamics(problem, max_dense=0, iterations=60),
        )
        return [[dynamics.u(jnp.asarray(t), y) for dynamics in fields] for t in TIMES]

    for dense, by_products in hurried(compare, problem):
        # They stop at a relative residual of 1.5e-8: the error is that times a condition number.
        assert_allclose(by_products, dense, rtol=1e-4, atol=1e-4)


def test_cost():
    problem = case("fields", m=6, key=jr.key(0)).problem
    assert guided_dynamics(problem).evaluations == 1 + 2 * 12
    assert guided_dynamics(problem, max_dense=0, iterations=10).evaluations == 1 + 2 * 12
    assert samplers.MomentMatching(5).program(problem).evaluations == 9 * 25
    nothing = case(m=0, key=jr.key(0)).problem
    assert samplers.MomentMatching(5).program(nothing).evaluations == 9
