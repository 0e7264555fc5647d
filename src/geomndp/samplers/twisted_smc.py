r"""Twisted sequential Monte Carlo (Wu et al. 2023): the reference for all other samplers.

Particles of all points follow the guided reverse kernel and are weighted by
$\frac{p(y_s | y_t)}{q(y_s | y_t)} \frac{\psi_s(y_s)}{\psi_t(y_t)}$, where the twist $\psi$ is the
moment-matched density of the observations; at the last time the twist replaces the likelihood, so
that noise may be zero. Exact as particles and steps grow. One run gives one sample: samples are
independent, and standard errors are between runs.
"""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import ndtr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Float, PRNGKeyArray, Scalar
from geomndp.samplers.base import AbstractProgramSampler, require_flat
from geomndp.samplers.guidance import guided_dynamics
from geomndp.samplers.particles import (
    Particle,
    WeightedParticles,
    advance,
    effective_number,
    resample,
)
from geomndp.samplers.problem import Problem
from geomndp.samplers.program import (
    Phase,
    Program,
    begin,
    outer_step,
    root_mean_square,
    sample_keys,
)
from geomndp.solve import (
    AbstractTimeGrid,
    PowerTimeGrid,
)

MAX_OBSERVED = 256
"""Largest number of context coordinates."""


class SMCRun(NamedTuple):
    """State of a run.

    Attributes:
        state: Particles with their weights.
        pick: Uniform number by which one of them is picked at the end.
    """

    state: WeightedParticles
    pick: Scalar


class SMCRuns(NamedTuple):
    """Weighted particles of independent runs.

    Attributes:
        y: Final values (r, k, n, p) of the targets, k particles of r runs.
        weights: Normalised weights (r, k).
        effective: Effective number of particles after every step, shape (r, steps).
        rms: Root mean square of the values after every step, shape (r, steps).
    """

    y: Float[Array, "r k n p"]
    weights: Float[Array, "r k"]
    effective: Float[Array, "r steps"]
    rms: Float[Array, "r steps"]


@renamed_arguments(grid="time_grid", runs_at_once="batch_size")
class TwistedSMC(AbstractProgramSampler):
    """Twisted sequential Monte Carlo: asymptotically exact for any data, expensive.

    One run of many particles gives one sample. Flat space only.

    Attributes:
        steps: Reverse steps, 100 or more.
        particles: Particles per run.
        time_grid: Where the diffusion times lie.
        batch_size: Runs that `runs` computes at a time.
    """

    steps: int = eqx.field(default=100, static=True)
    particles: int = eqx.field(default=64, static=True)
    time_grid: AbstractTimeGrid = PowerTimeGrid(7.0)
    batch_size: int = eqx.field(default=64, static=True)
    pads = True

    def __check_init__(self):
        _validation.at_least(1, steps=self.steps, batch_size=self.batch_size)
        _validation.at_least(2, particles=self.particles)

    def check(self, problem):
        require_flat(self, problem)
        if problem.observations.y.size > MAX_OBSERVED:
            raise ValueError(
                f"expected at most {MAX_OBSERVED} observed coordinates for TwistedSMC, got "
                f"{problem.observations.y.size}; use MomentMatching"
            )

    def program(self, problem):
        dynamics, m = guided_dynamics(problem, max_dense=None), problem.num_observed
        mean, root = dynamics.mean(), dynamics.gram().root()
        rows = dataclasses.replace(problem.joint_noise(), copies=self.particles)

        def init(noise):
            y = mean[None] + jax.vmap(root.mv)(noise[0])
            terms = jax.vmap(lambda y: dynamics.guidance_terms(jnp.ones((), dtype=y.dtype), y))(y)
            # The twist at time one is the weight of a draw from the limiting law.
            return SMCRun(
                WeightedParticles(Particle(y, terms, y, y), terms.log_twist), ndtr(noise[1])
            )

        def step(run, times, noise):
            particles, log_weights = resample(run.state, ndtr(noise[0]))
            move = jax.vmap(lambda particle, z: advance(dynamics, root, times, particle, z))
            particles, increment = move(particles, noise[1])
            return run._replace(state=WeightedParticles(particles, log_weights + increment))

        def picked(run):
            cumulative = jnp.cumsum(jax.nn.softmax(run.state.log_weights))
            last = self.particles - 1
            chosen = jnp.minimum(jnp.searchsorted(cumulative, run.pick), last)
            return run.state.particles.y[chosen, m:]

        return Program(
            init=init,
            init_noise=(rows, ()),
            phases=(Phase(step, ((), rows)),),
            inputs=problem.times(self.time_grid, self.steps),
            finish=picked,
            evaluations=(self.steps + 1) * self.particles * dynamics.evaluations,
            mask=problem.mask,
            affine=False,  # particles interact
        )

    def runs(self, problem: Problem, *, key: PRNGKeyArray, num_runs: int) -> SMCRuns:
        """Weighted particles of independent runs: averages over them are the best estimates.

        Args:
            problem: Model, targets (n, d) and observations.
            key: Random key.
            num_runs: Number of runs r.

        Returns:
            Particles and weights of every run.
        """
        program, dtype, m = self.program(problem), problem.x.dtype, problem.num_observed

        def one(key):
            def step(run, i):
                run, _ = outer_step(program, run, i, dtype, key=key)
                y, log_weights = run.state.particles.y[:, m:], run.state.log_weights
                return run, (effective_number(log_weights), root_mean_square(y, problem.mask))

            start = begin(program, dtype, key=key)
            return jax.lax.scan(step, start, jnp.arange(self.steps, dtype=jnp.int32))

        keys = sample_keys(key, num_runs)
        run, (sizes, rms) = jax.lax.map(one, keys, batch_size=min(self.batch_size, num_runs))
        weights = jax.nn.softmax(run.state.log_weights, axis=-1)
        return SMCRuns(run.state.particles.y[:, :, m:], weights, sizes, rms)
