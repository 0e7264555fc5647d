"""Distance to the exact posterior: the bars of few evaluations, and the limit of many steps."""

import itertools

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from scipy.linalg import solve_continuous_lyapunov

from geomndp import law, samplers, solve

from ..cases import slow_but
from .helper import EPS, case, exact_kl, hurried

# Sampler, evaluations, KL: what is asked of joint scores (a vector-Jacobian product counts as two)
# and of conditional scores. 3 observations, 50 targets; the benchmark shows 20 tasks.
BARS = {
    "langevin-260": (samplers.Langevin(13, 19), 260, 0.025),
    "langevin-510": (samplers.Langevin(17, 29), 510, 0.008),
    "kinetic-260": (samplers.KineticLangevin(), 260, 0.003),
    "kinetic-510": (samplers.KineticLangevin(30, 16), 510, 0.0006),
    "moment-matching-280": (samplers.MomentMatching(36), 280, 0.012),
    "moment-matching-530": (samplers.MomentMatching(71), 530, 0.001),
    "amortised-103": (samplers.Amortised(99), 103, 0.0003),
    "amortised-53": (samplers.Amortised(49), 53, 0.003),
    "euler-maruyama-153": (samplers.Amortised(149, solve.EulerMaruyama()), 153, 0.0062),
    "flow-44": (samplers.flow(), 44, 0.003),
}
CONVERGED = {
    "amortised": samplers.Amortised(300),
    "moment-matching": samplers.MomentMatching(300),
    "langevin": samplers.Langevin(40, 300),
    "kinetic": samplers.KineticLangevin(40, 40),
}


@pytest.fixture(scope="module")
def tasks():
    return [case(n=50, key=key, width=2.0) for key in jr.split(jr.key(0), 3)]


FEW = ("langevin-260", "moment-matching-280", "amortised-53", "flow-44")


@pytest.mark.parametrize("name", slow_but(FEW, BARS))
def test_bars(name, tasks):
    sampler, evaluations, bar = BARS[name]
    assert sampler.program(tasks[0].problem).evaluations <= evaluations
    assert exact_kl(sampler, *tasks) < bar


FAST = (("amortised", "white"), ("moment-matching", "white"), ("kinetic", "nugget"))


@pytest.mark.parametrize(
    "both", slow_but(FAST, list(itertools.product(CONVERGED, ("white", "nugget")))), ids="-".join
)
def test_many_steps_reach_the_posterior(both):
    name, limit = both
    assert exact_kl(CONVERGED[name], case(limit, key=jr.key(0))) < 2e-3


@pytest.mark.parametrize("name", slow_but(("kinetic",), ["moment-matching", "kinetic"]))
def test_many_steps_reach_the_posterior_of_noisy_vector_fields(name):
    assert exact_kl(CONVERGED[name], case("fields", n=4, noise=0.1, key=jr.key(1))) < 2e-3


def test_many_steps_at_the_time_of_the_noise():
    assert exact_kl(CONVERGED["amortised"], case("white", noise=0.1, key=jr.key(1))) < 2e-4


@pytest.mark.slow
def test_adaptive_flow_is_the_flow():
    problem = case(key=jr.key(0)).problem

    def both(problem):
        sample = [
            sampler.draw(problem, key=jr.key(1), num_samples=3).y
            for sampler in (samplers.AdaptiveFlow(), samplers.flow(100))
        ]
        return jnp.max(jnp.abs(sample[0] - sample[1]))

    assert float(hurried(both, problem)) < 1e-4


def test_langevin_without_the_block_form_misses_the_posterior():
    """Stationary law of the plain step, dy = g_* / 2 + K_**^(1/2) dB, at the last time."""
    the_case = case("nugget", key=jr.key(0))
    problem, m = the_case.problem, 3
    a, sigma = (float(f(jnp.asarray(EPS))) for f in (problem.noising.alpha, problem.noising.sigma))
    x = jnp.concatenate([problem.observations.x, problem.x])
    limit = np.asarray(problem.noising.gram(x).dense())
    joint = a**2 * np.asarray(the_case.gp.gram(x).dense()) + sigma**2 * limit
    pull = limit @ np.linalg.inv(joint)
    mean = -np.linalg.solve(pull[m:, m:], pull[m:, :m] @ (a * problem.observations.y[:, 0]))
    spread = solve_continuous_lyapunov(pull[m:, m:], 2 * limit[m:, m:])
    true_mean, covariance = the_case.truth()
    plain = (jnp.asarray(mean), jnp.asarray(spread))
    assert float(law.gaussian_kl((true_mean[:, 0], covariance), plain)) > 0.5
    assert exact_kl(samplers.KineticLangevin(40, 40), the_case) < 2e-3
