"""The fixed problems of the sampler benchmarks, and the exact KL of a sampler on them."""

import functools

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.law import posterior_kl
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import AbstractSampler, Observations, Problem
from geomndp.score import GaussianScore

jax.config.update("jax_enable_x64", True)

GAUSSIAN = GP(SquaredExponential(0.25), noise=0.05**2)
NOISING = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
EPS = 5e-4
CONTEXTS, TARGETS, TASKS = 3, 50, 20


def problem(x, y) -> Problem:
    """Targets given the first three points."""
    noise = jnp.zeros(CONTEXTS)
    observed = Observations(x[:CONTEXTS], y[:CONTEXTS], noise, False)
    return Problem(NOISING, GaussianScore(GAUSSIAN), x[CONTEXTS:], observed, EPS)


@functools.cache
def tasks():
    """Inputs uniform on [-2, 2] and functions of the SE process, by a fixed key."""

    def one(key):
        x_key, y_key = jr.split(key)
        x = jr.uniform(x_key, (CONTEXTS + TARGETS, 1), minval=-2, maxval=2)
        return x, GAUSSIAN.sample(x, key=y_key)

    return jax.vmap(one)(jr.split(jr.key(1), TASKS))


@eqx.filter_jit
def _kls(sampler: AbstractSampler, x, y):
    def one(x, y):
        posterior = GAUSSIAN.condition(x[:CONTEXTS], y[:CONTEXTS])
        truth = posterior.mean_and_covariance(x[CONTEXTS:])
        return posterior_kl(sampler, problem(x, y), truth)

    return jax.vmap(one)(x, y)


def exact_kl(sampler: AbstractSampler) -> tuple[float, float]:
    """Median and worst KL(true posterior || sampler) over the tasks; infinite where it diverges."""
    kls = _kls(sampler, *tasks())
    kls = jnp.where(jnp.isfinite(kls), kls, jnp.inf)
    return float(jnp.median(kls)), float(jnp.max(kls))


def evaluations(sampler: AbstractSampler) -> int:
    """Score evaluations of one sample."""
    x, y = tasks()
    return sampler.program(problem(x[0], y[0])).evaluations
