"""The fixed problems of the sampler benchmark, and the exact KL of a sampler on them.

SE data (lengthscale 0.25, noise 0.05^2), white limit: one eigendecomposition per task serves the
scores of all times, where `GaussianScore` would factorise at each.
"""

import functools

import _threads  # noqa: F401
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Float, Outputs
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.law import posterior_kl
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import AbstractProgramSampler, Amortised, Observations, Problem
from geomndp.score import AbstractScore

jax.config.update("jax_enable_x64", True)

GAUSSIAN = GP(SquaredExponential(0.25), noise=0.05**2)
NOISING = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
EPS = 5e-4
CONTEXTS, TARGETS, TASKS = 3, 50, 20
# Programs that run once: most of the time would go into making them fast.
QUICK = {"xla_cpu_use_fusion_emitters": False}


class SpectralScore(AbstractScore):
    """Score of N(mean, V diag(values) V^T) at fixed points, white limit of variance one."""

    mean: Outputs
    values: Float[Array, " n"]
    vectors: Float[Array, "n n"]
    conditional = True

    def __call__(self, noising, t, x, y, mask=None):
        a, sigma = noising.alpha(t), noising.sigma(t)
        rotated = self.vectors.T @ (y - a * self.mean)
        return -sigma * (self.vectors @ (rotated / (a**2 * self.values + sigma**2)[:, None]))


def spectral(mean, covariance) -> SpectralScore:
    """Score of a Gaussian."""
    return SpectralScore(mean, *jnp.linalg.eigh(covariance))


def problem_and_truth(x, y, conditional: bool):
    """Targets given the first points, under the joint or the conditional score."""
    num_context, x_context, y_context = CONTEXTS, x[:CONTEXTS], y[:CONTEXTS]
    truth = GAUSSIAN.condition(x_context, y_context).mean_and_covariance(x[num_context:])
    if conditional:
        score, num_context = spectral(*truth), 0
    else:
        score = spectral(*GAUSSIAN.mean_and_covariance(x))
    observed = Observations(x[:num_context], y[:num_context], jnp.zeros(num_context), False)
    return Problem(NOISING, score, x[CONTEXTS:], observed, EPS), truth


@functools.cache
def tasks():
    """Inputs uniform on [-2, 2] and functions of the process, by a fixed key."""

    def one(key):
        x_key, y_key = jr.split(key)
        x = jr.uniform(x_key, (CONTEXTS + TARGETS, 1), minval=-2, maxval=2)
        return x, GAUSSIAN.sample(x, key=y_key)

    return jax.vmap(one)(jr.split(jr.key(1), TASKS))


def exact_kls(sampler: AbstractProgramSampler, x, y):
    """KL(true posterior || sampler) of every task."""

    def one(task):
        return posterior_kl(sampler, *problem_and_truth(*task, isinstance(sampler, Amortised)))

    return jax.jit(lambda *tasks: jax.lax.map(one, tasks), compiler_options=QUICK)(x, y)


def exact_kl(sampler: AbstractProgramSampler) -> tuple[float, float]:
    """Median and worst KL over the tasks; infinite where it diverges."""
    kls = exact_kls(sampler, *tasks())
    kls = jnp.where(jnp.isfinite(kls), kls, jnp.inf)
    return float(jnp.median(kls)), float(jnp.max(kls))


def evaluations(sampler: AbstractProgramSampler) -> int:
    """Score evaluations of one sample."""
    x, y = tasks()
    problem, _ = problem_and_truth(x[0], y[0], isinstance(sampler, Amortised))
    return sampler.program(problem).evaluations
