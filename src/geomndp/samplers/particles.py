"""Particles of sequential Monte Carlo: weights, resampling, and a guided reverse step."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Inputs, Mask, Outputs, Scalar
from geomndp.linalg import AbstractGram
from geomndp.noising import AbstractNoising
from geomndp.samplers.guidance import GuidanceTerms, GuidedDynamics
from geomndp.solve import AbstractDynamics, Multistep, ReverseState, ancestral


class Particle(NamedTuple):
    """State of a particle.

    Attributes:
        y: Values (m + n, p).
        terms: Its scores and twist.
        clean: Estimate of the clean values at the step before, without guidance.
        guided_clean: The same with guidance.
    """

    y: Outputs
    terms: GuidanceTerms
    clean: Outputs
    guided_clean: Outputs


class WeightedParticles(NamedTuple):
    """Particles of one run.

    Attributes:
        particles: k of them.
        log_weights: Their unnormalised log-weights (k,).
    """

    particles: Particle
    log_weights: Float[Array, " k"]


def effective_number(log_weights: Float[Array, " k"]) -> Scalar:
    """Effective number of particles, of their log-weights (k,)."""
    return 1 / jnp.sum(jax.nn.softmax(log_weights) ** 2)


def resample(state: WeightedParticles, uniform: Scalar) -> WeightedParticles:
    """Systematic resampling where fewer than half of the particles are effective.

    Args:
        state: Particles with their weights.
        uniform: Uniform number in [0, 1).

    Returns:
        Particles with equal weights, or the state as it was.
    """
    count, dtype = len(state.log_weights), state.log_weights.dtype
    offsets = (jnp.arange(count, dtype=dtype) + uniform) / count
    cumulative = jnp.cumsum(jax.nn.softmax(state.log_weights))
    picks = jnp.clip(jnp.searchsorted(cumulative, offsets), 0, count - 1)
    chosen = jax.tree.map(lambda leaf: leaf[picks], state.particles)
    chosen = WeightedParticles(chosen, jnp.zeros_like(state.log_weights))
    few = effective_number(state.log_weights) < count / 2
    return jax.tree.map(lambda a, b: jnp.where(few, a, b), chosen, state)


class FrozenScore(AbstractDynamics):
    """Dynamics with a score that was evaluated before.

    Attributes:
        noising: Forward process.
        x: Inputs (n, d).
        mask: 1 for a real point, 0 for padding, or None.
        value: The score (n, p).
    """

    noising: AbstractNoising
    x: Inputs
    mask: Mask | None
    value: Outputs

    def u(self, t, y):
        return self.value


def advance(dynamics: GuidedDynamics, root: AbstractGram, times, particle: Particle, z: Outputs):
    """Guided reverse step of a particle.

    The kernels p and q of the multistep step, without and with guidance, have one covariance.

    Args:
        dynamics: All points under the guided score.
        root: Root of the limiting covariance.
        times: Start of the step before, start and end of this one.
        particle: State of the particle.
        z: White noise (m + n, p).

    Returns:
        Its next state, and the increment of its log-weight.
    """
    (before, t, s), y, terms = times, particle.y, particle.terms

    def centre(u, last):
        frozen = FrozenScore(dynamics.noising, dynamics.x, dynamics.mask, u)
        return Multistep()(frozen, before, t, s, ReverseState(y, last), jnp.zeros_like(y))

    plain = centre(terms.u, particle.clean)
    guided = centre(terms.guided, particle.guided_clean)
    _, _, fresh = ancestral(dynamics.noising, t, s)
    shift = root.solve((guided.y - plain.y) / fresh)
    log_ratio = 0.5 * (jnp.sum(z**2) - jnp.sum((z + shift) ** 2))
    y = guided.y + fresh * root.mv(z)
    following = dynamics.guidance_terms(s, y)
    increment = log_ratio + following.log_twist - terms.log_twist
    return Particle(y, following, plain.clean, guided.clean), increment
