r"""Langevin dynamics of the targets while the context values stay fixed.

All in block form, as limiting kernels that are not white demand: what a change of the observed
values means for the targets is $K_{*c} K_{cc}^{-1}$ times it, and noise of the targets has the
covariance $K_{**} - K_{*c} K_{cc}^{-1} K_{c*}$.
"""

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp

from geomndp._types import Outputs, Scalar
from geomndp.geometry import heat_kernel
from geomndp.gp import GP
from geomndp.linalg import zero_masked
from geomndp.samplers.base import Observations, Problem
from geomndp.samplers.context_noising import context_noising
from geomndp.samplers.program import Phase
from geomndp.score import AbstractScore
from geomndp.solve import AbstractReverseStep, ReverseState


class ContextTargetState(NamedTuple):
    """Observed values at the present noise level, and targets."""

    observed: Outputs
    y: Outputs


class LangevinForce(NamedTuple):
    """Drift and noise of a Langevin step of the targets."""

    drift: Callable[[Scalar, Outputs, Outputs], Outputs]
    noise: Callable[[Outputs], Outputs]


def kriging_map(problem: Problem) -> Callable[[Outputs], Outputs]:
    r"""The map $K_{*c} K_{cc}^{-1}$ from observed points to targets, factorised once."""
    observed, limit = problem.observations, GP(problem.noising.kernel)

    def carry(v):
        return limit.condition(observed.x, v, mask=observed.mask).mean_at(problem.x)

    return jax.linearize(carry, jnp.zeros_like(observed.y))[1]


def conditional_force(problem: Problem) -> LangevinForce:
    r"""Drift $g_* - K_{*c} K_{cc}^{-1} g_c$ at (t, observed, y), and noise from white noise."""
    dynamics, carry, m = problem.joint(), kriging_map(problem), problem.num_observed
    observed, limit = problem.observations, GP(problem.noising.kernel)
    seen = limit.condition(observed.x, jnp.zeros_like(observed.y), mask=observed.mask)
    root = seen.gram(problem.x, problem.mask).root()

    def drift(t, observed, y):
        g = dynamics.u(t, jnp.concatenate([observed, y])) / problem.noising.sigma(t)
        return g[m:] - carry(g[:m])

    return LangevinForce(drift, root.mv)


def replacement(problem: Problem, scheme: str, step: AbstractReverseStep, *, coupled: bool):
    """Start, and the phase of a joint reverse step after which the observed values are put back.

    `coupled`: the targets follow what was put back, by Matheron's rule, which makes them a draw of
    the reverse step given it. White noise has nothing to follow; else it is needed, unless the
    values put back are unrelated to those before and Langevin steps come after.
    """
    dynamics, carry, m = problem.joint(), kriging_map(problem), problem.num_observed
    context, root = context_noising(problem, scheme), dynamics.gram().root()

    def init(noise):
        one = jnp.ones((), dtype=problem.x.dtype)
        xi = root.mv(noise[0])
        return ContextTargetState(
            context.fresh(one, xi[:m]), problem.noising.limit_from_noise(problem.x, xi[m:])
        )

    def predict(state, times, noise):
        before, t, s = times
        y = jnp.concatenate([state.observed, state.y])
        y = step(dynamics, before, t, s, ReverseState(y, y), root.mv(noise[0])).y
        observed = context.back(t, s, state.observed, context.xi(noise[1]))
        return ContextTargetState(observed, y[m:] + carry(observed - y[:m]) if coupled else y[m:])

    return init, Phase(predict, (problem.joint_noise(), problem.context_noise()))


class TiltedScore(AbstractScore):
    r"""Score of all points, tilted by noisy observations of the first of them.

    The noised values at the observed points tell of the observations as
    $N(y; m + (y_c - m) / a, R + (\sigma / a)^2 K_{cc})$, which becomes exact as t goes to zero; on
    a manifold as the heat kernel at the time $R + \sigma^2$ around the observation.
    """

    score: AbstractScore
    observations: Observations
    conditional = False

    def __call__(self, noising, t, x, y, mask=None):
        seen = self.observations
        if not noising.manifold.flat:
            sigma = noising.sigma(t)
            heat = heat_kernel(noising.manifold).score(
                seen.noise + sigma**2, seen.y, y[: len(seen.y)]
            )
            heat = zero_masked(heat, seen.mask)
            return self.score(noising, t, x, y, mask).at[: len(seen.y)].add(sigma * heat)
        a, sigma, m = noising.alpha(t), noising.sigma(t), noising.mean_at(seen.x)
        spread = ((sigma / a) ** 2 * noising.gram(seen.x)).add_diagonal(seen.noise)
        spread = spread.masked(seen.mask)
        residual = zero_masked(seen.y - m - (y[: len(m)] - m) / a, seen.mask)
        pull = jnp.zeros_like(y).at[: len(m)].set(spread.solve(residual) / a)
        return self.score(noising, t, x, y, mask) + sigma * noising.gram(x, mask).mv(pull)


def latent(problem: Problem) -> Problem:
    """Values observed with noise are unknown: move them as targets, under the tilted score."""
    seen = problem.observations
    if not seen.noisy:
        return problem
    none = Observations(seen.x[:0], seen.y[:0], seen.noise[:0], False)
    pulled, joint = TiltedScore(problem.score, seen), problem.joint()
    labels = problem.joint_noise().labels
    return Problem(problem.noising, pulled, joint.x, none, problem.t_min, joint.mask, labels)
