"""Data that are not Gaussian: the posterior probability of each process of a mixture."""

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp import noising, samplers, score
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White

from ..cases import quick
from .helper import EPS, SCHEDULE, hurried

PROCESSES = tuple(GP(SquaredExponential(length), noise=0.05**2) for length in (0.25, 1.0))
MIXTURE = score.MixtureScore(PROCESSES, (0.4, 0.6))
M, N = 2, 5


def make_problem(key):
    x = jr.uniform(key, (M + N, 1), minval=-1.0, maxval=1.0)
    y = PROCESSES[0].sample(x, key=key)[:M]
    observations = samplers.Observations(x[:M], y, jnp.zeros(M), False)
    process = noising.OrnsteinUhlenbeck(White(), SCHEDULE)
    return samplers.Problem(process, MIXTURE, x[M:], observations, EPS)


def share(problem, y=None):
    """Probability of the first process given the observations, and given targets too."""
    observations, zero = problem.observations, jnp.zeros(())
    x, values = observations.x, observations.y
    if y is not None:
        x, values = jnp.concatenate([x, problem.x]), jnp.concatenate([values, y])
    return MIXTURE.responsibilities(problem.noising, zero, x, values)[0]


def test_amortised_finds_the_probabilities():
    count = 512

    @quick
    def compare(key):
        problem = make_problem(key)
        y = samplers.Amortised().draw(problem, key=jr.key(1), num_samples=count).y
        shares = jax.vmap(lambda y: share(problem, y))(y)
        return share(problem), jnp.mean(shares), jnp.std(shares) / count**0.5

    for key in jr.split(jr.key(0), 3):
        truth, found, error = compare(key)
        assert 0.05 < float(truth) < 0.95
        assert abs(float(found - truth)) < 4 * float(error)


@pytest.mark.slow  # its law is checked in test_twisted_smc.py
def test_twisted_smc_finds_the_probabilities():
    runs = 64

    def compare(problem):
        sampler = samplers.TwistedSMC(100, 32, batch_size=runs)
        found = sampler.runs(problem, key=jr.key(1), num_runs=runs)
        shares = jax.vmap(jax.vmap(lambda y: share(problem, y)))(found.y)
        means = jnp.sum(found.weights * shares, axis=1)
        return share(problem), jnp.mean(means), jnp.std(means) / runs**0.5

    truth, found, error = hurried(compare, make_problem(jr.key(0)))
    assert abs(float(found - truth)) < 3 * float(error)
    assert float(error) < 0.05
