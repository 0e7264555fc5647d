r"""Distance of a model's posterior from a known Gaussian, from few deterministic samples.

The probability flow maps white noise z to a sample F(z). With the score of a Gaussian process F is
affine, and its moments follow without sampling error from noise whose own moments are exact: sets
of z with mean zero and second moment one, in antithetic pairs. A learnt score is nearly so: only
the part of F that is not affine has an error of sampling, which shrinks with the number of sets and
whose bias the jackknife over sets removes. What remains is a bias of the order of 1 / pairs in the
variance of that part: the fourth moment of z is 3 m / (m + 2) for m pairs of one dimension.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float
from geomndp.linalg import gaussian_kl
from geomndp.model import Posterior
from geomndp.samplers import Amortised, flow
from geomndp.solve import LogSnrTimeGrid

CONVERGED_FLOW = flow(8, time_grid=LogSnrTimeGrid(1e-3))
"""32 evaluations and one for the start; its own error is that which the exact score shows."""


class FlowKL(NamedTuple):
    """KL(truth || Gaussian with the moments of the flow's samples).

    Attributes:
        value: Nats, less the bias of sampling.
        standard_error: From the samples, by the jackknife over sets of noise.
    """

    value: float
    standard_error: float


def balanced_noise(sets: int, pairs: int, dim: int, seed: int = 0) -> Float[np.ndarray, "s n d"]:
    """Sets of white noise, each with mean zero and second moment one.

    Args:
        sets: Number of sets.
        pairs: Antithetic pairs z, -z of a set, at least `dim`.
        dim: Dimension of z.
        seed: Seed of all sets.

    Returns:
        Noise of shape (sets, 2 pairs, dim).

    Raises:
        ValueError: If a set has fewer pairs than dimensions.
    """
    _validation.at_least(dim, pairs=pairs)
    drawn = np.random.default_rng(seed).normal(size=(sets, pairs, dim))
    factors = np.linalg.cholesky(np.swapaxes(drawn, 1, 2) @ drawn / pairs)
    z = np.swapaxes(np.linalg.solve(factors, np.swapaxes(drawn, 1, 2)), 1, 2)
    return np.concatenate([z, -z], axis=1)


def flow_samples(
    posterior: Posterior, x: Float[Array, "n d"], z: Any, sampler: Amortised = CONVERGED_FLOW
) -> Float[Array, "s n p"]:
    """Samples of a posterior by the probability flow from given noise; under jit too.

    Args:
        posterior: A diffusion model given observations.
        x: Targets in the model's units.
        z: White noise, shape (s, n, p).
        sampler: A flow: noise of its steps is not drawn.

    Returns:
        Samples in the model's units.
    """
    program = sampler.program(posterior.problem(x))
    (phase,) = program.phases

    def one(z):
        def step(state, times):
            return phase.step(state, times, (jnp.zeros_like(z),)), None

        state, _ = jax.lax.scan(step, program.init((z,)), program.inputs)
        return program.finish(state)

    return jax.vmap(one)(z)


def flow_kl(samples: np.ndarray, truth: tuple[np.ndarray, np.ndarray]) -> FlowKL:
    """KL(truth || Gaussian with the samples' moments), for samples from balanced noise.

    Args:
        samples: Those of every set, shape (sets, s, d), two sets at least.
        truth: Mean (d,) and covariance (d, d).

    Returns:
        Value and standard error by the jackknife over sets; NaN where samples are not finite.
    """
    if not np.all(np.isfinite(samples)):
        return FlowKL(float("nan"), float("nan"))
    samples = np.asarray(samples, float)
    _validation.at_least(2, sets=len(samples))
    sets = len(samples)
    whole = gaussian_kl(truth, _moments(samples))
    parts = [gaussian_kl(truth, _moments(np.delete(samples, i, axis=0))) for i in range(sets)]
    value = sets * whole - (sets - 1) * np.mean(parts)
    return FlowKL(float(value), float(np.sqrt(sets - 1) * np.std(parts)))


def _moments(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and covariance over all sets; noise with second moment one needs no n - 1."""
    rows = samples.reshape(-1, samples.shape[-1])
    centred = rows - rows.mean(axis=0)
    return rows.mean(axis=0), centred.T @ centred / len(rows)
