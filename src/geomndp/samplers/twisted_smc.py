r"""Twisted sequential Monte Carlo (Wu et al. 2023): the checker of all other samplers.

Particles of all points follow the guided reverse kernel and are weighted by
$\frac{p(y_s | y_t)}{q(y_s | y_t)} \frac{\psi_s(y_s)}{\psi_t(y_t)}$, where the twist $\psi$ is the
moment-matched density of the observations; at the last time the twist stands for the likelihood
(so noise may be zero). Exact as particles and steps grow. One run gives one sample: samples are
independent, and standard errors are between runs.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _checks
from geomndp._types import Array, Float, Outputs, PRNGKeyArray
from geomndp.samplers.base import AbstractSampler, Problem, Samples
from geomndp.samplers.guidance import GuidedField, evaluations, guided
from geomndp.samplers.program import Info, Program
from geomndp.solve import AbstractGrid, Power, ancestral


class Particles(NamedTuple):
    """Weighted particles of one run, at the time they have reached."""

    y: Float[Array, "k n p"]
    log_weights: Float[Array, " k"]
    log_twist: Float[Array, " k"]


class Runs(NamedTuple):
    """Final particles of the targets, of several independent runs."""

    y: Float[Array, "r k n p"]
    weights: Float[Array, "r k"]
    effective: Float[Array, "r steps"]


class TwistedSMC(AbstractSampler):
    """`particles` a run; `steps` of at least 100 are advised."""

    steps: int = eqx.field(default=100, static=True)
    particles: int = eqx.field(default=64, static=True)
    grid: AbstractGrid = Power(3.0)
    runs_at_once: int = eqx.field(default=64, static=True)

    def __check_init__(self):
        _checks.at_least(1, steps=self.steps, runs_at_once=self.runs_at_once)
        _checks.at_least(2, particles=self.particles)

    def check(self, problem):
        if problem.observations.y.size > 256:
            raise ValueError(
                f"expected at most 256 observed coordinates for TwistedSMC, got "
                f"{problem.observations.y.size}; use MomentMatching"
            )

    def program(self, problem) -> Program:
        raise ValueError("TwistedSMC interacts between particles: it has no law to propagate")

    def evaluations(self, problem: Problem) -> int:
        """Cost of one run."""
        return self.steps * self.particles * evaluations(guided(problem, problem.x.size + 10**6))

    def runs(self, problem: Problem, *, key: PRNGKeyArray, num_runs: int) -> Runs:
        """Weighted particles of independent runs: averages over them are the best estimates."""
        field = guided(problem, problem.observations.y.size)
        one = lambda key: self._run(problem, field, key=key)
        batch = min(self.runs_at_once, num_runs)
        particles, effective = jax.lax.map(one, jr.split(key, num_runs), batch_size=batch)
        weights = jax.nn.softmax(particles.log_weights, axis=-1)
        return Runs(particles.y[:, :, problem.num_observed :], weights, effective)

    def draw(self, problem, *, key, num_samples):
        run_key, pick_key = jr.split(key)
        runs = self.runs(problem, key=run_key, num_runs=num_samples)
        pick = jax.vmap(lambda key, y, w: y[jr.categorical(key, jnp.log(w))])
        y = pick(jr.split(pick_key, num_samples), runs.y, runs.weights)
        _, _, times = problem.times(self.grid, self.steps)
        return Samples(y, Info(times, jnp.mean(runs.effective, axis=0)))

    def _run(self, problem: Problem, field: GuidedField, *, key: PRNGKeyArray):
        init_key, loop_key = jr.split(key)
        mean, gram = field.mean(), field.gram()
        root = gram.root()
        shape = (self.particles, *mean.shape)
        y = mean[None] + jax.vmap(root.mv)(jr.normal(init_key, shape, dtype=mean.dtype))
        start = jnp.ones((), dtype=mean.dtype)
        twist = jax.vmap(lambda y: field.guess(start, y).log_twist)(y)
        # The twist at time one is the weight of a draw from the prior.
        state = Particles(y, twist, twist)

        def step(state, row):
            (_, t, s), key = row
            resample_key, move_key = jr.split(key)
            ess = 1 / jnp.sum(jax.nn.softmax(state.log_weights) ** 2)
            state = resample(state, ess, key=resample_key)
            z = jr.normal(move_key, shape, dtype=mean.dtype)
            y, twist, log_ratio = jax.vmap(lambda y, z: move(field, root, t, s, y, z))(state.y, z)
            weights = state.log_weights + log_ratio + twist - state.log_twist
            return Particles(y, weights, twist), ess

        keys = jr.split(loop_key, self.steps)
        return jax.lax.scan(step, state, (problem.times(self.grid, self.steps), keys))


def resample(particles: Particles, ess, *, key: PRNGKeyArray) -> Particles:
    """Systematic resampling when fewer than half of the particles are effective."""
    count = len(particles.log_weights)
    offsets = (jnp.arange(count) + jr.uniform(key, dtype=particles.y.dtype)) / count
    cumulative = jnp.cumsum(jax.nn.softmax(particles.log_weights))
    picks = jnp.clip(jnp.searchsorted(cumulative, offsets), 0, count - 1)
    equal = jnp.zeros_like(particles.log_weights)
    chosen = Particles(particles.y[picks], equal, particles.log_twist[picks])
    return jax.tree.map(lambda a, b: jnp.where(ess < count / 2, a, b), chosen, particles)


def move(field: GuidedField, root, t, s, y: Outputs, z: Outputs):
    """Guided step of one particle: values, their twist, and log p(y_s | y_t) / q(y_s | y_t)."""
    guess = field.guess(t, y)
    mean, (a_s, kept, fresh) = field.mean(), ancestral(field.noising, t, s)

    def centre(u):
        return mean + a_s * (field.clean(t, y, u) - mean) - kept * u

    guided_centre = centre(guess.guided)
    y_s = guided_centre + fresh * root.mv(z)
    shift = root.solve((guided_centre - centre(guess.u)) / fresh)
    log_ratio = -0.5 * jnp.sum((z + shift) ** 2) + 0.5 * jnp.sum(z**2)
    return y_s, field.guess(s, y_s).log_twist, log_ratio
