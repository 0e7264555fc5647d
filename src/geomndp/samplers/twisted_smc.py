r"""Twisted sequential Monte Carlo (Wu et al. 2023): the checker of all other samplers.

Particles of all points follow the guided reverse kernel and are weighted by
$\frac{p(y_s | y_t)}{q(y_s | y_t)} \frac{\psi_s(y_s)}{\psi_t(y_t)}$, where the twist $\psi$ is the
moment-matched density of the observations; at the last time the twist stands for the likelihood
(so noise may be zero). Exact as particles and steps grow. One run gives one sample: samples are
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
from geomndp._types import Array, Float, Inputs, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.linalg import AbstractGram
from geomndp.noising import AbstractNoising
from geomndp.samplers.base import AbstractProgramSampler, Problem, require_flat, sample_keys
from geomndp.samplers.guidance import GuidanceTerms, GuidedDynamics, guided_dynamics
from geomndp.samplers.program import Phase, Program, begin, outer_step, root_mean_square
from geomndp.solve import (
    AbstractDynamics,
    AbstractTimeGrid,
    Multistep,
    PowerTimeGrid,
    ReverseState,
    ancestral,
)

MAX_OBSERVED = 256


class Particle(NamedTuple):
    """Values, what is known of them at their time, and the last estimates of the clean values."""

    y: Outputs
    terms: GuidanceTerms
    clean: Outputs
    guided_clean: Outputs


class Weighted(NamedTuple):
    """Particles of one run."""

    particles: Particle
    log_weights: Float[Array, " k"]


class Run(NamedTuple):
    """One run: its particles, and the uniform number by which one of them is picked at the end."""

    state: Weighted
    pick: Scalar


class Runs(NamedTuple):
    """Final particles of the targets, of several independent runs.

    `effective` is the number of effective particles after every step, `rms` their size.
    """

    y: Float[Array, "r k n p"]
    weights: Float[Array, "r k"]
    effective: Float[Array, "r steps"]
    rms: Float[Array, "r steps"]


@renamed_arguments(grid="time_grid", runs_at_once="batch_size")
class TwistedSMC(AbstractProgramSampler):
    """`particles` a run; `steps` of at least 100 are advised."""

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
            return Run(Weighted(Particle(y, terms, y, y), terms.log_twist), ndtr(noise[1]))

        def step(run, times, noise):
            particles, log_weights = resample(run.state, ndtr(noise[0]))
            move = jax.vmap(lambda particle, z: advance(dynamics, root, times, particle, z))
            particles, gain = move(particles, noise[1])
            return run._replace(state=Weighted(particles, log_weights + gain))

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

    def runs(self, problem: Problem, *, key: PRNGKeyArray, num_runs: int) -> Runs:
        """Weighted particles of independent runs: averages over them are the best estimates."""
        program, dtype, m = self.program(problem), problem.x.dtype, problem.num_observed

        def one(key):
            def step(run, i):
                run, _ = outer_step(program, run, i, dtype, key=key)
                y, log_weights = run.state.particles.y[:, m:], run.state.log_weights
                return run, (effective(log_weights), root_mean_square(y, problem.mask))

            start = begin(program, dtype, key=key)
            return jax.lax.scan(step, start, jnp.arange(self.steps, dtype=jnp.int32))

        keys = sample_keys(key, num_runs)
        run, (sizes, rms) = jax.lax.map(one, keys, batch_size=min(self.batch_size, num_runs))
        weights = jax.nn.softmax(run.state.log_weights, axis=-1)
        return Runs(run.state.particles.y[:, :, m:], weights, sizes, rms)


def effective(log_weights: Float[Array, " k"]) -> Scalar:
    """Number of equally weighted particles that would be as good."""
    return 1 / jnp.sum(jax.nn.softmax(log_weights) ** 2)


def resample(state: Weighted, uniform: Scalar) -> Weighted:
    """Systematic resampling when fewer than half of the particles are effective."""
    count, dtype = len(state.log_weights), state.log_weights.dtype
    offsets = (jnp.arange(count, dtype=dtype) + uniform) / count
    cumulative = jnp.cumsum(jax.nn.softmax(state.log_weights))
    picks = jnp.clip(jnp.searchsorted(cumulative, offsets), 0, count - 1)
    chosen = jax.tree.map(lambda leaf: leaf[picks], state.particles)
    chosen = Weighted(chosen, jnp.zeros_like(state.log_weights))
    few = effective(state.log_weights) < count / 2
    return jax.tree.map(lambda a, b: jnp.where(few, a, b), chosen, state)


class FrozenScore(AbstractDynamics):
    """A dynamics whose score at the present values is known."""

    noising: AbstractNoising
    x: Inputs
    mask: Mask | None
    value: Outputs

    def u(self, t, y):
        return self.value


def advance(dynamics: GuidedDynamics, root: AbstractGram, times, particle: Particle, z: Outputs):
    """Guided step of a particle, and the logarithm of the factor of its weight.

    The kernels p and q of the multistep rule, without and with guidance, have one covariance.
    """
    (before, t, s), y, terms = times, particle.y, particle.terms

    def centre(u, last):
        known = FrozenScore(dynamics.noising, dynamics.x, dynamics.mask, u)
        return Multistep()(known, before, t, s, ReverseState(y, last), jnp.zeros_like(y))

    plain = centre(terms.u, particle.clean)
    pulled = centre(terms.guided, particle.guided_clean)
    _, _, fresh = ancestral(dynamics.noising, t, s)
    shift = root.solve((pulled.y - plain.y) / fresh)
    log_ratio = 0.5 * (jnp.sum(z**2) - jnp.sum((z + shift) ** 2))
    y = pulled.y + fresh * root.mv(z)
    following = dynamics.guidance_terms(s, y)
    gain = log_ratio + following.log_twist - terms.log_twist
    return Particle(y, following, plain.clean, pulled.clean), gain
