"""Data from a mixture of processes: the score is not linear, and what is exact stays exact."""

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import kernels, noising, samplers, score
from geomndp.gp import GP

from .helper import EPS, SCHEDULE, hurried

PROCESSES = (
    GP(kernels.SquaredExponential(0.25), noise=0.05**2),
    GP(kernels.SquaredExponential(1.0), noise=0.05**2),
)
NOISING = noising.OrnsteinUhlenbeck(kernels.White(), SCHEDULE)
X = jnp.asarray([[-0.5], [0.0], [0.6], [-0.8], [-0.2], [0.3], [0.9]])
Y = jnp.asarray([[0.3], [0.9], [0.2]])  # a curve that either process may have made


def shares(y):
    """Probability of each process given all values."""
    logs = jnp.stack([gp.log_prob(X[: len(y)], y) for gp in PROCESSES])
    return jax.nn.softmax(logs)


def problem():
    observed = samplers.Observations(X[:3], Y, jnp.zeros(3), False)
    return samplers.Problem(NOISING, score.MixtureScore(PROCESSES), X[3:], observed, EPS)


def estimated(sampler, num: int):
    """Mean share of each process over the samples, and its standard error."""

    def draw(key):
        draws = sampler.draw(problem(), key=key, num_samples=num).y
        return jax.vmap(lambda y: shares(jnp.concatenate([Y, y])))(draws)

    found = hurried(draw, jr.key(5))
    return jnp.mean(found, axis=0), jnp.std(found, axis=0, ddof=1) / num**0.5


def test_the_context_leaves_the_process_open():
    assert 0.1 < float(shares(Y)[0]) < 0.9


def test_amortised_recovers_the_probabilities_of_the_processes():
    mean, error = estimated(samplers.Amortised(100), 2048)
    assert jnp.all(jnp.abs(mean - shares(Y)) < 3 * error)


def test_replacement_does_not():
    mean, error = estimated(samplers.Replacement(100), 512)
    assert jnp.any(jnp.abs(mean - shares(Y)) > 6 * error)


def test_twisted_smc_recovers_them_between_runs():
    sampler = samplers.TwistedSMC(100, 32)

    def runs(key):
        found = sampler.runs(problem(), key=key, num_runs=48)
        each = jax.vmap(jax.vmap(lambda y: shares(jnp.concatenate([Y, y]))))(found.y)
        return jnp.einsum("rk,rkc->rc", found.weights, each)

    found = hurried(runs, jr.key(6))
    error = jnp.std(found, axis=0, ddof=1) / len(found) ** 0.5
    assert jnp.all(jnp.abs(jnp.mean(found, axis=0) - shares(Y)) < 4 * error)
    assert float(error[0]) < 0.1
