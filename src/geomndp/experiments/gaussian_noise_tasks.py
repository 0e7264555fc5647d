"""Observed functions of a Gaussian process, with every size of observation noise: exact laws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array
from geomndp.experiments.registry import find
from geomndp.experiments.regression1d import training as regression1d
from geomndp.experiments.vector_fields import training as vector_fields
from geomndp.gp import GP
from geomndp.linalg import cholesky


class NoiseSetting(NamedTuple):
    """The exact process, and the inputs of a task: context points first."""

    gp: GP
    variance: float
    """Limiting variance, in which noise is counted."""
    low: float
    high: float
    dim: int
    contexts: int
    targets: int

    def inputs(self, seed: int) -> np.ndarray:
        """Uniform inputs of one task."""
        shape = (self.contexts + self.targets, self.dim)
        return np.random.default_rng(seed).uniform(self.low, self.high, shape)


def noise_setting(name: str) -> NoiseSetting:
    """Of a model by its experiment: a line of 5 and 20 points, or a square of 10 and 10."""
    if find(name).name == "vector-fields":
        problem = vector_fields.problem_for(name)
        return NoiseSetting(problem.gp, problem.variance, -3.0, 3.0, 2, 10, 10)
    process = regression1d.problem_for(name)
    return NoiseSetting(process.exact(), process.process.variance, -2.0, 2.0, 1, 5, 20)


class NoiseTask(NamedTuple):
    """Noisy values at the context points, and the exact law of the targets."""

    xc: np.ndarray
    yc: np.ndarray
    x: np.ndarray
    noise: float
    mean: np.ndarray
    factor: np.ndarray


def draw_noise_tasks(
    where: NoiseSetting, noises: Sequence[float], seeds: Sequence[int]
) -> list[list[NoiseTask]]:
    """Functions of the process, each seen with every noise; in double precision.

    Args:
        where: The exact process and the points of a task.
        noises: Variances of the observation noise.
        seeds: One per function; its values and its white noise are the same at every variance.

    Returns:
        A row of tasks for every variance.
    """
    c = where.contexts
    x = np.stack([where.inputs(seed) for seed in seeds])
    white = [np.random.default_rng((seed, 1)).normal(size=(c, where.gp.dim)) for seed in seeds]
    with jax.enable_x64(True):
        keys = jnp.stack([jr.key(seed) for seed in seeds])
        laws = _exact_laws(where.gp, c, jnp.asarray(x), jnp.asarray(white), keys, jnp.array(noises))
        laws = [np.asarray(part) for part in laws]
    return [
        [NoiseTask(x[j, :c], yc[j], x[j, c:], noise, mean[j], factor[j]) for j in range(len(seeds))]
        for noise, yc, mean, factor in zip(map(float, noises), *laws, strict=True)
    ]


@eqx.filter_jit
def _exact_laws(gp: GP, c: int, x, white, keys, noises) -> tuple[Array, Array, Array]:
    """Noisy values, mean and factor of the exact law, first axes those of noises and functions."""

    def one(noise, x, white, key):
        yc = gp.sample(x, key=key)[:c] + jnp.sqrt(noise) * white
        mean, covariance = gp.condition(x[:c], yc, noise=noise).mean_and_covariance(x[c:])
        return yc, jnp.ravel(mean), cholesky(covariance)

    functions = jax.vmap(one, (None, 0, 0, 0))
    return jax.lax.map(lambda noise: functions(noise, x, white, keys), noises)
