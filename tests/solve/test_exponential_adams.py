"""Exponential Adams-Bashforth steps: one point with a Gaussian score, whose flow is known."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import law
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised, Problem, adams
from geomndp.samplers.problem import no_observations
from geomndp.score import GaussianScore
from geomndp.solve import ExponentialAdams, LogSnrTimeGrid
from geomndp.solve.exponential_adams import interpolation_weights

T_MIN = 5e-4
SCHEDULES = {"1d": LinearSchedule(0.0, 10.0), "fields": LinearSchedule(1e-4, 15.0)}


def single_point(variance, schedule, t_min=T_MIN):
    """A white process of one variance at one point: every mode of a Gaussian process is one."""
    noising = OrnsteinUhlenbeck(White(1.0), schedule)
    x = jnp.zeros((1, 1))
    empty = no_observations(1, 1, x.dtype)
    return Problem(noising, GaussianScore(GP(White(variance))), x, empty, t_min)


@pytest.mark.parametrize("noise", [1e-5, 1e-2])
@pytest.mark.parametrize("name", SCHEDULES)
def test_default_is_more_accurate_than_fifty_steps_of_the_sde(name, noise):
    """On a covariance whose eigenvalues range from the variance of the noise to about ten."""
    gp = GP(SquaredExponential(0.25), noise=noise)
    noising, x = OrnsteinUhlenbeck(White(1.0), SCHEDULES[name]), jnp.linspace(-2, 2, 40)[:, None]
    problem = Problem(noising, GaussianScore(gp), x, no_observations(1, 1, x.dtype), T_MIN)
    mean, gram = problem.score.law(noising, jnp.asarray(T_MIN), x)
    exact = mean.reshape(-1), gram.dense()

    def errors(sampler):
        found = jax.jit(lambda: law.sampler_law(sampler, problem))()
        ratio = jnp.trace(found[1]) / jnp.trace(exact[1])
        return float(law.gaussian_kl(exact, found)), float(abs(ratio - 1))

    few, many = errors(adams()), errors(Amortised(50))
    assert few[0] < many[0]
    assert few[1] < 0.02


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_flow_converges_at_its_order(order):
    """Without noise a sample of one point is a factor times its start, known in closed form."""
    schedule, variance = SCHEDULES["1d"], 0.3

    def factor(steps):
        options = {"step": ExponentialAdams(order, 1e-3, 1.0), "start_terms": 0}
        sampler = Amortised(steps, time_grid=LogSnrTimeGrid(1e-3), **options)
        return np.sqrt(law.sampler_law(sampler, single_point(variance, schedule))[1][0, 0])

    decay = np.exp(-np.asarray([schedule.integral(T_MIN), schedule.integral(1.0)]))
    exact = np.sqrt(np.divide(*(decay * variance + 1 - decay)))
    first, second = (abs(factor(steps) - exact) for steps in (12, 24))
    assert second < 0.1
    assert np.log2(first / second) > order - 0.4


def test_weights_integrate_polynomials_in_the_log_ratio():
    """A cubic in log(rho + f) is interpolated by four values without error."""
    ratios, floor = jnp.asarray([0.1, 0.5, 1.1, 3.0, 7.0]), 1e-2
    for power in (1.0, 2.0):
        kept = (ratios[0] / ratios[1]) ** (power / 2)
        weights = interpolation_weights(ratios, kept, jnp.asarray(power), floor)
        mass = np.linspace(kept, 1, 20001)
        for degree in range(4):
            values = np.log(np.asarray(ratios[1:]) + floor) ** degree
            along = np.log(ratios[0] * mass ** (-2 / power) + floor) ** degree
            assert_allclose(weights @ values, np.trapezoid(along, mass), rtol=1e-6)


def test_weights_of_missing_steps_are_zero():
    ratios = jnp.asarray([0.1, 0.5, 1.1, 1.1, 1.1])
    kept = (ratios[0] / ratios[1]) ** 0.5
    weights = interpolation_weights(ratios, kept, jnp.asarray(1.0), 1e-3)
    assert_allclose(weights[2:], 0.0)
    assert_allclose(jnp.sum(weights), 1 - kept, rtol=1e-6)


def test_a_last_step_to_time_zero_is_finite():
    problem = single_point(0.5, SCHEDULES["1d"], t_min=0.0)
    _, covariance = law.sampler_law(adams(16), problem)
    assert_allclose(covariance[0, 0], 0.5, rtol=0.03)


@pytest.mark.parametrize("order", [0, 5])
def test_other_orders_are_refused(order):
    with pytest.raises(ValueError, match="order"):
        adams(24, order=order)
