r"""Exact law of a sampler whose score is that of a Gaussian process.

With such a score every step of a sampler is an affine map of its state plus Gaussian noise, so
the law of its output is Gaussian: mean and covariance are pushed through the functions that
`samplers.run` executes, linearised at zero. No Monte Carlo error: made for tests and for tuning.
"""

import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree

from geomndp._deprecated import deprecated_names
from geomndp._types import Array, Float, Outputs, Scalar
from geomndp.linalg import cholesky, gaussian_kl, solve_lower
from geomndp.samplers import AbstractProgramSampler, AbstractSampler, Problem, Program
from geomndp.samplers.program import Noise, Shapes, shape_of

__all__ = ["MeanAndCovariance", "gaussian_kl", "posterior_kl", "propagate", "sampler_law", "whiten"]

MeanAndCovariance = tuple[Float[Array, " k"], Float[Array, "k k"]]
"""Mean and covariance of a Gaussian law."""


def sampler_law(sampler: AbstractSampler, problem: Problem) -> MeanAndCovariance:
    """Mean (n p,) and covariance (n p, n p) of the sampler's output, flattened (point, output).

    Args:
        sampler: A sampler with affine steps, such as `Amortised` or `Langevin`.
        problem: Targets and observations, with the score of a Gaussian process.

    Returns:
        Mean and covariance.

    Raises:
        ValueError: If the sampler's steps are not affine, as those of `TwistedSMC`.
    """
    program = sampler.program(problem) if isinstance(sampler, AbstractProgramSampler) else None
    if program is None or not program.affine:
        name = type(sampler).__name__
        raise ValueError(f"expected a sampler whose steps are affine, got {name}: no known law")
    return propagate(program, problem.x.dtype)


def propagate(program: Program, dtype) -> MeanAndCovariance:
    """Push N(0, I) noise through a program of affine steps.

    Args:
        program: Program whose steps are affine in state and noise.
        dtype: Floating-point type.

    Returns:
        Mean (k,) and covariance (k, k) of the result, flattened (point, output).
    """
    silence = _zeros(program.init_noise, dtype)
    state, unravel = ravel_pytree(program.init(silence))

    def flat_init(noise):
        return ravel_pytree(program.init(noise))[0]

    root = _columns(jax.jacfwd(flat_init)(silence), len(state))
    law = (state, root @ root.T)

    def through(phases, law, inputs):
        for phase in phases:
            step = _affine(phase, inputs, unravel, len(state), dtype)
            law = jax.lax.fori_loop(
                0, phase.repeats, lambda _, law, step=step: _push(step, law), law
            )
        return law

    def outer(law, inputs):
        return through(program.phases, law, inputs), None

    law, _ = jax.lax.scan(outer, law, program.inputs)
    last = jax.tree.map(lambda rows: rows[-1], program.inputs)
    mean, covariance = through(program.last, law, last)

    def flat_finish(state):
        return program.finish(unravel(state)).reshape(-1)

    out = jax.jacfwd(flat_finish)(mean)
    return flat_finish(mean), out @ covariance @ out.T


def _zeros(shapes: Shapes, dtype) -> Noise:
    return tuple(jnp.zeros(shape_of(spec), dtype=dtype) for spec in shapes)


def _columns(jacobians, rows: int) -> Float[Array, "k c"]:
    return jnp.concatenate([j.reshape(rows, -1) for j in jacobians], axis=1)


def _affine(phase, inputs, unravel, size: int, dtype):
    """Matrix, offset and noise covariance of one step."""

    def step(state, noise):
        return ravel_pytree(phase.step(unravel(state), inputs, noise))[0]

    origin = jnp.zeros(size, dtype=dtype)
    silence = _zeros(phase.noise, dtype)
    matrix, noise_jacobians = jax.jacfwd(step, argnums=(0, 1))(origin, silence)
    if not phase.noise:
        return matrix, step(origin, silence), jnp.zeros((size, size), dtype=dtype)
    root = _columns(noise_jacobians, size)
    return matrix, step(origin, silence), root @ root.T


def _push(step, law: MeanAndCovariance) -> MeanAndCovariance:
    matrix, offset, noise = step
    mean, covariance = law
    return matrix @ mean + offset, matrix @ covariance @ matrix.T + noise


def posterior_kl(
    sampler: AbstractSampler, problem: Problem, truth: tuple[Outputs, Array]
) -> Scalar:
    """Kullback-Leibler divergence KL(truth || sampler) of a sampler's law, in nats.

    Args:
        sampler: A sampler with affine steps.
        problem: Targets (n, d) and observations, with the score of a Gaussian process.
        truth: Mean (n, p) and covariance (n p, n p), `GP.condition(...).mean_and_covariance(x)`.

    Returns:
        The divergence, without Monte Carlo error.

    Raises:
        ValueError: If the sampler's steps are not affine.
    """
    mean, covariance = truth
    return gaussian_kl((mean.reshape(-1), covariance), sampler_law(sampler, problem))


def whiten(law: MeanAndCovariance, samples: Float[Array, "s k"]) -> Float[Array, "s k"]:
    """Whiten samples by a Gaussian law: standard normal if they follow it.

    Args:
        law: Mean (k,) and covariance (k, k).
        samples: Samples (s, k).

    Returns:
        Whitened samples (s, k).
    """
    mean, covariance = law
    factor = cholesky(covariance)
    return solve_lower(factor, (samples - mean[None]).T).T


deprecated_names(__name__, {"Gaussian": "MeanAndCovariance"})
